/** Schedules checkpoints of SQLite's write-ahead log. They wait for the disk, so another thread performs them. */
import type { PluginContext } from '../../../core/contract/plugin.ts';

/** 4 MB, SQLite's own default. */
const PAGES = 1000;

interface Connection {
  pragma(source: string): unknown;
}

interface Parts<Writer> {
  /**
   * Checkpoints the log in the other thread, and restarts it if all of it was copied. Resolves to whether that was
   * possible.
   */
  copyLog(): Promise<boolean>;
  /** Blocks other writers until `release`. */
  acquire(): Promise<Writer>;
  release(writer: Writer): void;
}

/** @param pages length of the log that triggers a checkpoint */
export function createCheckpoints<Writer extends Connection>(
  { copyLog, acquire, release }: Parts<Writer>,
  { log }: Pick<PluginContext<never>, 'log'>,
  pages: number = PAGES,
) {
  let isUnderWay = false;
  let isClosed = false;
  let triedAt = 0;

  async function copy(): Promise<void> {
    await copyLog();
    const writer = await acquire(); // the rest is copied while nobody commits, or it would never finish
    try {
      if (lengthOf(writer) < triedAt) return;
      const isCopied = await copyLog();
      if (!isCopied && !isClosed) writer.pragma('wal_checkpoint(passive)');
    } finally {
      release(writer);
    }
  }

  return {
    /** Called after commits, with the connection that committed. */
    async look(writer: Writer): Promise<void> {
      if (isUnderWay || isClosed) return;
      isUnderWay = true;
      try {
        const length = lengthOf(writer);
        if (length < triedAt) triedAt = 0; // the log was restarted
        if (length - triedAt < pages) return;
        triedAt = length; // a long-running reader makes checkpoints useless, so not after every commit
        await copy();
      } catch (err) {
        if (!isClosed) log.error({ err }, 'the write-ahead log was not copied into the database');
      } finally {
        isUnderWay = false;
      }
    },
    /** Stops checkpoints; closing the database performs the last one. */
    close(): void {
      isClosed = true;
    },
  };
}

/** Returns the number of pages in the log. */
function lengthOf(connection: Connection): number {
  const [state] = connection.pragma('wal_checkpoint(noop)') as { log: number }[];
  return state?.log ?? 0;
}
