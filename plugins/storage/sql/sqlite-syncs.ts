/** Syncs of SQLite's write-ahead log, in a thread of Node's pool: sockets are served while the disk works. */
import { type FileHandle, open } from 'node:fs/promises';
import type { PluginContext } from '../../../core/contract/plugin.ts';

/** The code of the error of whoever waited for a sync that failed, or wants to write after it. */
export const UNSYNCED = 'UNSYNCED';

export type Log = Pick<FileHandle, 'datasync' | 'close'>;

/**
 * With `synchronous = normal` SQLite keeps the database sound through a loss of power, yet does not sync what it
 * commits. That is done here, before anyone is told; one sync serves all that were committed before it began. Others
 * may read them already: what they write because of it comes after it in the log, and is not on the disk before it.
 *
 * The log is opened a second time for this, which is safe: its locks, which a process loses when it closes any
 * descriptor of a locked file, SQLite has on the database and on its `-shm`. As long as the database is open, SQLite
 * keeps the log where it is.
 */
export function createSyncs(
  file: string,
  { log }: Pick<PluginContext<never>, 'log'>,
  openLog: (file: string) => Promise<Log> = openForSync,
) {
  let opened: Promise<Log> | undefined;
  let failure: Error | undefined;
  /** The sync that is under way, or was last. */
  let last = Promise.resolve();
  /** The one after it. */
  let next: Promise<void> | undefined;

  /** Resolves once all that was committed before is on the disk. */
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
      // for good: Linux takes for clean what it could not write, so that a later sync that succeeds proves nothing
      const reason = cause instanceof Error ? cause.message : String(cause);
      failure = new Error(`the disk did not take what was committed (${reason})`, { cause });
      log.error({ err: failure, file }, 'the database takes no more writes until Earshot is restarted');
      throw Object.assign(failure, { code: UNSYNCED });
    }
  }

  return {
    /** Resolves to what `work` resolves to, once all that it committed is on the disk. */
    async lasting<T>(work: () => PromiseLike<T>): Promise<T> {
      if (failure) throw failure;
      const result = await work();
      await synced();
      return result;
    },
    /** After the last commit. */
    async close(): Promise<void> {
      await (next ?? last).catch(() => {});
      const log = await opened?.catch(() => undefined);
      await log?.close();
    },
  };
}

/** Windows syncs only what is open for writing. */
function openForSync(file: string): Promise<Log> {
  return open(file, 'r+');
}
