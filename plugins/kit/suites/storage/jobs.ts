import assert from 'node:assert/strict';
import type { JobCount } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { claimOne, job, keysOf } from './rows.ts';

export const jobChecks: StorageCheck[] = [
  {
    title: 'due jobs of the asked kinds are claimed, oldest first, up to the limit',
    async run({ storage: { jobs } }) {
      for (const [key, runAt] of Object.entries({ c: 30, a: 10, late: 101, b: 20 }))
        await jobs.enqueue(job(key, runAt));
      await jobs.enqueue({ ...job('x', 1), kind: 'other' });
      assert.deepEqual(keysOf(await jobs.claim(['finish'], 100, 50, 2)), ['a', 'b']);
      assert.deepEqual(keysOf(await jobs.claim(['finish'], 100, 50, 2)), ['c']);
      assert.deepEqual(await jobs.claim(['finish'], 100, 50, 2), []);
      assert.deepEqual(await jobs.claim([], 100, 50, 2), []);
      assert.deepEqual(keysOf(await jobs.claim(['finish', 'other'], 101, 1, 9)), ['x', 'late']);
    },
  },
  {
    title: 'jobs of users at their limit are skipped, and do not delay others',
    async run({ storage: { jobs } }) {
      for (const [key, userId, runAt] of [
        ['a', 'anna', 10],
        ['b', 'anna', 20],
        ['c', 'ben', 30],
      ] as const)
        await jobs.enqueue(job(key, runAt, { userId, about: 'anna' }));
      await jobs.enqueue(job('of nobody', 40));
      assert.equal(await jobs.nextRunAt(['finish'], ['anna']), 30);
      assert.equal(await jobs.nextRunAt(['finish'], ['anna', 'ben']), 40);
      assert.deepEqual(keysOf(await jobs.claim(['finish'], 100, 1000, 9, '', ['anna', 'ben'])), [
        'of nobody',
      ]);
      assert.deepEqual(keysOf(await jobs.claim(['finish'], 100, 1000, 9, '', ['ben'])), ['a', 'b']);
      assert.deepEqual(keysOf(await jobs.claim(['finish'], 100, 1000, 9, '', [])), ['c']);
    },
  },
  {
    title: 'the jobs of a holder that has ended are due at once, unlike those of others',
    async run({ storage: { jobs } }) {
      const [own, other] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
      for (const [key, runAt] of Object.entries({ a: 8, b: 9, c: 10 })) await jobs.enqueue(job(key, runAt));
      const [first] = await jobs.claim(['finish'], 10, 1000, 1, own);
      await jobs.claim(['finish'], 10, 1000, 1, other);
      await jobs.claim(['finish'], 10, 1000, 1);
      assert.equal(await jobs.release(own, 20), 1);
      assert.equal(await jobs.nextRunAt(['finish']), 20);
      const [again] = await jobs.claim(['finish'], 20, 1000, 9, own);
      assert.deepEqual([again?.key, again?.attempts], ['a', 2]);
      assert.ok(first && !(await jobs.done(first)), 'the old lease is no good any more');
      assert.equal(await jobs.release(own, 30), 1);
      await jobs.claim(['finish'], 30, 1000, 9, own);
      assert.equal(await jobs.release(own, 40), 0, 'it may be what ends the process');
      assert.deepEqual(keysOf(await jobs.claim(['finish'], 1030, 1000, 9, own)), ['a', 'b', 'c']);
    },
  },
  {
    title: 'a claimed job has all its fields',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10, { conversation: 'c1', deep: [1] }));
      const { id, lease, ...rest } = await claimOne(jobs, 15);
      assert.ok(id.length > 0 && lease.length > 0);
      const payload = { conversation: 'c1', deep: [1] };
      assert.deepEqual(rest, { kind: 'finish', key: 'k', payload, runAt: 10, attempts: 1 });
    },
  },
  {
    title: 'an unfinished job of the same kind and key gets the earlier time and the newer payload',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 50, { n: 1 }));
      await jobs.enqueue(job('k', 90, { n: 2 }));
      assert.equal(await jobs.nextRunAt(['finish']), 50);
      await jobs.enqueue(job('k', 20, { n: 3 }));
      await jobs.enqueue({ ...job('k', 20), kind: 'other' });
      const claimed = await claimOne(jobs, 20);
      assert.deepEqual([claimed.runAt, claimed.payload], [20, { n: 3 }]);
    },
  },
  {
    title: 'a job enqueued while it runs is run once more, with the new payload',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10, { n: 1 }));
      const first = await claimOne(jobs, 10);
      await jobs.enqueue(job('k', 40, { n: 2 }));
      await jobs.enqueue(job('k', 30, { n: 3 }));
      assert.deepEqual(await jobs.claim(['finish'], 50, 1000, 9), [], 'not while it runs');
      assert.equal(await jobs.done(first), true);
      assert.equal(await jobs.nextRunAt(['finish']), 30);
      const second = await claimOne(jobs, 30);
      assert.deepEqual([second.payload, second.attempts], [{ n: 3 }, 1]);
      assert.equal(await jobs.done(second), true);
      assert.equal(await jobs.nextRunAt(['finish']), null);
    },
  },
  {
    title: 'a job enqueued while it runs is also repeated when that run fails or is given up',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10));
      const failing = await claimOne(jobs, 10);
      await jobs.enqueue(job('k', 20));
      assert.equal(await jobs.retryAt(failing, 500, 'later'), true);
      assert.equal(await jobs.nextRunAt(['finish']), 20);
      const hopeless = await claimOne(jobs, 20);
      await jobs.enqueue(job('k', 30, { n: 2 }));
      assert.equal(await jobs.dead(hopeless, 'never'), true);
      const fresh = await claimOne(jobs, 30);
      assert.deepEqual([fresh.payload, fresh.attempts], [{ n: 2 }, 1]);
    },
  },
  {
    title: 'two claimers never get the same job',
    async run({ storage, another }) {
      const other = await another();
      const keys = Array.from({ length: 24 }, (_, index) => `k${index}`);
      await storage.transaction('many', async tx => {
        for (const key of keys) await tx.jobs.enqueue(job(key, 1));
      });
      const claims = Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? storage : other).jobs.claim(['finish'], 5, 1000, 3),
      );
      const claimed = (await Promise.all(claims)).flat();
      claimed.push(...(await other.jobs.claim(['finish'], 5, 1000, 99)));
      assert.deepEqual(keysOf(claimed).sort(), keys.sort());
    },
  },
  {
    title:
      'the job of a claimer that died comes back when its lease has run out, and the dead hand has no say',
    async run({ storage, another }) {
      const { jobs } = storage;
      await jobs.enqueue(job('k', 10));
      const dead = await claimOne((await another()).jobs, 10, 100);
      assert.equal(await jobs.nextRunAt(['finish']), 110);
      await jobs.enqueue(job('k', 20));
      assert.deepEqual(await jobs.claim(['finish'], 109, 100, 1), []);
      const alive = await claimOne(jobs, 110, 100);
      assert.equal(alive.attempts, 2);
      assert.notEqual(alive.lease, dead.lease);
      assert.equal(await jobs.extend(dead, 500), false);
      assert.equal(await jobs.retryAt(dead, 500, null), false);
      assert.equal(await jobs.dead(dead, 'no'), false);
      assert.equal(await jobs.done(dead), false);
      assert.equal(await jobs.done(alive), true);
      assert.equal(await jobs.nextRunAt(['finish']), null, 'what was asked for meanwhile is done with it');
    },
  },
  {
    title: 'a lease can be extended by its holder',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10));
      const claimed = await claimOne(jobs, 10, 100);
      assert.equal(await jobs.extend(claimed, 300), true);
      assert.deepEqual(await jobs.claim(['finish'], 299, 100, 1), []);
      await claimOne(jobs, 300);
      assert.equal(await jobs.extend(claimed, 900), false);
    },
  },
  {
    title: 'a finished job is removed, and its key is free',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10));
      const claimed = await claimOne(jobs, 10);
      assert.equal(await jobs.done(claimed), true);
      assert.equal(await jobs.done(claimed), false);
      assert.deepEqual(await jobs.claim(['finish'], 99_999, 1, 1), []);
      await jobs.enqueue(job('k', 20));
      assert.equal((await claimOne(jobs, 20)).attempts, 1);
    },
  },
  {
    title: 'a failure counts as an attempt, a requested repetition does not',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10));
      assert.equal(await jobs.retryAt(await claimOne(jobs, 10), 20, 'first failure'), true);
      const second = await claimOne(jobs, 20);
      assert.deepEqual([second.attempts, second.runAt], [2, 20]);
      assert.equal(await jobs.retryAt(second, 30, null), true);
      assert.deepEqual(await jobs.claim(['finish'], 29, 1, 1), []);
      assert.equal((await claimOne(jobs, 30)).attempts, 1);
    },
  },
  {
    title: 'a dead job is never claimed again, and frees its key',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10));
      assert.equal(await jobs.dead(await claimOne(jobs, 10), 'hopeless'), true);
      assert.equal(await jobs.nextRunAt(['finish']), null);
      await jobs.enqueue(job('k', 20));
      assert.equal((await claimOne(jobs, 99_999)).runAt, 20);
    },
  },
  {
    title: 'a withdrawn job does not run, or, if it is running, does not run again',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 10));
      await jobs.enqueue({ ...job('k', 10), kind: 'other' });
      await jobs.enqueue(job('l', 10));
      assert.equal(await jobs.cancel('finish', 'l'), true);
      assert.equal(await jobs.cancel('finish', 'l'), false);
      const running = await claimOne(jobs, 10);
      assert.equal(running.key, 'k');
      await jobs.enqueue(job('k', 20));
      assert.equal(await jobs.cancel('finish', 'k'), false);
      assert.equal(await jobs.done(running), true);
      assert.equal(await jobs.nextRunAt(['finish']), null);
      assert.equal(await jobs.nextRunAt(['other']), 10);
      await jobs.enqueue(job('k', 30));
      await jobs.dead(await claimOne(jobs, 30), 'hopeless');
      assert.equal(await jobs.cancel('finish', 'k'), false);
      assert.deepEqual(tell(await jobs.counts(10)), ['finish dead 1', 'other due 1']);
    },
  },
  {
    title: 'the next time counts the asked kinds alone',
    async run({ storage: { jobs } }) {
      await jobs.enqueue(job('k', 50));
      await jobs.enqueue({ ...job('k', 5), kind: 'other' });
      assert.equal(await jobs.nextRunAt(['finish']), 50);
      assert.equal(await jobs.nextRunAt(['finish', 'other']), 5);
      assert.equal(await jobs.nextRunAt(['none']), null);
    },
  },
  {
    title: 'jobs are counted by kind and state',
    async run({ storage: { jobs } }) {
      assert.deepEqual(await jobs.counts(10), []);
      await jobs.enqueue(job('dead', 1));
      await jobs.dead(await claimOne(jobs, 1), 'hopeless');
      await jobs.enqueue(job('failed', 2));
      await jobs.retryAt(await claimOne(jobs, 2), 500, 'for now');
      await jobs.enqueue(job('running', 3));
      await claimOne(jobs, 3, 100);
      for (const key of ['due', 'due too']) await jobs.enqueue(job(key, 10));
      await jobs.enqueue({ ...job('waiting', 11), kind: 'other' });
      assert.deepEqual(tell(await jobs.counts(10)), [
        'finish dead 1',
        'finish due 2',
        'finish failed 1',
        'finish running 1',
        'other waiting 1',
      ]);
      assert.deepEqual(tell(await jobs.counts(103)), [
        'finish dead 1',
        'finish due 3',
        'finish failed 1',
        'other due 1',
      ]);
    },
  },
];

const tell = (counts: JobCount[]) =>
  counts.map(({ kind, state, count }) => `${kind} ${state} ${count}`).sort();
