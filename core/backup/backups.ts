import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../contract/model.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { CopyState, copyTo, NO_COPY } from './copies.ts';
import { type Backup, type BackupRequest, createBackup } from './create.ts';
import { type Keep, listBackups, superfluous } from './names.ts';
import { addressOf, configuredPlaces, isPlace, type PlaceSettings, placeAt } from './places.ts';
import { type Remains, unscheduledCopies } from './remains.ts';
import { runTask } from './task.ts';

/** State of the backups, in `state.json` beside them. Instants are epoch ms. */
const State = z.object({
  /** When this server was first seen without a backup: a new server is not backed up at once. */
  since: z.number().nullable().default(null),
  failed: z.object({ at: z.number(), message: z.string() }).nullable().default(null),
  rehearsed: z
    .object({ at: z.number(), file: z.string(), error: z.string().nullable() })
    .nullable()
    .default(null),
  /** Copies in each place elsewhere, by its name. */
  copies: z.record(z.string(), CopyState).default({}),
});
type State = z.infer<typeof State>;

export interface BackupSettings extends PlaceSettings {
  enabled: boolean;
  directory: string;
  keep: Keep;
  /** age public keys; none: backups are not encrypted. */
  recipients: readonly string[];
}

type Options = Omit<BackupRequest, 'to' | 'signal' | 'recipients'> & {
  settings: BackupSettings;
  log: Log;
  clock: Clock;
};

/** A day, minus the time by which a night's run may come early or a restart may delay it. */
const DAILY_MS = 20 * 3_600_000;
const REHEARSAL_MS = 30 * 24 * 3_600_000;

export type Backups = ReturnType<typeof createBackups>;

/** Options as configured; `to` may be relative to the directory in which Earshot was started. */
export function backupSettings({ backup, dataDir }: Pick<Config, 'backup' | 'dataDir'>): BackupSettings {
  const { directory, keepDaily, keepWeekly, keepMonthly, ...rest } = backup;
  return {
    ...rest,
    directory: directory === undefined ? join(dataDir, 'backups') : resolve(directory),
    keep: { daily: keepDaily, weekly: keepWeekly, monthly: keepMonthly },
  };
}

