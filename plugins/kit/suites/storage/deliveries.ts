import assert from 'node:assert/strict';
import type { Storage } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { attempt, delivery } from './outbound-rows.ts';
import { idsOf, user } from './rows.ts';

const NONE_LEFT = { state: 'delivered', nextAt: null } as const;

export const deliveryChecks: StorageCheck[] = [
  {
    title: 'a delivery is returned as stored, to its user alone, also among many',
    async run({ storage: { users, deliveries } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const full = delivery('d1', 'anna', {
        targetKind: 'channel',
        appId: 'a1',
        body: `{"text":"${'“ü” 📚'.repeat(9999)}"}`,
        attempts: 3,
        replayOf: 'd0',
      });
      const live = delivery('d2', 'anna', { state: 'dropped', body: null, nextAt: null, endedAt: 7 });
      await deliveries.insert([full, live]);
      await deliveries.insert([]);
      assert.deepEqual(await deliveries.get('anna', 'd1'), full);
      assert.deepEqual(await deliveries.get('anna', 'd2'), live);
      assert.equal(await deliveries.get('ben', 'd1'), null);
      await assert.rejects(deliveries.insert([delivery('d3', 'anna'), full]), { code: 'conflict' });
      assert.equal(await deliveries.get('anna', 'd3'), null);
      await assert.rejects(deliveries.insert([delivery('d3', 'nobody')]), { code: 'not_found' });
      const many = Array.from({ length: 1200 }, (_, n) => delivery(`m${n}`, 'ben'));
      await deliveries.insert(many);
      assert.equal((await deliveries.list('ben', { limit: 2000 })).length, 1200);
    },
  },
  {
    title:
      'the log is newest first, by target, by state, and from any delivery on, for a user and for an app',
    async run({ storage: { users, deliveries } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const over = { nextAt: null, endedAt: 5 } as const;
      await deliveries.insert([
        delivery('d1', 'anna', { appId: 'a1', state: 'failed', ...over }),
        delivery('d2', 'anna', { appId: 'a1', targetId: 'h2' }),
        delivery('d3', 'anna', { state: 'failed', targetId: 'h3', ...over }),
        delivery('d4', 'ben', { appId: 'a1', state: 'failed', ...over }),
        delivery('d5', 'anna', { appId: 'a1' }),
        delivery('d6', 'anna', { appId: 'a2', state: 'delivered', targetId: 'h4', ...over }),
      ]);
      const { body, ...logged } = delivery('d5', 'anna', { appId: 'a1' });
      assert.deepEqual((await deliveries.list('anna', { limit: 9 }))[1], logged, 'without its body');
      const log = async (filter: object, limit = 9) =>
        idsOf(await deliveries.list('anna', { ...filter, limit })).join(' ');
      assert.equal(await log({}), 'd6 d5 d3 d2 d1');
      assert.equal(await log({}, 2), 'd6 d5');
      assert.equal(await log({ beforeId: 'd3' }), 'd2 d1');
      assert.equal(await log({ beforeId: 'd4' }, 1), 'd3');
      assert.equal(await log({ targetId: 'h1' }), 'd5 d1');
      assert.equal(await log({ state: 'failed' }), 'd3 d1');
      assert.equal(await log({ state: 'failed', beforeId: 'd3' }), 'd1');
      assert.equal(await log({ state: 'pending', targetId: 'h1' }), 'd5');
      assert.equal(await log({ state: 'pending', targetId: 'h1', beforeId: 'd5' }), '');
      const ofApp = async (filter: object, appId = 'a1') =>
        idsOf(await deliveries.listOfApp(appId, { ...filter, limit: 9 })).join(' ');
      assert.equal(await ofApp({}), 'd5 d4 d2 d1');
      assert.equal(await ofApp({ state: 'failed', beforeId: 'd4' }), 'd1');
      assert.equal(await ofApp({ targetId: 'h1', beforeId: 'd5' }), 'd4 d1');
      assert.equal(await ofApp({ targetId: 'h1', state: 'pending' }), 'd5');
      assert.equal(await ofApp({ targetId: 'h1' }, 'a2'), '');
    },
  },
  {
    title: 'pending deliveries of one target are due when their time has come, in the order of their times',
    async run({ storage: { users, deliveries } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await deliveries.insert([
        delivery('d1', 'anna', { nextAt: 30 }),
        delivery('d2', 'anna', { nextAt: 20 }),
        delivery('d3', 'ben', { nextAt: 20 }),
        delivery('d4', 'anna', { nextAt: 31 }),
        delivery('d5', 'anna', { nextAt: 1, targetId: 'h2' }),
        delivery('d6', 'anna', { nextAt: null, state: 'failed', endedAt: 1 }),
      ]);
      const due = async (now: number, limit = 9) => idsOf(await deliveries.due('h1', now, limit)).join(' ');
      assert.equal(await due(30), 'd2 d3 d1');
      assert.equal(await due(30, 2), 'd2 d3');
      assert.equal(await due(19), '');
      assert.deepEqual(await deliveries.due('h2', 9, 9), [
        delivery('d5', 'anna', { nextAt: 1, targetId: 'h2' }),
      ]);
      assert.equal(await deliveries.nextAt('h1'), 20);
      assert.equal(await deliveries.nextAt('none'), null);
      await deliveries.giveUp('h1', 77);
      assert.equal(await deliveries.nextAt('h1'), null);
      assert.equal(await deliveries.nextAt('h2'), 1);
      const given = await deliveries.get('ben', 'd3');
      assert.deepEqual(given, delivery('d3', 'ben', { state: 'failed', nextAt: null, endedAt: 77 }));
      assert.equal((await deliveries.get('anna', 'd6'))?.endedAt, 1);
    },
  },
  {
    title: 'deliveries about deleted data are emptied, and no longer sent',
    async run({ storage }) {
      const { users, deliveries } = storage;
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const over = { state: 'delivered', nextAt: null, endedAt: 5 } as const;
      const gone = [
        delivery('d1', 'anna', { subject: 'c1' }),
        delivery('d2', 'anna', { subject: 'c1', ...over }),
      ];
      const others = [delivery('d3', 'anna', { subject: 'c2' }), delivery('d4', 'ben', { subject: 'c1' })];
      await deliveries.insert([...gone, ...others]);
      await deliveries.forget('anna', 'c1', 9);
      assert.deepEqual(await Promise.all(gone.map(each => deliveries.get('anna', each.id))), [
        { ...gone[0], state: 'failed', nextAt: null, endedAt: 9, body: null },
        { ...gone[1], body: null },
      ]);
      for (const each of others) assert.deepEqual(await deliveries.get(each.userId, each.id), each);
    },
  },
  {
    title: 'attempts are stored with the outcomes of their deliveries, many at once',
    async run({ storage }) {
      const { users, deliveries } = storage;
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const rows = [delivery('d1', 'anna'), delivery('d2', 'ben'), delivery('d3', 'anna')] as const;
      await deliveries.insert(rows);
      const [one, two, three] = rows;
      const failed = attempt(one, 1, { status: null, error: 'it took too long', answer: null });
      const good = attempt(two, 1, { status: 204, answer: '' });
      const gone = attempt({ id: 'none', userId: 'anna' }, 1);
      await deliveries.record([
        { attempt: failed, state: 'pending', nextAt: 50 },
        { attempt: good, ...NONE_LEFT },
        { attempt: gone, ...NONE_LEFT },
      ]);
      await deliveries.record([]);
      assert.deepEqual(await deliveries.get('anna', 'd1'), { ...one, attempts: 1, nextAt: 50 });
      const ended = { attempts: 1, endedAt: good.at + good.tookMs };
      assert.deepEqual(await deliveries.get('ben', 'd2'), { ...two, ...NONE_LEFT, ...ended });
      assert.deepEqual(await deliveries.get('anna', 'd3'), three);
      const second = attempt(one, 2, { status: 400, error: 'Bad Request', answer: 'ü'.repeat(1024) });
      await deliveries.record([{ attempt: second, state: 'failed', nextAt: null }]);
      assert.deepEqual(await deliveries.attempts('anna', 'd1'), [failed, second]);
      assert.deepEqual(await deliveries.attempts('ben', 'd2'), [good]);
      assert.deepEqual(await deliveries.attempts('ben', 'd1'), []);
      const late = attempt(one, 3);
      await deliveries.record([{ attempt: late, ...NONE_LEFT }]);
      const stays = {
        attempts: 2,
        state: 'failed',
        nextAt: null,
        endedAt: second.at + second.tookMs,
      } as const;
      assert.deepEqual(await deliveries.get('anna', 'd1'), { ...one, ...stays }, 'over already');
      assert.deepEqual((await deliveries.attempts('anna', 'd1')).at(-1), late);
      await manyOutcomes(storage);
    },
  },
  {
    title: 'finished deliveries are pruned with their attempts, in batches; pending ones stay',
    async run({ storage: { users, deliveries } }) {
      await users.insert(user('anna'));
      const over = { state: 'delivered', nextAt: null, endedAt: 9 } as const;
      const old = delivery('d1', 'anna', { createdAt: 10 });
      await deliveries.insert([
        old,
        delivery('d2', 'anna', { createdAt: 11, ...over }),
        delivery('d3', 'anna', { createdAt: 12, ...over }),
        delivery('d4', 'anna', { createdAt: 13 }),
        delivery('d5', 'anna', { createdAt: 14, ...over }),
      ]);
      await deliveries.record([{ attempt: attempt(old, 1), ...NONE_LEFT }]);
      assert.equal(await deliveries.prune(14, 2), 2);
      assert.equal(await deliveries.prune(14, 2), 1);
      assert.equal(await deliveries.prune(14, 2), 0);
      assert.deepEqual(idsOf(await deliveries.list('anna', { limit: 9 })), ['d5', 'd4']);
      assert.deepEqual(await deliveries.attempts('anna', 'd1'), []);
    },
  },
];

async function manyOutcomes({ deliveries }: Storage): Promise<void> {
  const many = Array.from({ length: 600 }, (_, n) => delivery(`m${n}`, 'anna', { targetId: 'many' }));
  await deliveries.insert(many);
  await deliveries.record(many.map(row => ({ attempt: attempt(row, 1), ...NONE_LEFT })));
  assert.equal(await deliveries.nextAt('many'), null);
  assert.equal((await deliveries.attempts('anna', 'm599')).length, 1);
}
