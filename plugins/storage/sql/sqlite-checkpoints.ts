/** When SQLite's write-ahead log is copied into the database: that waits for the disk, so a thread beside does it. */
import type { PluginContext } from '../../../core/contract/plugin.ts';

/** 4 MB, as SQLite has it by itself. */
const PAGES = 1000;

interface Connection {
  pragma(source: string): unknown;
}

interface Parts<Writer> {
  /** Copies it elsewhere, and begins it anew where that is all of it. Resolves to whether it was possible. */
  copyLog(): Promise<boolean>;
  /** Nobody else writes from then to `release`. */
  acquire(): Promise<Writer>;
  release(writer: Writer): void;
}

/** @param pages of the log, past which it is copied */
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
    const writer = await acquire(); // what was committed meanwhile is copied while nobody commits, or it would never end
    try {
      if (lengthOf(writer) < triedAt) return;
      const isCopied = await copyLog();
      if (!isCopied && !isClosed) writer.pragma('wal_checkpoint(passive)');
    } finally {
      release(writer);
    }
  }

  return {
    /** After commits, by the connection that committed. */
    async look(writer: Writer): Promise<void> {
      if (isUnderWay || isClosed) return;
      isUnderWay = true;
      try {
        const length = lengthOf(writer);
        if (length < triedAt) triedAt = 0; // it has begun anew
        if (length - triedAt < pages) return;
        triedAt = length; // while someone reads for long it is copied in vain: not after each commit
        await copy();
      } catch (err) {
        if (!isClosed) log.error({ err }, 'the write-ahead log was not copied into the database');
      } finally {
        isUnderWay = false;
      }
    },
    /** From now on whoever closes the database copies it. */
    close(): void {
      isClosed = true;
    },
  };
}

/** Pages that are in it. */
function lengthOf(connection: Connection): number {
  const [state] = connection.pragma('wal_checkpoint(noop)') as { log: number }[];
  return state?.log ?? 0;
}
