import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ForeignImport, User } from '../../contract/model.ts';
import { AppError, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { openForeignFiles } from './foreign-files.ts';
import { type ForeignImports, type ForeignOutcome, requireUndoable } from './foreign-imports.ts';

/** Accounts that import at the same time: each reads in a process of its own. */
const MAX_RUNNING = 2;
/** Accounts whose last outcome is kept in memory. */
const MAX_KEPT = 1000;
const MAX_NAME_CHARS = 100;

type Work = 'import' | 'dry_run' | 'undo';

/** Progress of the last import, dry run or undoing of an account since the start of the server. */
export interface UploadedProgress {
  work: Work | null;
  running: boolean;
  /** Things that were read or stored by now. */
  done: number;
  outcome: ForeignOutcome | null;
  error: string | null;
}

const NOTHING: UploadedProgress = { work: null, running: false, done: 0, outcome: null, error: null };

export type UploadedImports = ReturnType<typeof createUploadedImports>;

/** Imports files of other products that users upload, in the background; one of an account at a time. */
export function createUploadedImports({
  foreignImports,
  notifications,
  dir,
  log,
}: {
  foreignImports: ForeignImports;
  notifications: { settings(userId: string): Promise<{ timeZone: string }> };
  /** Directory for uploads, on the disk that they arrive on. */
  dir: string;
  log: Log;
}) {
  const states = new Map<string, UploadedProgress>();

  function begin(user: User, work: Work, run: (tell: (done: number) => void) => Promise<ForeignOutcome>) {
    const running = [...states.values()].filter(state => state.running).length;
    if (states.get(user.id)?.running)
      throw new AppError('conflict', 'An import of this account is running: wait for it');
    if (running >= MAX_RUNNING)
      throw new AppError('rate_limited', 'Others import at the moment: try again later', { retryAfter: 60 });
    const state: UploadedProgress = { ...NOTHING, work, running: true };
    keep(user.id, state);
    const tell = (done: number) => {
      state.done = done;
    };
    run(tell).then(
      outcome => Object.assign(state, { outcome, running: false }),
      thrown => {
        const error = toAppError(thrown);
        if (!error.expose) log.error({ err: thrown }, 'an import failed');
        const shown = error.expose ? error.message : 'It failed: the log of the server has the reason';
        Object.assign(state, { error: shown, running: false });
      },
    );
    return state;
  }

  /** Keeps the newest states; a running one is among them. */
  function keep(userId: string, state: UploadedProgress): void {
    states.delete(userId);
    states.set(userId, state);
    for (const [id, { running }] of states) {
      if (states.size <= MAX_KEPT) return;
      if (!running) states.delete(id);
    }
  }

  interface Reading {
    path: string;
    timeZone: string;
    dryRun: boolean;
    tell(done: number): void;
  }

  async function read(user: User, { path, timeZone, dryRun, tell }: Reading): Promise<ForeignOutcome> {
    const source = await openForeignFiles(path, timeZone);
    if (source)
      return dryRun ? foreignImports.check(user, source, tell) : foreignImports.take(user, source, tell);
    throw new AppError(
      'invalid_request',
      'This is an archive of Earshot, which needs an account that is empty: earshot import FILE --user NAME',
    );
  }

  /**
   * Begins to import a file, which is moved away. Resolves once it has begun. `conflict` while another one of the account
   * is running, `rate_limited` while too many others are.
   */
  async function add(
    user: User,
    file: { path: string; name: string },
    { dryRun }: { dryRun: boolean },
  ): Promise<UploadedProgress> {
    const { timeZone } = await notifications.settings(user.id);
    const folder = join(dir, `import-${randomUUID()}`);
    const path = join(folder, fileName(file.name));
    const moved = Promise.withResolvers<void>();
    const state = begin(user, dryRun ? 'dry_run' : 'import', async tell => {
      try {
        await moved.promise;
        return await read(user, { path, timeZone, dryRun, tell });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await rename(file.path, path);
      moved.resolve();
    } catch (error) {
      moved.reject(error);
    }
    return state;
  }

  /** Begins to undo an import. `not_found`, `conflict`, `rate_limited`. */
  async function undo(user: User, id: string): Promise<UploadedProgress> {
    const run = (await foreignImports.list(user)).find(each => each.id === id);
    if (!run) throw new AppError('not_found', 'Import not found');
    requireUndoable(run);
    return begin(user, 'undo', async () => ({
      ...{ id, format: run.format, known: 0, leftOut: [] },
      counts: await foreignImports.undo(user, id),
    }));
  }

  return {
    add,
    undo,
    progress: (user: User): UploadedProgress => states.get(user.id) ?? NOTHING,
    /** Newest first. */
    list: (user: User): Promise<ForeignImport[]> => foreignImports.list(user),
  };
}

/** Returns the name of a file as it is safe on this disk: formats are told apart by its ending. */
function fileName(name: string): string {
  const last = name.toWellFormed().split(/[\\/]/).at(-1) ?? '';
  return (
    last
      .replaceAll(/\p{Cc}/gu, '')
      .replace(/^\.+/, '')
      .slice(-MAX_NAME_CHARS) || 'import'
  );
}
