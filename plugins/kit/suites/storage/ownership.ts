import assert from 'node:assert/strict';
import type { Storage } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { actionItem, apiKey, conversation, folder, goal, person, segment, stream, user } from './rows.ts';

/** Gives Anna one of everything, and Ben nothing. */
async function annaAndBen(storage: Storage) {
  const { users, conversations, segments, streams, keys, people, folders, actionItems, goals } = storage;
  for (const id of ['anna', 'ben']) await users.insert(user(id));
  const talk = conversation('c1', 'anna');
  await conversations.insert(talk);
  await segments.upsert([segment('s1', talk)]);
  await streams.insert(stream('t1', talk, { clientStream: 'walk' }));
  await keys.insert(apiKey('k1', 'anna'));
  await people.insert(person('p1', 'anna'));
  await folders.insertMissing([folder('f1', 'anna')]);
  await actionItems.insert([actionItem('a1', 'anna', { conversationId: 'c1' })]);
  await goals.insert(goal('g1', 'anna'));
  await goals.record(progress('anna'));
  return talk;
}

const progress = (userId: string) => ({ userId, goalId: 'g1', day: 9, value: 1, recordedAt: 1 });

/** Checks that another user's rows behave like missing ones. */
export const ownershipChecks: StorageCheck[] = [
  {
    title: "another user's rows are not found",
    async run({ storage }) {
      const { conversations, segments, streams, keys, people, folders, actionItems, goals } = storage;
      await annaAndBen(storage);
      assert.equal(await conversations.get('ben', 'c1'), null);
      assert.deepEqual(await conversations.list('ben', { limit: 10, offset: 0 }), []);
      assert.equal(await conversations.findOpen('ben', 'omi', null), null);
      assert.deepEqual(await segments.list('ben', ['c1']), []);
      assert.equal(await segments.last('ben', 'c1'), null);
      assert.equal(await segments.count('ben', 'c1'), 0);
      assert.equal(await streams.get('ben', 't1'), null);
      assert.equal(await streams.byClientStream('ben', 'walk', 0), null);
      assert.deepEqual(await keys.list('ben'), []);
      assert.equal(await keys.get('ben', 'k1'), null);
      assert.deepEqual(await people.list('ben'), []);
      assert.equal(await folders.get('ben', 'f1'), null);
      assert.deepEqual(await folders.list('ben'), []);
      assert.equal(await actionItems.get('ben', 'a1'), null);
      assert.equal(await goals.get('ben', 'g1'), null);
      assert.deepEqual(await goals.list('ben', { active: false, limit: 10 }), []);
      assert.deepEqual(await goals.progress('ben', 'g1', 0), []);
      assert.deepEqual(await actionItems.list('ben', { limit: 10, offset: 0 }), []);
    },
  },
  {
    title: "another user's rows are not changed or removed",
    async run({ storage }) {
      const { conversations, segments, streams, keys, actionItems, goals } = storage;
      const talk = await annaAndBen(storage);
      const further = { through: 5, received: 5, receivedSample: 5 };
      assert.equal(await conversations.update('ben', 'c1', { starred: true }), false);
      assert.equal(await conversations.update('ben', 'c1', { starred: true }, 'in_progress'), false);
      assert.equal(await conversations.remove('ben', 'c1'), false);
      assert.equal(await streams.advance('ben', 't1', further), false);
      await streams.update('ben', 't1', { anchorAt: 1 });
      assert.equal(await keys.replace('ben', 'k1', { hash: 'bens', hint: '' }), false);
      await keys.used([{ userId: 'ben', id: 'k1', at: 1 }]);
      assert.equal(await keys.remove('ben', 'k1'), false);
      assert.equal(await actionItems.update('ben', 'a1', { completed: true }), false);
      assert.equal(await actionItems.remove('ben', 'a1'), false);
      await actionItems.moveAll('ben', 'c1', null);
      assert.equal(await goals.update('ben', 'g1', { paused: true }), false);
      assert.equal(await goals.remove('ben', 'g1'), false);
      await goals.forgetProgress('ben', 'g1', 99);
      await assert.rejects(goals.record(progress('ben')), { code: 'not_found' });
      assert.deepEqual(await conversations.get('anna', 'c1'), talk);
      assert.deepEqual(await segments.list('anna', ['c1']), [segment('s1', talk)]);
      assert.deepEqual(await streams.get('anna', 't1'), stream('t1', talk, { clientStream: 'walk' }));
      assert.deepEqual(await keys.list('anna'), [apiKey('k1', 'anna')]);
      const task = actionItem('a1', 'anna', { conversationId: 'c1' });
      assert.deepEqual(await actionItems.get('anna', 'a1'), task);
      assert.deepEqual(await goals.get('anna', 'g1'), goal('g1', 'anna'));
      assert.deepEqual(await goals.progress('anna', 'g1', 0), [progress('anna')]);
    },
  },
  {
    title: "a row with the id of another user's row does not touch it",
    async run({ storage }) {
      const { conversations, segments, streams, actionItems } = storage;
      const annas = await annaAndBen(storage);
      const bens = conversation('c1', 'ben', { language: 'de' });
      await conversations.insert(bens);
      await segments.upsert([segment('s1', bens, { text: 'mine' })]);
      await streams.insert(stream('t1', bens, { clientStream: 'walk' }));
      assert.deepEqual(await conversations.get('anna', 'c1'), annas);
      assert.deepEqual(await conversations.get('ben', 'c1'), bens);
      assert.deepEqual(await segments.list('anna', ['c1']), [segment('s1', annas)]);
      await actionItems.insert([actionItem('a1', 'ben', { description: 'mine' })]);
      assert.equal(await conversations.remove('ben', 'c1'), true);
      assert.equal((await actionItems.get('anna', 'a1'))?.description, 'description of a1');
      assert.equal(await segments.count('anna', 'c1'), 1);
    },
  },
  {
    title: "a segment cannot be put into another user's conversation",
    async run({ storage }) {
      const talk = await annaAndBen(storage);
      const intruder = segment('s2', talk, { userId: 'ben' });
      await assert.rejects(storage.segments.upsert([intruder]), { code: 'not_found' });
      assert.equal(await storage.segments.count('anna', 'c1'), 1);
    },
  },
];
