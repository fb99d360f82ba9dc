import type { Clock, Job } from '../contract/model.ts';
import type { Storage, Stores } from '../contract/plugin.ts';
import { waitAtMost } from './deadline.ts';
import { AppError, toAppError } from './errors.ts';
import type { Log } from './log.ts';
import type { JobMetrics } from './metrics.ts';
import { MAX_ATTEMPTS, retryDelayMs } from './retry.ts';

/**
 * Result of a run: nothing more to do, run again at an instant (which is no failure), or results to store: they
 * are committed in one transaction with the end of the job, so both are true or neither.
 */
type JobResult = void | { again: number } | { commit: (tx: Stores) => Promise<void> };

/**
 * Does one job. A throw is a failure: the job is tried again with growing waits, and given up after the last.
 * @param signal aborted when the lease is lost to another process, or this one stops; whatever is done after that
 *   is not committed
 */
export type JobHandler = (job: Job, signal: AbortSignal) => Promise<JobResult>;

/**
 * Called when a job will not run again: its last attempt failed, or the process ended during each attempt.
 * The job is given up only once this has resolved.
 */
type GivenUp = (job: Job) => Promise<void>;

export interface Jobs {
  handle(kind: string, handler: JobHandler, givenUp?: GivenUp): void;
  /** @param holder of the leases: the node's id */
  start(holder?: string): void;
  /** Starts no further jobs, aborts the running ones and waits for them, up to the limit. */
  stop(): Promise<void>;
}

interface JobLimits {
  /**
   * Duration of a lease: after it, a job whose process died can be claimed again. Running jobs renew it every
   * third.
   */
  leaseMs: number;
  /** Maximum number of concurrent jobs. */
  maxRunning: number;
  /**
   * Maximum number of jobs of one user at the same time, so that a user with many jobs or a slow language
   * model leaves room for others.
   */
  maxOfUser: number;
  /** Longest sleep: jobs that another process enqueued are noticed within this time. */
  pollMs: number;
  /** Time that `stop` allows running jobs to end. */
  stopMs: number;
}

const LIMITS: JobLimits = {
  leaseMs: 60_000,
  maxRunning: 6,
  maxOfUser: 3,
  pollMs: 30_000,
  stopMs: 5000,
};
/** Wait after the database did not answer. */
const PAUSE_MS = 1000;

interface Parts extends Partial<JobLimits> {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics?: JobMetrics;
  /** A random number from 0 to 1, which spreads retries. */
  random?: () => number;
}

