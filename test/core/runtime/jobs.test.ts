import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { Job } from '../../../core/contract/model.ts';
import type { Storage } from '../../../core/contract/plugin.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { createJobs, type JobHandler } from '../../../core/runtime/jobs.ts';
import type { JobMetrics } from '../../../core/runtime/metrics.ts';
import { MAX_ATTEMPTS, retryDelayMs } from '../../../core/runtime/retry.ts';
import { user } from '../../../plugins/kit/suites/storage/rows.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { openStorage, temporaryStorage } from '../../helpers/storage.ts';

const LEASE_MS = 60_000;
const POLL_MS = 30_000;
const NO_JITTER = 0.5;

async function setUp(
  t: ExecutionContext,
  limits: { maxRunning?: number; maxOfUser?: number; metrics?: JobMetrics } = {},
) {
  const clock = manualClock();
  const { storage, file, close } = await temporaryStorage();
  const jobs = createJobs({
    storage,
    clock,
    log: pino({ level: 'silent' }),
    random: () => NO_JITTER,
    ...limits,
  });
  t.teardown(async () => {
    await jobs.stop();
    await close();
  });
  const enqueue = (key: string, inMs = 0, payload: Record<string, unknown> = {}) =>
    storage.jobs.enqueue({ kind: 'work', key, runAt: clock.now() + inMs, payload });
  return { clock, storage, file, jobs, enqueue };
}

