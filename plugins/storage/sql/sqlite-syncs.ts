/** Syncs SQLite's write-ahead log on a thread of Node's pool, so that sockets are served while the disk works. */
import { type FileHandle, open } from 'node:fs/promises';
import type { PluginContext } from '../../../core/contract/plugin.ts';

/** Code of the error for writes whose sync failed, and for writes after that. */
export const UNSYNCED = 'UNSYNCED';

export type Log = Pick<FileHandle, 'datasync' | 'close'>;

/**
 * With `synchronous = normal` SQLite keeps the database consistent across a power loss, but does not sync its commits.
 * That is done here before callers are told; one sync serves all transactions committed before it started. Others may
 * read them earlier: anything written as a result follows them in the log and cannot reach the disk before them.
 * The log is opened a second time for this, which is safe: a process loses its locks when it closes any descriptor of a
 * locked file, and SQLite's locks are on the database and its `-shm`. SQLite keeps the log in place as long as the
 * database is open.
 */
export function createSyncs(
  file: string,
  { log }: Pick<PluginContext<never>, 'log'>,
  openLog: (file: string) => Promise<Log> = openForSync,
) {
  let opened: Promise<Log> | undefined;
  let failure: Error | undefined;
  /** The current or last sync. */
  let last = Promise.resolve();
  /** The sync to follow it. */
  let next: Promise<void> | undefined;

  /** Resolves once everything committed so far is on disk. */
  function synced(): Promise<void> {
    const own: Promise<void> =
      next ??
      last.then(() => {
        last = own;
        next = undefined;
        return sync();
      });
    next = own;
    return own;
  }

  async function sync(): Promise<void> {
    try {
      opened ??= openLog(file);
      await (await opened).datasync();
    } catch (cause) {
      // permanently: Linux marks pages that it failed to write as clean, so a later successful sync proves nothing
      const reason = cause instanceof Error ? cause.message : String(cause);
      failure = new Error(`the disk did not take what was committed (${reason})`, { cause });
      log.error({ err: failure, file }, 'the database takes no more writes until Earshot is restarted');
      throw Object.assign(failure, { code: UNSYNCED });
    }
  }

  return {
    /** Resolves to the result of `work` once everything that it committed is on disk. */
    async lasting<T>(work: () => PromiseLike<T>): Promise<T> {
      if (failure) throw failure;
      const result = await work();
      await synced();
      return result;
    },
    /** Call after the last commit. */
    async close(): Promise<void> {
      await (next ?? last).catch(() => {});
      const log = await opened?.catch(() => undefined);
      await log?.close();
    },
  };
}

/** Windows syncs only files opened for writing. */
function openForSync(file: string): Promise<Log> {
  return open(file, 'r+');
}
