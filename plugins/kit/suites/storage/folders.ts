import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { conversation, folder, idsOf, person, segment, stream, user } from './rows.ts';

/** Checks of claims (ids that can be taken once) and of folders. */
export const folderChecks: StorageCheck[] = [
  {
    title: 'a claimed id is taken once, by one of several claimants, and for its user alone',
    async run({ storage, another }) {
      const other = await another();
      for (const id of ['anna', 'ben']) await storage.users.insert(user(id));
      const race = [storage, other, storage, other].map(({ claims }) => claims.take('anna', 'i1', 5));
      assert.equal((await Promise.all(race)).filter(won => won).length, 1);
      assert.equal(await storage.claims.take('anna', 'i1', 6), false);
      assert.equal(await storage.claims.take('anna', 'i2', 6), true);
      assert.equal(await storage.claims.take('ben', 'i1', 6), true);
      await assert.rejects(
        storage.transaction('broken', async tx => {
          await tx.claims.take('ben', 'i3', 7);
          throw new Error('undone');
        }),
      );
      assert.equal(await other.claims.take('ben', 'i3', 8), true);
    },
  },
  {
    title: 'folders are listed in order, as stored',
    async run({ storage: { users, folders } }) {
      await users.insert(user('anna'));
      const last = folder('f1', 'anna', { order: 2, description: 'all of it', isDefault: true });
      const rows = [last, folder('f3', 'anna'), folder('f2', 'anna')];
      await folders.insertMissing(rows);
      await folders.insertMissing([]);
      assert.deepEqual(idsOf(await folders.list('anna')), ['f2', 'f3', 'f1']);
      assert.deepEqual(await folders.get('anna', 'f1'), last);
      assert.equal(await folders.get('anna', 'f4'), null);
    },
  },
  {
    title: 'simultaneous calls create the system folders once; other folders may share a name',
    async run({ storage, another }) {
      const other = await another();
      for (const id of ['anna', 'ben']) await storage.users.insert(user(id));
      const system = { name: 'Work', isSystem: true };
      await Promise.all([
        storage.folders.insertMissing([folder('f1', 'anna', system)]),
        other.folders.insertMissing([folder('f2', 'anna', system), folder('f3', 'anna', { order: 1 })]),
      ]);
      await storage.folders.insertMissing([folder('f3', 'anna', { name: 'another' })]);
      await storage.folders.insertMissing([folder('f4', 'anna', { name: 'Work', order: 2 })]);
      await storage.folders.insertMissing([folder('f1', 'ben', system)]);
      const rows = await other.folders.list('anna');
      assert.deepEqual(
        rows.map(({ name }) => name),
        ['Work', 'name of f3', 'Work'],
      );
      assert.deepEqual(idsOf(await other.folders.list('ben')), ['f1']);
    },
  },
  {
    title: 'the conversations of a folder are counted without discarded ones',
    async run({ storage: { users, conversations, folders } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await conversations.insert(conversation('c1', 'anna', { folderId: 'f1' }));
      await conversations.insert(conversation('c2', 'anna', { folderId: 'f1', discarded: true }));
      await conversations.insert(conversation('c3', 'anna', { folderId: 'f1', status: 'completed' }));
      await conversations.insert(conversation('c4', 'anna', { folderId: 'f2' }));
      await conversations.insert(conversation('c5', 'anna'));
      await conversations.insert(conversation('c1', 'ben', { folderId: 'f1' }));
      const counts = await folders.counts('anna');
      assert.deepEqual([counts.size, counts.get('f1'), counts.get('f2')], [2, 2, 1]);
    },
  },
  {
    title: 'a folder is changed and removed; its conversations move to another',
    async run({ storage: { users, conversations, folders } }) {
      for (const id of ['anna', 'ben']) {
        await users.insert(user(id));
        await folders.insertMissing([folder('f1', id), folder('f2', id)]);
        await conversations.insert(conversation('c1', id, { folderId: 'f1' }));
      }
      const patch = { name: 'new', description: 'd', color: '#000000', icon: '🌻', updatedAt: 7 };
      assert.equal(await folders.update('anna', 'f1', patch), true);
      assert.equal(await folders.update('anna', 'f3', patch), false);
      assert.deepEqual(await folders.get('anna', 'f1'), folder('f1', 'anna', patch));
      await conversations.refile('anna', 'f1', 'f2');
      assert.equal((await conversations.get('anna', 'c1'))?.folderId, 'f2');
      await conversations.refile('anna', 'f2', null);
      assert.equal((await conversations.get('anna', 'c1'))?.folderId, null);
      assert.equal(await folders.remove('anna', 'f1'), true);
      assert.equal(await folders.remove('anna', 'f1'), false);
      assert.deepEqual(idsOf(await folders.list('anna')), ['f2']);
      assert.deepEqual(await folders.get('ben', 'f1'), folder('f1', 'ben'));
      assert.equal((await conversations.get('ben', 'c1'))?.folderId, 'f1');
    },
  },
  {
    title: 'a person is renamed and removed; segments then name nobody',
    async run({ storage: { users, conversations, segments, people } }) {
      for (const id of ['anna', 'ben']) {
        await users.insert(user(id));
        await people.insert(person('p1', id));
        const talk = conversation('c1', id);
        await conversations.insert(talk);
        await segments.upsert([
          segment('s1', talk, { personId: 'p1' }),
          segment('s2', talk, { personId: 'p2', start: 1 }),
        ]);
      }
      assert.equal(await people.rename('anna', 'p1', 'Eve'), true);
      assert.equal(await people.rename('anna', 'p2', 'Eve'), false);
      assert.deepEqual(await people.get('anna', 'p1'), person('p1', 'anna', { name: 'Eve' }));
      assert.equal(await people.remove('anna', 'p1'), true);
      assert.equal(await people.remove('anna', 'p1'), false);
      assert.equal(await people.get('anna', 'p1'), null);
      await segments.forgetPerson('anna', 'p1');
      const named = async (id: string) => (await segments.list(id, ['c1'])).map(({ personId }) => personId);
      assert.deepEqual(await named('anna'), [null, 'p2']);
      assert.deepEqual(await named('ben'), ['p1', 'p2']);
      assert.deepEqual(await people.get('ben', 'p1'), person('p1', 'ben'));
    },
  },
  {
    title: 'all streams of a conversation continue in another one',
    async run({ storage: { users, conversations, streams } }) {
      for (const id of ['anna', 'ben']) {
        await users.insert(user(id));
        const talk = conversation('c1', id);
        await conversations.insert(talk);
        await streams.insert(stream('t1', talk));
        await streams.insert(stream('t2', talk, { conversationId: 'c2' }));
      }
      await streams.moveAll('anna', 'c1', 'c3');
      const at = async (userId: string, id: string) => (await streams.get(userId, id))?.conversationId;
      assert.deepEqual(
        [await at('anna', 't1'), await at('anna', 't2'), await at('ben', 't1')],
        ['c3', 'c2', 'c1'],
      );
    },
  },
];