/** A handler whose runs the test awaits and ends, one by one. */
function handHeld() {
  const runs: {
    job: Job;
    signal: AbortSignal;
    end: PromiseWithResolvers<Awaited<ReturnType<JobHandler>>>;
  }[] = [];
  const waiting: (() => void)[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const handler: JobHandler = async (job, signal) => {
    const end = Promise.withResolvers<Awaited<ReturnType<JobHandler>>>();
    runs.push({ job, signal, end });
    mostInFlight = Math.max(mostInFlight, ++inFlight);
    for (const look of waiting.splice(0)) look();
    return await end.promise.finally(() => inFlight--);
  };
  return {
    handler,
    /** Run number `index`, once it has started. */
    async run(index: number) {
      for (;;) {
        const run = runs[index];
        if (run) return run;
        await new Promise<void>(resolve => waiting.push(resolve));
      }
    },
    begun: () => runs.length,
    mostInFlight: () => mostInFlight,
  };
}

/** Resolves when the next job is due at `runAt`; null: when there is none. */
async function nextDue(storage: Storage, runAt: number | null): Promise<void> {
  while ((await storage.jobs.nextRunAt(['work'])) !== runAt) await new Promise(setImmediate);
}

test('a due job is run with its payload, and is gone afterwards', async t => {
  const { storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k', 0, { conversation: 'c1' });
  jobs.start();
  const { job, end } = await hand.run(0);
  t.like(job, { kind: 'work', key: 'k', payload: { conversation: 'c1' }, attempts: 1 });
  end.resolve();
  await nextDue(storage, null);
});

test('it sleeps until the next job is due', async t => {
  const { clock, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('later', 9000);
  await enqueue('sooner', 5000);
  jobs.start();
  await clock.asleep(5000);
  clock.advance(4999);
  await clock.asleep(1);
  t.is(hand.begun(), 0);
  clock.advance(1);
  t.is((await hand.run(0)).job.key, 'sooner');
  (await hand.run(0)).end.resolve();
  await clock.asleep(4000);
  t.is(hand.begun(), 1);
});

test('a job that is enqueued, also in a transaction, is started at once', async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  jobs.start();
  await clock.asleep(POLL_MS);
  await enqueue('k');
  (await hand.run(0)).end.resolve();
  await nextDue(storage, null);
  await clock.asleep(POLL_MS);
  await storage.transaction('more', tx =>
    tx.jobs.enqueue({ kind: 'work', key: 'l', runAt: clock.now(), payload: {} }),
  );
  (await hand.run(1)).end.resolve();
  await t.notThrowsAsync(nextDue(storage, null));
});

test('a job enqueued by another process is seen within 30 seconds', async t => {
  const { clock, storage, file, jobs } = await setUp(t);
  const other = await openStorage(file);
  t.teardown(other.close);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  jobs.start();
  await clock.asleep(POLL_MS);
  await other.storage.jobs.enqueue({ kind: 'work', key: 'k', runAt: clock.now(), payload: {} });
  clock.advance(POLL_MS);
  (await hand.run(0)).end.resolve();
  await t.notThrowsAsync(nextDue(storage, null));
});

test('a handler registered after the start gets its jobs, and jobs without a handler stay', async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  await enqueue('k');
  await storage.jobs.enqueue({ kind: 'unknown', key: 'k', runAt: 0, payload: {} });
  jobs.start();
  await clock.asleep(POLL_MS);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  (await hand.run(0)).end.resolve();
  await nextDue(storage, null);
  const [left] = await storage.jobs.claim(['unknown'], clock.now(), 1, 9);
  t.is(left?.attempts, 1, 'nobody had touched it');
});

test('no more jobs run at a time than allowed, and all get their turn', async t => {
  const { storage, jobs, enqueue } = await setUp(t, { maxRunning: 2 });
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  for (const key of ['a', 'b', 'c', 'd', 'e']) await enqueue(key);
  jobs.start();
  for (const index of [0, 1, 2, 3, 4]) (await hand.run(index)).end.resolve();
  await nextDue(storage, null);
  t.is(hand.mostInFlight(), 2);
});

test('a user with many slow jobs leaves room for others, and loses no job', async t => {
  const { storage, clock, jobs } = await setUp(t, { maxRunning: 4, maxOfUser: 2 });
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  const enqueue = (key: string, payload: Record<string, unknown>) =>
    storage.jobs.enqueue({ kind: 'work', key, runAt: clock.now(), payload });
  for (let n = 0; n < 5; n++) await enqueue(`anna ${n}`, { userId: 'anna' });
  jobs.start();
  const [first] = [await hand.run(0), await hand.run(1)];
  await clock.asleep(POLL_MS); // the runner has polled, and takes no more of hers
  t.is(hand.begun(), 2);
  await enqueue('ben', { userId: 'ben' });
  await enqueue('of nobody', {});
  const others = [await hand.run(2), await hand.run(3)];
  t.deepEqual(others.map(({ job }) => job.key).sort(), ['ben', 'of nobody']);
  for (const { end } of others) end.resolve();
  first.end.resolve();
  await hand.run(4);
  for (const index of [1, 4, 5, 6]) (await hand.run(index)).end.resolve();
  await nextDue(storage, null);
  t.is(hand.begun(), 7);
});

test('a job that asks to run again does so at that time, which is not a failure', async t => {
  const { clock, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  jobs.start();
  (await hand.run(0)).end.resolve({ again: clock.now() + 7000 });
  await clock.asleep(7000);
  clock.advance(7000);
  const { job, end } = await hand.run(1);
  t.is(job.attempts, 1);
  end.resolve();
});

test('a job enqueued while it runs is run once more', async t => {
  const { storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k', 0, { n: 1 });
  jobs.start();
  const first = await hand.run(0);
  await enqueue('k', 0, { n: 2 });
  first.end.resolve();
  const second = await hand.run(1);
  t.deepEqual(second.job.payload, { n: 2 });
  second.end.resolve();
  await nextDue(storage, null);
});

test('a failed job is retried after growing delays, and given up after the last', async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  const givenUp: string[] = [];
  jobs.handle('work', hand.handler, async ({ key }) => void givenUp.push(key));
  await enqueue('k');
  jobs.start();
  for (let failures = 1; failures < MAX_ATTEMPTS; failures++) {
    const { job, end } = await hand.run(failures - 1);
    t.is(job.attempts, failures);
    end.reject(new AppError('upstream_error', 'no answer'));
    const delayMs = retryDelayMs(failures, NO_JITTER) ?? 0;
    await nextDue(storage, clock.now() + delayMs);
    clock.advance(delayMs);
  }
  (await hand.run(MAX_ATTEMPTS - 1)).end.reject(new Error('still no answer'));
  t.deepEqual(givenUp, []);
  await nextDue(storage, null);
  t.deepEqual(givenUp, ['k']);
});

test('a run is counted once its end is stored, so that both are consistent', async t => {
  const seen: Promise<[outcome: string, runAt: number | null]>[] = [];
  const counted = Promise.withResolvers<void>();
  const metrics: JobMetrics = {
    now: () => 0,
    took() {},
    ran(_, outcome) {
      seen.push(storage.jobs.nextRunAt(['work']).then(runAt => [outcome, runAt]));
      if (outcome === 'done') counted.resolve();
    },
  };
  const { clock, storage, jobs, enqueue } = await setUp(t, { metrics });
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  const beganAt = clock.now();
  jobs.start();
  (await hand.run(0)).end.reject(new Error('no answer'));
  await clock.asleep(5000);
  clock.advance(5000);
  (await hand.run(1)).end.resolve({ again: clock.now() + 1000 });
  await clock.asleep(1000);
  clock.advance(1000);
  (await hand.run(2)).end.resolve();
  await counted.promise;
  t.deepEqual(await Promise.all(seen), [
    ['failed', beganAt + 5000],
    ['again', beganAt + 6000],
    ['done', null],
  ]);
});

test('a remote failure that requests a pause gets it', async t => {
  const { clock, jobs, enqueue } = await setUp(t);
  jobs.handle('work', async () => {
    throw new AppError('rate_limited', 'not so fast', { retryAfter: 20 });
  });
  await enqueue('k');
  jobs.start();
  await t.notThrowsAsync(clock.asleep(20_000));
});

test('a handler that throws before it returns a promise has failed like any other', async t => {
  const { clock, jobs, enqueue } = await setUp(t);
  jobs.handle('work', () => {
    throw new Error('at once');
  });
  await enqueue('k');
  jobs.start();
  await t.notThrowsAsync(clock.asleep(5000));
});

test('a job whose process died during each of its runs is given up, not run', async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  await enqueue('k');
  for (let run = 0; run < MAX_ATTEMPTS; run++) {
    const claimed = await storage.jobs.claim(['work'], clock.now(), LEASE_MS, 1);
    t.is(claimed.length, 1);
    clock.advance(LEASE_MS);
  }
  const hand = handHeld();
  const givenUp: string[] = [];
  jobs.handle('work', hand.handler, async ({ key }) => void givenUp.push(key));
  jobs.start();
  await nextDue(storage, null);
  t.is(hand.begun(), 0);
  t.deepEqual(givenUp, ['k']);
});

test("a job's writes and its completion commit together or not at all", async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  jobs.start();
  (await hand.run(0)).end.resolve({
    async commit(tx) {
      await tx.users.insert(user('half'));
      throw new Error('the second half is missing');
    },
  });
  await clock.asleep(5000);
  t.deepEqual(await storage.users.list(), []);
  t.is(await storage.jobs.nextRunAt(['work']), clock.now() + 5000);
  clock.advance(5000);
  (await hand.run(1)).end.resolve({ commit: tx => tx.users.insert(user('whole')) });
  await nextDue(storage, null);
  t.is((await storage.users.list()).length, 1);
});

