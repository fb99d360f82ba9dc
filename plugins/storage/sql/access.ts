import { AsyncLocalStorage } from 'node:async_hooks';
import type { Knex } from 'knex';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { Dialect } from './dialect.ts';

const SLOW_TRANSACTION_MS = 50;

/** Runs statements on the database, directly or within a transaction. */
export interface Access {
  /**
   * @param verb names the operation in messages: `users.get`
   * @throws AppError; errors of the database itself are translated
   */
  read<T>(verb: string, query: (db: Knex) => PromiseLike<T>): Promise<T>;
  /** @param conflict message for a violated unique constraint */
  write<T>(verb: string, query: (db: Knex) => PromiseLike<T>, conflict?: string): Promise<T>;
  /** Runs several statements that succeed or fail together. */
  atomic<T>(verb: string, query: (db: Knex) => Promise<T>, conflict?: string): Promise<T>;
  /** Tells listeners about a new job once it is committed. */
  enqueued(kind: string, runAt: number): void;
}

type Listener = (jobs: ReadonlyMap<string, number>) => void;

interface Running {
  name: string;
  open: boolean;
  /** The first statement that failed in the transaction. */
  failed: { cause: unknown } | null;
  /** Statements in progress. */
  count: number;
  /** Kinds of the jobs enqueued in the transaction, each with its earliest `runAt`. */
  jobs: Map<string, number>;
  /** Called when no statement is in progress any more. */
  idle: (() => void) | null;
}

type Context = Pick<PluginContext<never>, 'log' | 'clock' | 'error'>;
type TransactionRunner = <T>(name: string, work: (access: Access) => Promise<T>) => Promise<T>;

/** Creates both kinds of access: outside of transactions, and within one. */
export function createAccess(
  dialect: Dialect,
  { log, clock, error }: Context,
): {
  outside: Access;
  transaction: TransactionRunner;
  onEnqueued(listener: Listener): () => void;
} {
  const current = new AsyncLocalStorage<Running>();
  const listeners = new Set<Listener>();

  function onEnqueued(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  function tell(jobs: ReadonlyMap<string, number>): void {
    if (jobs.size > 0) for (const listener of listeners) listener(jobs);
  }

  function refuseInside(verb: string): void {
    const running = current.getStore();
    if (!running?.open) return;
    throw error(
      'internal',
      `${verb} was called inside the transaction "${running.name}", but not on its tx: it would wait for itself`,
    );
  }

  function refuseUnusable(verb: string, { name, open, failed }: Running): void {
    if (!open) throw error('internal', `${verb} was called on the tx of "${name}", which is over`);
    if (!failed) return;
    throw error('internal', `${verb}: the transaction "${name}" has failed already and can only end`, failed);
  }

  /** Translates an error of the database; any other error is passed on. */
  function translate(verb: string, cause: unknown, conflict = `${verb}: it exists already`): unknown {
    const { place, fault, explain } = dialect;
    switch (fault(cause)) {
      case 'duplicate':
        return error('conflict', conflict, { cause });
      case 'orphan':
        return error('not_found', `${verb}: what it belongs to is not there`, { cause });
      case 'busy':
        return error(
          'unavailable',
          `The ${place} is busy: another process, or a transaction that does not end, holds it`,
          {
            cause,
            retryAfter: 1,
          },
        );
      case 'unreachable':
        return error('unavailable', `The ${place} cannot be reached: ${explain(cause)}`, {
          cause,
          retryAfter: 5,
        });
      case 'refused':
        return error('config_error', `The ${place} refuses Earshot: ${explain(cause)}`, { cause });
      case 'full':
        return error('storage_full', `No space left for the ${place}`, { cause });
      case 'unsynced':
        return error(
          'unavailable',
          `The ${place} takes no more writes, as ${explain(cause)}. Restart Earshot; if it happens again, check the disk`,
          { cause },
        );
      case 'damaged':
        return error(
          'config_error',
          `The ${place} is damaged, or is not a database. Stop Earshot, move it away, and put back one of backups/`,
          { cause },
        );
      case 'no_schema':
        return error('unavailable', `The ${place} has not been set up yet: start the server once`, { cause });
      case 'other':
        return error('internal', `The ${place} failed at ${verb}: ${reasonOf(cause)}`, { cause });
      case null:
        return cause;
    }
  }

  const outside: Access = {
    async read(verb, query) {
      refuseInside(verb);
      return await attempt(verb, () => query(dialect.reader));
    },
    async write(verb, query, conflict) {
      refuseInside(verb);
      return await attempt(verb, () => dialect.write(query), conflict);
    },
    async atomic(verb, query, conflict) {
      refuseInside(verb);
      return await attempt(verb, () => dialect.transaction(query), conflict);
    },
    enqueued: (kind, runAt) => tell(new Map([[kind, runAt]])), // outside of a transaction, every statement is committed
  };

  async function attempt<T>(verb: string, work: () => PromiseLike<T>, conflict?: string): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw translate(verb, thrown, conflict);
    }
  }

  function within(db: Knex, running: Running): Access {
    async function run<T>(verb: string, query: (db: Knex) => PromiseLike<T>, conflict?: string): Promise<T> {
      refuseUnusable(verb, running);
      running.count += 1;
      try {
        return await attempt(verb, () => query(db), conflict);
      } catch (cause) {
        running.failed ??= { cause };
        throw cause;
      } finally {
        running.count -= 1;
        if (running.count === 0) running.idle?.();
      }
    }
    return {
      read: run,
      write: run,
      atomic: run,
      enqueued: (kind, runAt) => {
        running.jobs.set(kind, Math.min(runAt, running.jobs.get(kind) ?? runAt));
      },
    };
  }

  async function transaction<T>(name: string, work: (access: Access) => Promise<T>): Promise<T> {
    refuseInside(`transaction "${name}"`);
    const running: Running = { name, open: true, failed: null, count: 0, jobs: new Map(), idle: null };
    let thrown: { error: unknown } | undefined;
    let beganAt: number | undefined;
    try {
      const result = await dialect.transaction(async db => {
        beganAt = clock.now();
        try {
          const result = await current.run(running, () => work(within(db, running)));
          await ended(running);
          if (running.failed) throw running.failed.cause; // `work` caught the error, but the transaction is no longer reliable
          return result;
        } catch (error) {
          thrown = { error };
          await ended(running);
          throw error;
        }
      });
      tell(running.jobs);
      return result;
    } catch (error) {
      throw thrown ? thrown.error : translate(`transaction "${name}"`, error);
    } finally {
      if (beganAt !== undefined) reportSlow(name, clock.now() - beganAt);
    }
  }

  function reportSlow(name: string, ms: number): void {
    if (ms > SLOW_TRANSACTION_MS) log.warn({ transaction: name, ms }, 'slow transaction');
  }

  return { outside, transaction, onEnqueued };
}

/**
 * Waits for statements that `work` did not await, which would otherwise run in the next transaction. No new ones may
 * start.
 */
async function ended(running: Running): Promise<void> {
  running.open = false;
  if (running.count > 0) await new Promise<void>(resolve => Object.assign(running, { idle: resolve }));
}

/** Returns the database's own message, without the statement that knex puts before it. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.split(' - ').pop() ?? message;
}
