/** Runs the transactions of one connection in the order requested. Waiting transactions share one commit. */
import { setImmediate as turn } from 'node:timers/promises';

/** A commit writes every changed page, which costs more than the change itself; this bounds how long others wait. */
const MAX_TOGETHER = 32;
const LIMITS = { togetherMs: 2, waitMs: 30_000 }; // the same time that others wait for a connection

interface Waiting {
  /** Resolves to the callback to run after the commit; rejects when the transaction is to be rolled back. */
  work(): Promise<() => void>;
  refuse(error: unknown): void;
}

/** Operations on the connection. */
interface Parts<Connection> {
  acquire(): Promise<Connection>;
  release(connection: Connection): void;
  run(connection: Connection, sql: string): Promise<unknown>;
  /** Whether the transaction is still open: SQLite ends it after some failures, such as a full disk. */
  isOpen(connection: Connection): boolean;
  tooLate(): Error;
}

/**
 * Callers learn the outcome only after the commit that covers all grouped transactions: if it fails, all fail. A
 * transaction whose work throws is rolled back alone.
 */
export function createCommits<Connection>(parts: Parts<Connection>, limits: Partial<typeof LIMITS> = {}) {
  const { togetherMs, waitMs } = { ...LIMITS, ...limits };
  const { acquire, release, run, isOpen, tooLate } = parts;
  const queue: Waiting[] = [];
  let isRunning = false;

  async function drain(): Promise<void> {
    isRunning = true;
    while (queue.length > 0) await together();
    isRunning = false;
  }

  /** Runs waiting transactions together, with those that arrive meanwhile. */
  async function together(): Promise<void> {
    let connection: Connection | undefined;
    const told: (() => void)[] = [];
    const refused: Waiting['refuse'][] = [];
    try {
      connection = await acquire();
      await run(connection, 'begin immediate');
    } catch (error) {
      if (connection !== undefined) release(connection);
      return queue.shift()?.refuse(error);
    }
    const beganAt = performance.now();
    const isFull = () => told.length >= MAX_TOGETHER || performance.now() - beganAt > togetherMs;
    try {
      for (let next = queue.shift(); next; next = isFull() ? undefined : await come()) {
        const isFirst = told.length === 0; // alone it needs no savepoint: everything is rolled back
        try {
          if (!isFirst) await run(connection, 'savepoint one');
          told.push(await next.work());
          refused.push(next.refuse);
          if (!isFirst) await run(connection, 'release one');
        } catch (error) {
          next.refuse(error);
          if (isFirst) break;
          if (!isOpen(connection)) throw error;
          await run(connection, 'rollback to one');
        }
      }
      if (told.length > 0) await run(connection, 'commit');
    } catch (error) {
      told.length = 0;
      for (const refuse of refused) refuse(error);
    }
    if (isOpen(connection)) await run(connection, 'rollback').catch(() => {}); // the next one cannot start
    release(connection);
    for (const tell of told) tell();
  }

  /** Lets requests that arrived meanwhile join, and returns the next one. */
  async function come(): Promise<Waiting | undefined> {
    if (queue.length === 0) await turn();
    return queue.shift();
  }

  return function transaction<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const late = isRunning ? setTimeout(giveUp, waitMs) : undefined;
    const waiting: Waiting = {
      async work() {
        clearTimeout(late);
        const result = await work();
        return () => resolve(result);
      },
      refuse(error) {
        clearTimeout(late);
        reject(error);
      },
    };
    function giveUp() {
      const place = queue.indexOf(waiting);
      if (place >= 0) queue.splice(place, 1);
      reject(tooLate());
    }
    queue.push(waiting);
    if (!isRunning) void drain();
    return promise;
  };
}