test('the lease of a long job is renewed, so no other process takes it', async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  jobs.start();
  const { end, signal } = await hand.run(0);
  for (let third = 0; third < 6; third++) {
    await clock.asleep(LEASE_MS / 3);
    clock.advance(LEASE_MS / 3);
  }
  await clock.asleep(LEASE_MS / 3);
  t.deepEqual(await storage.jobs.claim(['work'], clock.now() + LEASE_MS - 1, 1, 1), []);
  t.false(signal.aborted);
  end.resolve();
  await nextDue(storage, null);
});

test('a job whose lease was lost is aborted, and its result is not stored', async t => {
  const { clock, storage, file, jobs, enqueue } = await setUp(t);
  const other = await openStorage(file);
  t.teardown(other.close);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  jobs.start();
  const { end, signal } = await hand.run(0);
  await clock.asleep(LEASE_MS / 3);
  const [taken] = await other.storage.jobs.claim(['work'], clock.now() + LEASE_MS, LEASE_MS, 1);
  const aborted = new Promise(resolve => signal.addEventListener('abort', resolve));
  clock.advance(LEASE_MS / 3);
  await aborted;
  end.resolve({ commit: tx => tx.users.insert(user('late')) });
  await jobs.stop();
  t.deepEqual(await storage.users.list(), []);
  t.true(taken && (await other.storage.jobs.done(taken)));
});

test('a job that loses its lease unnoticed does not store anything either', async t => {
  const { clock, storage, file, jobs, enqueue } = await setUp(t);
  const other = await openStorage(file);
  t.teardown(other.close);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  jobs.start();
  const { end } = await hand.run(0);
  const [taken] = await other.storage.jobs.claim(['work'], clock.now() + LEASE_MS, LEASE_MS, 1);
  end.resolve({ commit: tx => tx.users.insert(user('late')) });
  await jobs.stop();
  t.deepEqual(await storage.users.list(), []);
  t.true(taken && (await other.storage.jobs.done(taken)));
});