/** Makes backups, one at a time, and runs those that are due. */
export function createBackups({ settings, log, ...request }: Options) {
  const { clock } = request;
  const stop = new AbortController();
  const places = configuredPlaces(settings);
  let running: { to: string; backup: Promise<Backup> } | null = null;
  /** Result of the last backup that somebody asked for. */
  let asked: { backup: Backup | null; error: string | null } = { backup: null, error: null };

  /** Place of this process alone: other servers may use the directory. What a killed one leaves is removed in a day. */
  const draftOf = (purpose: string) =>
    join(settings.directory, `.${hostname()}-${purpose}-${process.pid}.unfinished`);

  async function readState(): Promise<State> {
    try {
      return State.parse(JSON.parse(await readFile(join(settings.directory, STATE), 'utf8')));
    } catch {
      return State.parse({}); // missing or truncated: it is created again
    }
  }

  async function note(change: Partial<State>): Promise<void> {
    const path = join(settings.directory, STATE);
    await mkdir(settings.directory, { recursive: true, mode: 0o700 });
    const draft = draftOf('state');
    await writeFile(draft, JSON.stringify({ ...(await readState()), ...change }), { mode: 0o600 });
    await rename(draft, path);
  }

  /** Makes a backup now; a second request for the same one shares its result. */
  async function make(to: string = settings.directory, rehearse = false): Promise<Backup> {
    if (running && running.to !== to)
      throw new AppError('conflict', `A backup is being made in ${running.to}; try again when it is done`);
    running ??= {
      to,
      backup: backUpTo(to, settings, { ...request, rehearse, signal: stop.signal }).finally(() => {
        running = null;
      }),
    };
    return running.backup;
  }

  async function nightly(): Promise<void> {
    if (!settings.enabled) return;
    try {
      if (await isDue()) await makeAndPrune();
      await rehearse();
      await copyElsewhere();
      if ((await readState()).failed) await note({ failed: null });
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
    const { rehearsed } = await readState();
    const rehearse = settings.recipients.length > 0 && isRehearsalDue(rehearsed); // later nothing here opens it
    const backup = await make(settings.directory, rehearse);
    log.info({ file: backup.file, bytes: backup.bytes, rows: backup.rows }, 'backup made');
    if (rehearse) await noteRehearsed(backup.file, backup.notRehearsed);
    await note({ failed: null });
    for (const { file } of superfluous(await listBackups(settings.directory), settings.keep))
      await rm(file, { force: true }); // another server may keep its backups here, too
  }

  async function copyElsewhere(): Promise<void> {
    const [newest] = await listBackups(settings.directory);
    if (!newest) return;
    const errors: string[] = [];
    for (const place of places) {
      const { copies } = await readState();
      const { keep } = settings;
      const state = await copyTo({
        ...{ place, newest, keep, clock, log, signal: stop.signal, state: copies[place.name] },
      });
      await note({ copies: { ...copies, [place.name]: state } });
      if (state.error !== null) errors.push(state.error);
    }
    if (errors.length > 0) throw new AppError('upstream_error', errors.join('; '));
  }

  function isRehearsalDue(rehearsed: State['rehearsed']): boolean {
    return clock.now() - (rehearsed?.at ?? 0) >= REHEARSAL_MS;
  }

  async function noteRehearsed(file: string, error: string | null = null): Promise<void> {
    await note({ rehearsed: { at: clock.now(), file, error } });
    if (error === null) log.info({ file }, 'a restore of the newest backup was rehearsed: it is sound');
  }

  /** Now and then the newest backup is unpacked as a restore would do it, to prove that it can be. */
  async function rehearse(): Promise<void> {
    const [newest] = await listBackups(settings.directory);
    const { rehearsed } = await readState();
    if (!newest || newest.encrypted || !isRehearsalDue(rehearsed)) return;
    const into = draftOf('rehearsal');
    try {
      await rm(into, { recursive: true, force: true });
      await runTask('rehearse', { file: newest.file, identity: null, into }, stop.signal);
      await noteRehearsed(newest.file);
    } catch (error) {
      stop.signal.throwIfAborted();
      await noteRehearsed(newest.file, toAppError(error).message);
      throw error;
    } finally {
      await rm(into, { recursive: true, force: true });
    }
  }

  return {
    nightly,
    /** Starts a backup, on which `progress` reports. */
    begin(to: string | null): void {
      asked = { backup: null, error: null };
      make(to ?? undefined).then(
        backup => Object.assign(asked, { backup }),
        error => Object.assign(asked, { error: toAppError(error).message }),
      );
    },
    progress: () => ({ running: running !== null, ...asked }),
    /** Lists where data of a deleted account remains, and until when at most. */
    async remains(): Promise<Remains[]> {
      const copies = await unscheduledCopies(request.dataDir);
      const { daily, weekly, monthly } = settings.keep;
      const days = Math.max(daily, 7 * weekly, 31 * monthly);
      const [newest] = await listBackups(settings.directory);
      if (!newest) return copies;
      const until = settings.enabled ? clock.now() + days * 24 * 3_600_000 : null; // nothing else deletes them
      const elsewhere = places.map(({ name, list, remove }) => ({
        what: `copies of these backups in ${name}`,
        until: list && remove ? until : null,
      }));
      return [{ what: 'backups of the whole server', until }, ...elsewhere, ...copies];
    },
    /** Shown to people and by `status`. */
    async state() {
      const [newest = null] = await listBackups(settings.directory);
      const { copies, ...state } = await readState();
      return {
        ...state,
        newest,
        copies: places.map(({ name: place }) => ({ place, ...(copies[place] ?? NO_COPY) })),
        enabled: settings.enabled,
        directory: settings.directory,
      };
    },
    /** Aborts the backup in progress. */
    async stop(): Promise<void> {
      stop.abort(new AppError('unavailable', 'Earshot is stopping'));
      await running?.backup.catch(() => {});
    },
  };
}
const STATE = 'state.json';

/**
 * Makes one backup where it is wanted: in a directory, or, by way of the directory of the backups, in a place elsewhere.
 * @param to a directory, `s3://bucket/prefix` or `command:`
 */
export async function backUpTo(
  to: string,
  settings: BackupSettings,
  request: Omit<BackupRequest, 'to' | 'recipients'>,
): Promise<Backup> {
  const { recipients, directory } = settings;
  if (!isPlace(to)) return createBackup({ ...request, to, recipients });
  const { place, name } = placeAt(to, settings);
  if (name !== null)
    throw new AppError('invalid_input', `${to} must not name a file: backups have names of their own`);
  const made = await createBackup({ ...request, to: directory, recipients });
  try {
    await place.store(made.file, request.signal);
    return { ...made, file: addressOf(place, basename(made.file)) };
  } finally {
    await rm(made.file, { force: true }); // it was wanted there alone
  }
}
