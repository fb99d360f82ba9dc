import assert from 'node:assert/strict';
import type { AccessEntry, ListeningSettings, RetentionSettings } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { delivery } from './outbound-rows.ts';
import { conversation, folder, idsOf, NOON, photo, user } from './rows.ts';

export const privacyChecks: StorageCheck[] = [
  {
    title: 'pauses of listening belong to one user, and the last write counts',
    async run({ storage: { users, privacy } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      assert.equal(await privacy.listening('anna'), null);
      const settings: ListeningSettings = {
        userId: 'anna',
        schedule: [{ days: ['mon', 'sun'], from: 0, to: 1439 }],
        exceptions: [
          { from: NOON, until: NOON + 1, isPaused: false },
          { from: NOON, until: null, isPaused: true },
        ],
      };
      await privacy.putListening({ ...settings, exceptions: [] });
      await privacy.putListening(settings);
      await privacy.putListening({ userId: 'ben', schedule: [], exceptions: [] });
      assert.deepEqual(await privacy.listening('anna'), settings);
      assert.deepEqual(await privacy.listening('ben'), { userId: 'ben', schedule: [], exceptions: [] });
    },
  },
  {
    title: 'retention rules belong to one user, and users with rules are listed in order',
    async run({ storage: { users, privacy } }) {
      for (const id of ['anna', 'ben', 'cleo']) await users.insert(user(id));
      const settings: RetentionSettings = {
        userId: 'anna',
        keepStarred: false,
        rules: [
          { data: 'conversations', folderId: 'f1', days: null },
          { data: 'photos', folderId: null, days: 30 },
        ],
      };
      await privacy.putRetention({ userId: 'cleo', keepStarred: true, rules: [] });
      await privacy.putRetention({ ...settings, keepStarred: true });
      await privacy.putRetention(settings);
      assert.deepEqual(await privacy.retention('anna'), settings);
      assert.equal(await privacy.retention('ben'), null);
      assert.deepEqual(await privacy.withRetention(null, 9), ['anna', 'cleo']);
      assert.deepEqual(await privacy.withRetention(null, 1), ['anna']);
      assert.deepEqual(await privacy.withRetention('anna', 9), ['cleo']);
    },
  },
  {
    title:
      'expired are conversations that ended before, are neither open nor locked, by folder, and their photos',
    async run({ storage: { users, conversations, folders, photos } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await folders.insertMissing([folder('f1', 'anna'), folder('f2', 'anna')]);
      const old = { status: 'completed' as const, createdAt: NOON - 9, finishedAt: NOON - 5 };
      const rows = [
        conversation('a', 'anna', { ...old, folderId: 'f1' }),
        conversation('b', 'anna', { ...old, createdAt: NOON - 10, status: 'failed' }),
        conversation('c', 'anna', { ...old, folderId: 'f2', starred: true }),
        conversation('d', 'anna', { ...old, locked: true }),
        conversation('e', 'anna', { ...old, status: 'in_progress' }),
        conversation('f', 'anna', { ...old, finishedAt: NOON }),
        conversation('g', 'anna', { ...old, finishedAt: null, lastActivityAt: NOON - 1 }),
        conversation('b', 'ben', old),
      ];
      for (const row of rows) {
        await conversations.insert(row);
        await photos.insert(photo(`of ${row.id}`, row, { takenAt: NOON - 1 }));
      }
      const all = { before: NOON, folderId: null, otherThan: [], keepStarred: false };
      for (const [filter, expected] of [
        [all, ['b', 'a', 'c', 'g']],
        [{ ...all, keepStarred: true }, ['b', 'a', 'g']],
        [{ ...all, otherThan: ['f1'] }, ['b', 'c', 'g']],
        [{ ...all, otherThan: ['f1', 'f2'] }, ['b', 'g']],
        [{ ...all, folderId: 'f1' }, ['a']],
        [{ ...all, folderId: 'f2', keepStarred: true }, []],
        [{ ...all, before: NOON - 5 }, []],
      ] as const) {
        const given = { ...filter, otherThan: [...filter.otherThan] };
        assert.deepEqual(idsOf(await conversations.expired('anna', given, 9)), expected);
        assert.equal(await conversations.countExpired('anna', given), expected.length);
      }
      assert.deepEqual(idsOf(await conversations.expired('anna', all, 2)), ['b', 'a']);
      const taken = { ...all, keepStarred: true, otherThan: ['f1'] };
      assert.deepEqual(idsOf(await photos.expired('anna', taken, 9)), ['of b', 'of f', 'of g']);
      assert.equal(await photos.countExpired('anna', taken), 3);
      assert.deepEqual(idsOf(await photos.expired('anna', { ...all, folderId: 'f2' }, 9)), ['of c']);
      assert.deepEqual(await photos.expired('anna', { ...all, before: NOON - 1 }, 9), []);
    },
  },
  {
    title: 'finished deliveries of one user are counted and pruned',
    async run({ storage: { users, deliveries } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const over = { state: 'delivered' as const, nextAt: null, endedAt: NOON, createdAt: NOON - 9 };
      const rows = [
        delivery('a', 'anna', over),
        delivery('b', 'anna', { ...over, createdAt: NOON }),
        delivery('c', 'anna', { createdAt: NOON - 9 }),
        delivery('d', 'ben', over),
        delivery('e', 'anna', over),
      ];
      await deliveries.insert(rows);
      assert.equal(await deliveries.countBefore('anna', NOON), 2);
      assert.equal(await deliveries.pruneOf('anna', NOON, 1), 1);
      assert.equal(await deliveries.pruneOf('anna', NOON, 9), 1);
      assert.equal(await deliveries.pruneOf('anna', NOON, 9), 0);
      assert.deepEqual(idsOf(await deliveries.list('anna', { limit: 9 })), ['c', 'b']);
      assert.deepEqual(idsOf(await deliveries.list('ben', { limit: 9 })), ['d']);
    },
  },
  {
    title: 'reads of data are listed to its owner alone, newest first, and pruned by age and number',
    async run({ storage: { users, privacy } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const entry = (id: string, userId: string, changes: Partial<AccessEntry> = {}): AccessEntry => ({
        id,
        userId,
        firstAt: NOON,
        lastAt: NOON + 9,
        count: 3,
        reader: 'key',
        readerId: 'k1',
        via: 'mcp',
        operation: 'getConversation',
        data: 'conversations',
        subject: 'c1',
        ...changes,
      });
      const plain = entry('b', 'anna', { readerId: null, subject: null, lastAt: NOON });
      await privacy.addAccesses([entry('a', 'anna'), plain, entry('a', 'ben'), entry('a', 'nobody')]);
      await privacy.addAccesses([entry('c', 'anna')]);
      const list = async (userId: string, beforeId?: string) =>
        privacy.accesses(userId, { beforeId, limit: 2 });
      assert.deepEqual(await list('anna'), [entry('c', 'anna'), plain]);
      assert.deepEqual(await list('anna', 'b'), [entry('a', 'anna')]);
      assert.deepEqual(await list('nobody'), []);
      assert.equal(await privacy.pruneAccesses(NOON + 9, 9), 1);
      assert.deepEqual(idsOf(await list('anna')), ['c', 'a']);
      assert.equal(await privacy.trimAccesses(1, 9), 1);
      assert.deepEqual(idsOf(await list('anna')), ['c']);
      assert.deepEqual(idsOf(await list('ben')), ['a']);
      assert.equal(await privacy.pruneAccesses(NOON + 10, 1), 1);
      await users.remove('anna');
      assert.deepEqual(await list('anna'), []);
    },
  },
];
