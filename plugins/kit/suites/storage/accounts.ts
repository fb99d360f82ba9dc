import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { apiKey, conversation, idsOf, memory, stream, user } from './rows.ts';

const DAY_MS = 24 * 3600 * 1000;
const NOW = Date.UTC(2026, 10, 2, 12);

/** Checks of accounts and sign-in. */
export const accountChecks: StorageCheck[] = [
  {
    title: 'a user is found by id, by name and by identity',
    async run({ storage: { users } }) {
      const anna = user('anna');
      await users.insert(anna);
      assert.deepEqual(await users.get(anna.id), anna);
      assert.deepEqual(await users.byName(anna.nameKey), anna);
      assert.equal(await users.byName(anna.name), null);
      assert.deepEqual(await users.byIdentity(anna.issuer, anna.subject), anna);
      assert.equal(await users.get('nobody'), null);
      assert.equal(await users.byName('nobody'), null);
      assert.equal(await users.byIdentity('elsewhere', anna.subject), null);
    },
  },
  {
    title: 'a taken name or identity is a conflict',
    async run({ storage: { users } }) {
      await users.insert(user('anna'));
      await assert.rejects(users.insert({ ...user('ben'), nameKey: 'name of anna' }), { code: 'conflict' });
      await assert.rejects(users.insert({ ...user('ben'), subject: 'anna' }), { code: 'conflict' });
      assert.deepEqual(idsOf(await users.list()), ['anna']);
    },
  },
  {
    title: 'users are listed oldest first',
    async run({ storage: { users } }) {
      await users.insert({ ...user('a'), createdAt: 3 });
      await users.insert({ ...user('b'), createdAt: 1 });
      await users.insert({ ...user('c'), createdAt: 2 });
      assert.deepEqual(idsOf(await users.list()), ['b', 'c', 'a']);
    },
  },
  {
    title: 'an update changes one user alone',
    async run({ storage: { users } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      assert.equal(await users.update('anna', { signedOutAt: NOW }), true);
      assert.equal(await users.update('nobody', { signedOutAt: NOW }), false);
      assert.deepEqual(await users.get('anna'), { ...user('anna'), signedOutAt: NOW });
      assert.deepEqual(await users.get('ben'), user('ben'));
      const patch = { name: 'Anne', nameKey: 'anne', role: 'operator', disabledAt: NOW } as const;
      assert.equal(await users.update('anna', patch), true);
      assert.deepEqual(await users.get('anna'), { ...user('anna'), signedOutAt: NOW, ...patch });
      await assert.rejects(users.update('ben', { nameKey: 'anne' }), { code: 'conflict' });
    },
  },
  {
    title: 'a removed user leaves nothing behind, and others lose nothing',
    async run({ storage }) {
      const { users, keys, memories, streams, conversations } = storage;
      for (const id of ['anna', 'ben']) {
        await users.insert(user(id));
        await keys.insert(apiKey(`key of ${id}`, id));
        const talk = conversation('c1', id);
        await conversations.insert(talk);
        await streams.insert(stream('s1', talk));
        await memories.insert([memory('m1', id, { content: 'Likes elderflower tea' })]);
      }
      assert.deepEqual(await streams.ids('anna'), ['s1']);
      assert.equal(await users.remove('anna'), true);
      assert.equal(await users.remove('anna'), false);
      assert.equal(await users.get('anna'), null);
      for (const [id, left] of [
        ['anna', 0],
        ['ben', 1],
      ] as const) {
        const found = [
          await keys.list(id),
          await streams.ids(id),
          await conversations.list(id, { limit: 10, offset: 0 }),
          await memories.match(id, 'elderflower', 10),
        ];
        assert.deepEqual(
          found.map(({ length }) => length),
          [left, left, left, left],
        );
      }
    },
  },
  {
    title: 'attempts are counted by key until they expire, and then start again',
    async run({ storage: { attempts } }) {
      const until = NOW + 1000;
      assert.deepEqual(await attempts.add('a', 1, NOW, until), { count: 1, until });
      assert.deepEqual(await attempts.add('a', 1, NOW + 999, until + 999), { count: 2, until });
      assert.deepEqual(await attempts.add('a', -1, NOW, until), { count: 1, until });
      assert.deepEqual(await attempts.add('b', 5, NOW, until), { count: 5, until });
      assert.deepEqual(await attempts.get('a', until - 1), { count: 1, until });
      assert.equal(await attempts.get('a', until), null);
      assert.equal(await attempts.get('c', NOW), null);
      const later = until + DAY_MS;
      assert.deepEqual(await attempts.add('a', 1, until, later), { count: 1, until: later });
      await attempts.remove('b');
      assert.equal(await attempts.get('b', NOW), null);
      assert.deepEqual(await attempts.get('a', until), { count: 1, until: later });
    },
  },
  {
    title: 'expired attempts are deleted, and no others',
    async run({ storage: { attempts } }) {
      await attempts.add('over', 1, NOW, NOW + 1000);
      await attempts.add('on', 1, NOW, NOW + 1001);
      await attempts.prune(NOW + 1000);
      assert.equal(await attempts.get('over', NOW), null);
      assert.deepEqual(await attempts.get('on', NOW), { count: 1, until: NOW + 1001 });
    },
  },
  {
    title: 'simultaneous attempts from two processes are all counted',
    async run({ storage, another }) {
      const other = await another();
      const stores = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? storage : other));
      const counts = await Promise.all(
        stores.map(async ({ attempts }) => (await attempts.add('a', 1, NOW, NOW + 1000)).count),
      );
      assert.deepEqual(
        counts.sort((a, b) => a - b),
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
    },
  },
];