test('stopping aborts running jobs, waits for them, and leaves them free for the next start', async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  jobs.start();
  const { signal, end } = await hand.run(0);
  const stopped = jobs.stop();
  t.true(signal.aborted);
  end.reject(signal.reason);
  await stopped;
  await enqueue('never begun');
  const free = await storage.jobs.claim(['work'], clock.now(), LEASE_MS, 9);
  t.deepEqual(
    free.map(({ key, attempts }) => [key, attempts]),
    [
      ['k', 1],
      ['never begun', 1],
    ],
  );
});

test('stopping waits five seconds for a job that ignores its signal, and then drops its result', async t => {
  const { clock, storage, jobs, enqueue } = await setUp(t);
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  await enqueue('k');
  jobs.start();
  const { end } = await hand.run(0);
  const stopped = jobs.stop();
  await clock.asleep(5000);
  clock.advance(5000);
  await stopped;
  end.resolve({ commit: tx => tx.users.insert(user('late')) });
  await new Promise(setImmediate); // work started by the end has had time to run
  t.deepEqual(await storage.users.list(), []);
  t.is((await storage.jobs.claim(['work'], clock.now() + LEASE_MS, 1, 1)).length, 1, 'its lease runs out');
});

/** A runner on a database that `lock` blocks for another process until `unlock`. */
async function setUpShaky(t: ExecutionContext) {
  const { clock, storage, file, enqueue } = await setUp(t);
  const impatient = await openStorage(file, {}, 1);
  const jobs = createJobs({ storage: impatient.storage, clock, log: pino({ level: 'silent' }) });
  t.teardown(async () => {
    await jobs.stop();
    await impatient.close();
  });
  async function lock() {
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const transaction = storage.transaction('lock', async () => {
      held.resolve();
      await released.promise;
    });
    await held.promise;
    return async () => {
      released.resolve();
      await transaction;
    };
  }
  return { clock, storage, enqueue, jobs, lock };
}

test('a database that does not answer is queried again', async t => {
  const { clock, storage, jobs, enqueue, lock } = await setUpShaky(t);
  await enqueue('k');
  const unlock = await lock();
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  jobs.start();
  await clock.asleep(1000);
  clock.advance(1000);
  await clock.asleep(1000);
  t.is(hand.begun(), 0);
  await unlock();
  clock.advance(1000);
  (await hand.run(0)).end.resolve();
  await nextDue(storage, null);
});

test('a job whose lease cannot be renewed is aborted when it expires, and runs again', async t => {
  const { clock, jobs, enqueue, lock } = await setUpShaky(t);
  await enqueue('k');
  const hand = handHeld();
  jobs.handle('work', hand.handler);
  jobs.start();
  const { signal, end } = await hand.run(0);
  const aborted = new Promise(resolve => signal.addEventListener('abort', resolve));
  const unlock = await lock();
  for (const third of [1, 2, 3]) {
    await clock.asleep(LEASE_MS / 3);
    t.false(signal.aborted, `third ${third}`);
    clock.advance(LEASE_MS / 3);
  }
  await aborted;
  await unlock();
  end.resolve();
  const second = await hand.run(1);
  t.is(second.job.attempts, 2);
  second.end.resolve();
});

test('retry delays grow from seconds to a day, vary by a tenth, and end', t => {
  const seconds = [1, 2, 3, 4, 5, 6, 7].map(failures => (retryDelayMs(failures, 0.5) ?? 0) / 1000);
  t.deepEqual(seconds, [5, 30, 120, 600, 3600, 21_600, 86_400]);
  t.is(retryDelayMs(8, 0.5), null);
  t.is(MAX_ATTEMPTS, 8);
  t.is(retryDelayMs(2, 0), 27_000);
  t.is(retryDelayMs(2, 1), 33_000);
});

test('a requested delay counts if it is longer, up to a day', t => {
  t.is(retryDelayMs(1, 0.5, 60), 60_000);
  t.is(retryDelayMs(3, 0.5, 60), 120_000);
  t.is(retryDelayMs(1, 0.5, 999_999), 86_400_000);
  t.is(retryDelayMs(8, 0.5, 60), null);
});
