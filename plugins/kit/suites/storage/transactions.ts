import assert from 'node:assert/strict';
import type { Stores } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, job, user } from './rows.ts';

export const transactionChecks: StorageCheck[] = [
  {
    title: 'a transaction returns its result, and others see all of it afterwards',
    async run({ storage, another }) {
      const other = await another();
      const result = await storage.transaction('both', async tx => {
        await tx.users.insert(user('anna'));
        await tx.conversations.insert(conversation('c1', 'anna'));
        assert.equal((await tx.users.get('anna'))?.id, 'anna', 'it sees its own writes');
        return 'done';
      });
      assert.equal(result, 'done');
      assert.equal((await storage.conversations.get('anna', 'c1'))?.id, 'c1');
      assert.equal((await other.conversations.get('anna', 'c1'))?.id, 'c1');
    },
  },
  {
    title: 'a transaction whose work throws changes nothing, and passes the error on unchanged',
    async run({ storage }) {
      const mishap = new RangeError('of my own');
      const work = storage.transaction('broken', async tx => {
        await tx.users.insert(user('anna'));
        await tx.jobs.enqueue(job('k', 1));
        throw mishap;
      });
      await assert.rejects(work, error => error === mishap);
      assert.deepEqual(await storage.users.list(), []);
      assert.equal(await storage.jobs.nextRunAt(['finish']), null);
      await storage.transaction('next', tx => tx.users.insert(user('ben')));
      assert.deepEqual(idsOf(await storage.users.list()), ['ben']);
    },
  },
  {
    title: 'enqueued jobs are announced after the commit, and not after a rollback',
    async run({ storage }) {
      const told: [string, number][][] = [];
      const unsubscribe = storage.onEnqueued(jobs => told.push([...jobs]));
      await storage.jobs.enqueue(job('alone', 7));
      assert.deepEqual(told.splice(0), [[['finish', 7]]]);
      await storage.transaction('three', async tx => {
        await tx.jobs.enqueue(job('late', 30));
        await tx.jobs.enqueue(job('soon', 10));
        await tx.jobs.enqueue({ ...job('x', 20), kind: 'other' });
        assert.deepEqual(told, [], 'it was told before the commit');
      });
      const [kinds, ...more] = told.splice(0);
      assert.deepEqual(new Map(kinds), new Map(Object.entries({ finish: 10, other: 20 })));
      assert.deepEqual(more, []);
      const mishap = new RangeError('of my own');
      const failing = storage.transaction('broken', async tx => {
        await tx.jobs.enqueue(job('never', 1));
        throw mishap;
      });
      await assert.rejects(failing, error => error === mishap);
      unsubscribe();
      await storage.jobs.enqueue(job('unheard', 1));
      assert.deepEqual(told, []);
    },
  },
  {
    title: 'a transaction in which a store failed changes nothing, even if its work caught the error',
    async run({ storage }) {
      await storage.users.insert(user('anna'));
      const work = storage.transaction('stubborn', async tx => {
        await tx.users.insert(user('ben'));
        await assert.rejects(tx.users.insert(user('anna')), { code: 'conflict' });
        await assert.rejects(tx.users.list(), /stubborn/);
      });
      await assert.rejects(work, { code: 'conflict' });
      assert.deepEqual(idsOf(await storage.users.list()), ['anna']);
    },
  },
  {
    title: 'a store outside tx, or a nested transaction, is refused at once and by name',
    async run({ storage }) {
      const outside: (() => Promise<unknown>)[] = [
        () => storage.users.list(),
        () => storage.users.insert(user('ben')),
        () => storage.jobs.claim(['finish'], 0, 1, 1),
        () => storage.pluginState.compareAndSet('p', 'k', 0, 1),
        () => storage.transaction('inner', async () => {}),
      ];
      await storage.transaction('outer', async tx => {
        for (const use of outside) await assert.rejects(use(), /outer/);
        await tx.users.insert(user('anna'));
      });
      assert.deepEqual(idsOf(await storage.users.list()), ['anna']);
    },
  },
  {
    title: 'tx is refused after the end of its transaction',
    async run({ storage }) {
      let kept: Stores | undefined;
      await storage.transaction('over', async tx => {
        kept = tx;
      });
      if (!kept) throw new Error('the work was not run');
      await assert.rejects(kept.users.insert(user('anna')), /over/);
      assert.deepEqual(await storage.users.list(), []);
    },
  },
  {
    title: 'work started by a transaction may use the stores after its end',
    async run({ storage }) {
      const gate = Promise.withResolvers<void>();
      let later: Promise<unknown> | undefined;
      await storage.transaction('starter', async tx => {
        await tx.users.insert(user('anna'));
        later = gate.promise.then(() => storage.users.list());
      });
      gate.resolve();
      assert.equal(((await later) as unknown[]).length, 1);
    },
  },
  {
    title: 'a read does not wait for an open transaction and sees the state before it',
    async run({ storage }) {
      await storage.users.insert(user('anna'));
      const written = Promise.withResolvers<void>();
      const proceed = Promise.withResolvers<void>();
      const open = storage.transaction('open', async tx => {
        await tx.users.insert(user('ben'));
        written.resolve();
        await proceed.promise;
      });
      await written.promise;
      assert.deepEqual(idsOf(await storage.users.list()), ['anna']);
      proceed.resolve();
      await open;
      assert.equal((await storage.users.list()).length, 2);
    },
  },
  {
    title: 'an up-to-date schema is not changed',
    async run({ storage }) {
      const { from, to, backup } = await storage.migrate();
      assert.equal(from, to);
      assert.equal(backup, null);
    },
  },
];
