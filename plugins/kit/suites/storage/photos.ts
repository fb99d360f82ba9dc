import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, photo, user } from './rows.ts';

export const photoChecks: StorageCheck[] = [
  {
    title:
      'photos come back as they were stored, in the order in which they were taken, to their owner alone',
    async run({ storage: { users, conversations, photos } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      const full = photo('b', talk, { takenAt: 5, description: 'It’s “odd”; --\n🫖', bytes: 8_000_000_000 });
      const others = [photo('c', talk, { takenAt: 5 }), photo('a', talk, { takenAt: 9, discarded: true })];
      for (const row of [...others, full]) await photos.insert(row);
      assert.deepEqual(await photos.get('anna', 'b'), full);
      assert.deepEqual(idsOf(await photos.list('anna', 'c1', 10)), ['b', 'c', 'a']);
      assert.deepEqual(idsOf(await photos.list('anna', 'c1', 2)), ['b', 'c']);
      assert.deepEqual(idsOf(await photos.some('anna', ['a', 'x', 'c'])).sort(), ['a', 'c']);
      assert.equal(await photos.count('anna', 'c1'), 3);
      assert.equal(await photos.bytes('anna'), 8_000_000_000 + 2 * 1000);
      await assert.rejects(photos.insert(full), { code: 'conflict' });
      await assert.rejects(photos.insert({ ...full, id: 'd', userId: 'ben' }), { code: 'not_found' });
      const seen = { description: 'A cup', discarded: false };
      assert.equal(await photos.update('ben', 'a', seen), false);
      assert.equal(await photos.update('anna', 'a', seen), true);
      assert.deepEqual(await photos.get('anna', 'a'), { ...others[1], ...seen });
      assert.equal(await photos.get('ben', 'b'), null);
      assert.deepEqual(await photos.list('ben', 'c1', 10), []);
      assert.deepEqual(await photos.some('ben', ['a']), []);
      assert.equal(await photos.count('ben', 'c1'), 0);
      assert.equal(await photos.bytes('ben'), 0);
      assert.equal(await photos.remove('ben', 'b'), false);
      assert.equal(await photos.remove('anna', 'b'), true);
      assert.equal(await photos.remove('anna', 'b'), false);
    },
  },
  {
    title: 'photos move to another conversation, all or from an instant on, and are removed with it',
    async run({ storage: { users, conversations, photos } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const [one, two] = [conversation('c1', 'anna'), conversation('c2', 'anna')];
      for (const talk of [one, two]) await conversations.insert(talk);
      for (const at of [1, 2, 3]) await photos.insert(photo(`p${at}`, one, { takenAt: at }));
      await photos.moveAll('ben', 'c1', 'c2');
      await photos.moveAll('anna', 'c1', 'c2', 2);
      assert.deepEqual(idsOf(await photos.list('anna', 'c1', 10)), ['p1']);
      assert.deepEqual(idsOf(await photos.list('anna', 'c2', 10)), ['p2', 'p3']);
      await photos.moveAll('anna', 'c1', 'c2');
      assert.equal(await photos.count('anna', 'c2'), 3);
      await conversations.remove('anna', 'c2');
      assert.equal(await photos.get('anna', 'p1'), null);
      assert.equal(await photos.bytes('anna'), 0);
    },
  },
];