/** Runs the stored jobs of the kinds that have a handler; others stay for whoever has one. */
export function createJobs(parts: Parts): Jobs {
  const { storage, clock, log, metrics, random = Math.random, ...limits } = parts;
  const { leaseMs, maxRunning, maxOfUser, pollMs, stopMs } = { ...LIMITS, ...limits };
  const handlers = new Map<string, { run: JobHandler; givenUp: GivenUp | undefined }>();
  const running = new Set<Promise<void>>();
  /** Running jobs by the user in their payload; jobs without a user are not counted. */
  const ofUsers = new Map<string, number>();
  const stopping = new AbortController();
  let wake = new AbortController();
  /** Time of the next look at the table. Until that look, any job may be missing from what is known. */
  let looksAt = Number.POSITIVE_INFINITY;
  let loop: Promise<void> | undefined;
  let holder: string | undefined;
  let abandoned = false;

  /** Resolves to whether the full time passed without a wake-up. */
  async function nap(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (ms <= 0) return true; // became due during the look
    return await clock.sleep(ms, signal).then(
      () => !signal.aborted,
      () => false,
    );
  }

  async function takeTurns(): Promise<void> {
    while (!stopping.signal.aborted) {
      wake = new AbortController(); // set before the look, so that a wake-up during it is not missed
      looksAt = Number.POSITIVE_INFINITY;
      const napMs = await turn();
      looksAt = clock.now() + napMs;
      await nap(napMs, AbortSignal.any([wake.signal, stopping.signal]));
    }
  }

  /** Starts due jobs as far as there is room; resolves to how long to sleep. */
  async function turn(): Promise<number> {
    try {
      const room = maxRunning - running.size;
      const kinds = [...handlers.keys()];
      if (room === 0 || kinds.length === 0) return pollMs; // the end of a job, or a new handler, ends the sleep
      const { busy, mayBegin } = usersNow();
      const wait = await untilNext(kinds, busy);
      if (wait > 0) return wait; // the usual case: reading costs far less than claiming, which writes
      const now = clock.now();
      const jobs = await storage.jobs.claim(kinds, now, leaseMs, Math.min(room, mayBegin), holder, busy);
      for (const job of jobs) begin(job, now + leaseMs);
      return jobs.length === room ? pollMs : untilNext(kinds, usersNow().busy);
    } catch (error) {
      log.error({ err: error }, 'jobs cannot be read; trying again');
      return PAUSE_MS;
    }
  }

  /**
   * Users who are at their limit, and how many jobs may be claimed even if all belong to one of the others.
   */
  function usersNow(): { busy: string[]; mayBegin: number } {
    const busy = [...ofUsers].flatMap(([user, count]) => (count >= maxOfUser ? [user] : []));
    const most = Math.max(0, ...[...ofUsers.values()].filter(count => count < maxOfUser));
    return { busy, mayBegin: maxOfUser - most };
  }

  function countOf({ payload: { userId } }: Job, by: 1 | -1): void {
    if (typeof userId !== 'string') return;
    const count = (ofUsers.get(userId) ?? 0) + by;
    if (count > 0) ofUsers.set(userId, count);
    else ofUsers.delete(userId);
  }

  async function untilNext(kinds: string[], except: string[]): Promise<number> {
    const next = await storage.jobs.nextRunAt(kinds, except);
    return next === null ? pollMs : Math.min(Math.max(next - clock.now(), 0), pollMs);
  }

  function begin(job: Job, leasedUntil: number): void {
    countOf(job, 1);
    const run = execute(job, leasedUntil)
      .catch(error => {
        // the lease expires by itself, and the job is claimed again
        log.error({ err: error, kind: job.kind, job: job.id }, 'the end of a job could not be stored');
      })
      .finally(() => {
        running.delete(run);
        countOf(job, -1);
        wake.abort();
      });
    running.add(run);
  }

  async function execute(job: Job, leasedUntil: number): Promise<void> {
    const handler = handlers.get(job.kind);
    if (!handler) return;
    if (job.attempts > MAX_ATTEMPTS) return await giveUp(job, 'the process ended during each of its runs');
    const lease = holdLease(job, leasedUntil);
    const signal = AbortSignal.any([stopping.signal, lease.lost]);
    const beganAt = metrics?.now() ?? 0;
    const finish = await (async () => handler.run(job, signal))().then(
      result => () => conclude(job, result),
      error => () => fail(job, error),
    );
    metrics?.took(job.kind, metrics.now() - beganAt);
    await lease.release();
    if (abandoned) return; // too late: the storage may be closed
    if (lease.lost.aborted)
      return log.warn({ kind: job.kind, job: job.id }, 'job lost its lease; result dropped');
    await finish();
  }

  function holdLease(job: Job, leasedUntil: number): { lost: AbortSignal; release(): Promise<void> } {
    const lost = new AbortController();
    const released = new AbortController();
    const renewal = renew(job, leasedUntil, lost, released.signal);
    return {
      lost: lost.signal,
      async release() {
        released.abort();
        await renewal;
      },
    };
  }

  async function renew(
    job: Job,
    leasedUntil: number,
    lost: AbortController,
    released: AbortSignal,
  ): Promise<void> {
    let until = leasedUntil;
    while (!lost.signal.aborted && (await nap(leaseMs / 3, released))) {
      const extended = clock.now() + leaseMs;
      try {
        if (await storage.jobs.extend(job, extended)) until = extended;
        else lost.abort(new AppError('conflict', `The job ${job.kind} was taken over by another process`));
      } catch (error) {
        log.warn({ err: error, kind: job.kind, job: job.id }, 'a lease could not be renewed');
        if (clock.now() >= until) lost.abort(error);
      }
    }
  }

  async function conclude(job: Job, result: JobResult): Promise<void> {
    if (!result) {
      await storage.jobs.done(job);
      return metrics?.ran(job.kind, 'done');
    }
    if ('again' in result) {
      await storage.jobs.retryAt(job, result.again, null);
      return metrics?.ran(job.kind, 'again');
    }
    try {
      await storage.transaction(`job ${job.kind}`, async tx => {
        if (!(await tx.jobs.done(job))) throw new AppError('conflict', `The job ${job.kind} was taken over`);
        await result.commit(tx);
      });
      metrics?.ran(job.kind, 'done');
    } catch (error) {
      await fail(job, error);
    }
  }

  async function fail(job: Job, thrown: unknown): Promise<void> {
    if (stopping.signal.aborted) {
      await storage.jobs.retryAt(job, clock.now(), null); // interrupted rather than failed: it continues after the next start
      return;
    }
    const { message, retryAfter } = toAppError(thrown);
    const delayMs = retryDelayMs(job.attempts, random(), retryAfter);
    if (delayMs === null) {
      await giveUp(job, message, thrown);
      return metrics?.ran(job.kind, 'failed');
    }
    log.warn(
      { err: thrown, kind: job.kind, job: job.id, attempt: job.attempts, delayMs },
      'job failed; trying again',
    );
    await storage.jobs.retryAt(job, clock.now() + delayMs, message);
    metrics?.ran(job.kind, 'failed');
  }

  async function giveUp(job: Job, reason: string, thrown?: unknown): Promise<void> {
    log.error({ err: thrown, kind: job.kind, job: job.id, attempt: job.attempts, reason }, 'job given up');
    await handlers.get(job.kind)?.givenUp?.(job);
    await storage.jobs.dead(job, reason);
    metrics?.ran(job.kind, 'dead');
  }

  const unsubscribe = storage.onEnqueued(jobs => {
    const isSooner = ([kind, runAt]: [string, number]) => handlers.has(kind) && runAt < looksAt;
    if ([...jobs].some(isSooner)) wake.abort();
  });

  return {
    handle(kind, run, givenUp) {
      handlers.set(kind, { run, givenUp });
      wake.abort();
    },
    start(node) {
      holder = node;
      loop ??= takeTurns();
    },
    async stop() {
      unsubscribe();
      stopping.abort(new AppError('unavailable', 'Earshot is stopping'));
      await loop;
      await waitAtMost({ clock, limitMs: stopMs }, Promise.all(running));
      abandoned = true;
      if (running.size > 0)
        log.warn({ jobs: running.size }, 'jobs did not stop in time; they run again later');
    },
  };
}
