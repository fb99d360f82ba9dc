import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../contract/model.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { type Backup, type BackupRequest, createBackup } from './create.ts';
import { type Keep, listBackups, superfluous } from './names.ts';
import { unpack } from './restore.ts';

/** State of the backups, in `state.json` beside them. Instants are epoch ms. */
const State = z.object({
  /** When this server was first seen without a backup: a new one is not backed up at once. */
  since: z.number().nullable().default(null),
  failed: z.object({ at: z.number(), message: z.string() }).nullable().default(null),
  rehearsed: z
    .object({ at: z.number(), file: z.string(), error: z.string().nullable() })
    .nullable()
    .default(null),
});
type State = z.infer<typeof State>;

export interface BackupSettings {
  enabled: boolean;
  directory: string;
  keep: Keep;
  /** age public keys; none: backups are not encrypted. */
  recipients: readonly string[];
  /** A program and its arguments, which is run after each backup; `{file}` in one stands for its path. */
  command: readonly string[];
}

type Options = Omit<BackupRequest, 'to' | 'signal' | 'recipients'> & {
  settings: BackupSettings;
  log: Log;
  clock: Clock;
};

/** A day, less what a night's start may come early or a restart may take. */
const DAILY_MS = 20 * 3_600_000;
const REHEARSAL_MS = 30 * 24 * 3_600_000;
/** A program that takes backups elsewhere is ended after that. */
const COMMAND_MS = 6 * 3_600_000;

export type Backups = ReturnType<typeof createBackups>;

/** As the configuration has them; `to` may be relative to where Earshot was started. */
export function backupSettings({ backup, dataDir }: Pick<Config, 'backup' | 'dataDir'>): BackupSettings {
  const { enabled, directory, keepDaily, keepWeekly, keepMonthly, recipients, command } = backup;
  return {
    ...{ enabled, recipients, command },
    directory: directory === undefined ? join(dataDir, 'backups') : resolve(directory),
    keep: { daily: keepDaily, weekly: keepWeekly, monthly: keepMonthly },
  };
}

/** Makes backups, one at a time, and sees to those that are due. */
export function createBackups({ settings, log, ...request }: Options) {
  const { clock } = request;
  const stop = new AbortController();
  let running: Promise<Backup> | null = null;
  /** How the last one ended that somebody asked for. */
  let asked: { backup: Backup | null; error: string | null } = { backup: null, error: null };

  async function readState(): Promise<State> {
    try {
      return State.parse(JSON.parse(await readFile(join(settings.directory, STATE), 'utf8')));
    } catch {
      return State.parse({}); // none yet, or cut off: it is made anew
    }
  }

  async function note(change: Partial<State>): Promise<void> {
    const path = join(settings.directory, STATE);
    await mkdir(settings.directory, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, JSON.stringify({ ...(await readState()), ...change }), { mode: 0o600 });
    await rename(`${path}.new`, path);
  }

  /** Makes one now; whoever asks while one is made gets that one. */
  function make(to: string = settings.directory): Promise<Backup> {
    running ??= createBackup({
      ...request,
      ...{ to, recipients: settings.recipients, signal: stop.signal },
    }).finally(() => {
      running = null;
    });
    return running;
  }

  async function nightly(): Promise<void> {
    if (!settings.enabled) return;
    try {
      if (await isDue()) await makeAndPrune();
      await rehearse();
    } catch (error) {
      if (stop.signal.aborted) return;
      await note({ failed: { at: clock.now(), message: toAppError(error).message } }).catch(() => {});
      throw error;
    }
  }

  async function isDue(): Promise<boolean> {
    const [newest] = await listBackups(settings.directory);
    const { since } = await readState();
    if (newest === undefined && since === null) await note({ since: clock.now() });
    return clock.now() - (newest?.createdAt ?? since ?? clock.now()) >= DAILY_MS;
  }

  async function makeAndPrune(): Promise<void> {
    const backup = await make();
    log.info({ file: backup.file, bytes: backup.bytes, rows: backup.rows }, 'backup made');
    await note({ failed: null });
    for (const { file } of superfluous(await listBackups(settings.directory), settings.keep)) await rm(file);
    if (settings.command.length > 0) await runCommand(settings.command, backup.file, stop.signal);
  }

  /** Now and then the newest is unpacked, as a restore would: a backup that nobody has opened is a hope. */
  async function rehearse(): Promise<void> {
    const [newest] = await listBackups(settings.directory);
    const { rehearsed } = await readState();
    if (!newest || newest.encrypted || clock.now() - (rehearsed?.at ?? 0) < REHEARSAL_MS) return;
    const into = join(settings.directory, '.rehearsal');
    try {
      await rm(into, { recursive: true, force: true });
      await unpack({ file: newest.file, identity: null, into, signal: stop.signal });
      await note({ rehearsed: { at: clock.now(), file: newest.file, error: null } });
      log.info({ file: newest.file }, 'a restore of the newest backup was rehearsed: it is sound');
    } catch (error) {
      stop.signal.throwIfAborted();
      const { message } = toAppError(error);
      await note({ rehearsed: { at: clock.now(), file: newest.file, error: message } });
      throw error;
    } finally {
      await rm(into, { recursive: true, force: true });
    }
  }

  return {
    nightly,
    /** Begins one, which `progress` tells of. */
    begin(to: string | null): void {
      asked = { backup: null, error: null };
      make(to ?? undefined).then(
        backup => Object.assign(asked, { backup }),
        error => Object.assign(asked, { error: toAppError(error).message }),
      );
    },
    progress: () => ({ running: running !== null, ...asked }),
    /** Where something of an account stays that is removed now, and until when at most. */
    async remains(): Promise<{ what: string; until: number | null }[]> {
      const { daily, weekly, monthly } = settings.keep;
      const days = Math.max(daily, 7 * weekly, 31 * monthly);
      const [newest] = await listBackups(settings.directory);
      if (!newest) return [];
      const until = settings.enabled ? clock.now() + days * 24 * 3_600_000 : null; // nothing deletes them otherwise
      return [{ what: 'backups of the whole server', until }];
    },
    /** For people and `status`. */
    async state() {
      const [newest = null] = await listBackups(settings.directory);
      return {
        ...(await readState()),
        newest,
        enabled: settings.enabled,
        directory: settings.directory,
      };
    },
    /** Ends what is going on. */
    async stop(): Promise<void> {
      stop.abort(new AppError('unavailable', 'Earshot is stopping'));
      await running?.catch(() => {});
    },
  };
}
const STATE = 'state.json';

async function runCommand(command: readonly string[], file: string, signal: AbortSignal): Promise<void> {
  const [program = '', ...args] = command.map(part => part.replaceAll('{file}', file));
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(COMMAND_MS)]),
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', text => {
    said = (said + text).slice(-500);
  });
  const [status] = await once(child, 'close').catch(cause => {
    throw new AppError(
      'config_error',
      `backup.command: ${program} cannot be run: ${cause.code ?? cause.message}`,
    );
  });
  if (status !== 0)
    throw new AppError('upstream_error', `backup.command: ${program} ended with ${status}: ${said.trim()}`);
}
