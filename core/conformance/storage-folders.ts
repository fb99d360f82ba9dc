import assert from 'node:assert/strict';
import type { StorageCheck } from './storage.ts';
import { conversation, folder, idsOf, user } from './storage-rows.ts';

/** Ids that are taken once, and folders. */
export const folderChecks: StorageCheck[] = [
  {
    title: 'a claimed id is taken once, by one of the racers, and for its user alone',
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
    title: 'folders are listed in their order, as they were stored',
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
    title: 'of racers that make the system folders, one does; other folders may share a name',
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
];
