import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, mark, user } from './rows.ts';

export const markChecks: StorageCheck[] = [
  {
    title: 'marks are returned as stored, in the order of their moments, to their owner alone',
    async run({ storage: { users, conversations, marks } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      const late = mark('a', talk, { at: 8_000_000_000_000, createdAt: 7 });
      for (const row of [late, mark('c', talk, { at: 5 }), mark('b', talk, { at: 5 })])
        await marks.insert(row);
      assert.deepEqual(await marks.get('anna', 'a'), late);
      assert.deepEqual(idsOf(await marks.list('anna', 'c1', 10)), ['b', 'c', 'a']);
      assert.deepEqual(idsOf(await marks.list('anna', 'c1', 2)), ['b', 'c']);
      assert.equal(await marks.count('anna', 'c1'), 3);
      await assert.rejects(marks.insert(late), { code: 'conflict' });
      await assert.rejects(marks.insert({ ...late, id: 'd', userId: 'ben' }), { code: 'not_found' });
      assert.equal(await marks.get('ben', 'a'), null);
      assert.deepEqual(await marks.list('ben', 'c1', 10), []);
      assert.equal(await marks.count('ben', 'c1'), 0);
      assert.equal(await marks.remove('ben', 'a'), false);
      assert.equal(await marks.remove('anna', 'a'), true);
      assert.equal(await marks.remove('anna', 'a'), false);
    },
  },
  {
    title: 'marks move to another conversation, all or from an instant on, and are removed with it',
    async run({ storage: { users, conversations, marks } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const [one, two] = [conversation('c1', 'anna'), conversation('c2', 'anna')];
      for (const talk of [one, two]) await conversations.insert(talk);
      for (const at of [1, 2, 3]) await marks.insert(mark(`m${at}`, one, { at }));
      await marks.moveAll('ben', 'c1', 'c2');
      await marks.moveAll('anna', 'c1', 'c2', 2);
      assert.deepEqual(idsOf(await marks.list('anna', 'c1', 10)), ['m1']);
      assert.deepEqual(idsOf(await marks.list('anna', 'c2', 10)), ['m2', 'm3']);
      await marks.moveAll('anna', 'c1', 'c2');
      assert.equal(await marks.count('anna', 'c2'), 3);
      await conversations.remove('anna', 'c2');
      assert.equal(await marks.get('anna', 'm1'), null);
    },
  },
];
