import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { clip, conversation, idsOf, user } from './rows.ts';

export const clipChecks: StorageCheck[] = [
  {
    title:
      'clips come back as they were stored, in the order in which they were spoken, to their owner alone',
    async run({ storage: { users, conversations, clips } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      const first = clip('b', talk, { startedAt: 5, durationMs: 60_000, bytes: 180_000 });
      const others = [clip('a', talk, { startedAt: 9 }), clip('c', talk, { startedAt: 5 })];
      for (const row of [...others, first]) await clips.insert(row);
      assert.deepEqual(await clips.get('anna', 'b'), first);
      assert.deepEqual(idsOf(await clips.list('anna', 'c1', { since: 0, limit: 10 })), ['b', 'c', 'a']);
      assert.deepEqual(idsOf(await clips.list('anna', 'c1', { since: 0, limit: 2 })), ['b', 'c']);
      assert.deepEqual(idsOf(await clips.list('anna', 'c1', { since: 6, limit: 2 })), ['a']);
      assert.deepEqual(idsOf(await clips.some('anna', ['a', 'x', 'c'])).sort(), ['a', 'c']);
      assert.equal(
        await clips.bytes('anna'),
        first.bytes + others.reduce((sum, { bytes }) => sum + bytes, 0),
      );
      assert.equal(await clips.bytes('ben'), 0);
      assert.deepEqual(idsOf(await clips.expired('anna', 9, 10)), ['b', 'c']);
      assert.deepEqual(idsOf(await clips.expired('anna', 10, 1)), ['b']);
      await assert.rejects(clips.insert(first), { code: 'conflict' });
      await assert.rejects(clips.insert({ ...first, id: 'd', userId: 'ben' }), { code: 'not_found' });
      assert.equal(await clips.get('ben', 'b'), null);
      assert.deepEqual(await clips.list('ben', 'c1', { since: 0, limit: 10 }), []);
      assert.deepEqual(await clips.some('ben', ['a']), []);
      assert.deepEqual(await clips.expired('ben', 10, 10), []);
      await clips.remove('ben', ['a', 'b']);
      await clips.remove('anna', ['a', 'c']);
      assert.deepEqual(idsOf(await clips.list('anna', 'c1', { since: 0, limit: 10 })), ['b']);
    },
  },
  {
    title: 'clips move to another conversation, all or from an instant on, and go with theirs',
    async run({ storage: { users, conversations, clips } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const [one, two] = [conversation('c1', 'anna'), conversation('c2', 'anna')];
      for (const talk of [one, two]) await conversations.insert(talk);
      for (const at of [1, 2, 3]) await clips.insert(clip(`p${at}`, one, { startedAt: at }));
      await clips.moveAll('ben', 'c1', 'c2');
      await clips.moveAll('anna', 'c1', 'c2', 2);
      assert.deepEqual(idsOf(await clips.list('anna', 'c1', { since: 0, limit: 10 })), ['p1']);
      await clips.moveAll('anna', 'c1', 'c2');
      assert.equal((await clips.list('anna', 'c2', { since: 0, limit: 10 })).length, 3);
      await conversations.remove('anna', 'c2');
      assert.equal(await clips.get('anna', 'p1'), null);
    },
  },
];
