import assert from 'node:assert/strict';
import type { RateLimit } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { apiKey, idsOf, NOON, session, user } from './rows.ts';

/** Checks of keys, their scopes, and their rate limits. */
export const keyChecks: StorageCheck[] = [
  {
    title: 'sessions are listed by their last use, to their owner alone, and end once',
    async run({ storage: { users, sessions } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      for (const id of ['s1', 's2', 's3']) await sessions.insert(session(id, 'anna'));
      await sessions.insert(session('s1', 'ben'));
      await assert.rejects(sessions.insert(session('s1', 'anna')), { code: 'conflict' });
      const later = { lastUsedAt: NOON + 5, expiresAt: 8_000_000_000_009 };
      assert.equal(await sessions.update('anna', 's3', later), true);
      assert.equal(await sessions.update('ben', 's3', later), false);
      assert.deepEqual(await sessions.get('anna', 's3'), session('s3', 'anna', later));
      assert.deepEqual(idsOf(await sessions.list('anna')), ['s3', 's1', 's2']);
      assert.equal(await sessions.get('ben', 's2'), null);
      assert.equal(await sessions.remove('ben', 's2'), false);
      assert.equal(await sessions.remove('anna', 's1'), true);
      assert.equal(await sessions.remove('anna', 's1'), false);
      assert.deepEqual(idsOf(await sessions.list('anna')), ['s3', 's2']);
      assert.deepEqual(idsOf(await sessions.list('ben')), ['s1']);
    },
  },
  {
    title: 'a key is found by its hash, listed newest first, and removed once',
    async run({ storage: { users, keys } }) {
      await users.insert(user('anna'));
      const first = apiKey('k1', 'anna', { createdAt: 1 });
      await keys.insert(first);
      await keys.insert(apiKey('k2', 'anna', { createdAt: 2 }));
      await keys.insert(apiKey('k0', 'anna', { createdAt: 2 }));
      assert.deepEqual(await keys.byHash(first.hash), { key: first, user: user('anna') });
      assert.deepEqual(await keys.get('anna', 'k1'), first);
      assert.deepEqual(idsOf(await keys.list('anna')), ['k0', 'k2', 'k1']);
      assert.equal(await keys.remove('anna', 'k1'), true);
      assert.equal(await keys.remove('anna', 'k1'), false);
      assert.equal(await keys.byHash(first.hash), null);
      assert.equal(await keys.get('anna', 'k1'), null);
    },
  },
  {
    title: 'a key that another process replaced or removed is no longer found',
    async run({ storage, another }) {
      const other = await another();
      await storage.users.insert(user('anna'));
      const before = apiKey('k1', 'anna');
      await storage.keys.insert(before);
      await storage.keys.insert(apiKey('k2', 'anna'));
      assert.deepEqual((await other.keys.byHash(before.hash))?.key, before);
      const secret = { hash: 'another', hint: 'omi_dev_0000...1111' };
      assert.equal(await other.keys.replace('anna', 'k1', secret), true);
      assert.equal(await storage.keys.byHash(before.hash), null);
      assert.deepEqual((await storage.keys.byHash('another'))?.key, { ...before, ...secret });
      assert.equal(await storage.keys.replace('anna', 'k3', secret), false);
      await assert.rejects(storage.keys.replace('anna', 'k2', secret), { code: 'conflict' });
      assert.equal(await other.keys.remove('anna', 'k1'), true);
      assert.equal(await storage.keys.byHash('another'), null);
    },
  },
  {
    title: 'the last use of a key is stored, in whatever order it is reported',
    async run({ storage: { users, keys } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      for (const id of ['k1', 'k2']) await keys.insert(apiKey(id, 'anna'));
      await keys.used([{ userId: 'anna', id: 'k1', at: 20 }]);
      await keys.used([
        { userId: 'anna', id: 'k1', at: 10 },
        { userId: 'ben', id: 'k2', at: 30 },
        { userId: 'anna', id: 'k3', at: 30 },
      ]);
      await keys.used([]);
      assert.deepEqual(await keys.get('anna', 'k1'), apiKey('k1', 'anna', { lastUsedAt: 20 }));
      assert.deepEqual(await keys.get('anna', 'k2'), apiKey('k2', 'anna'));
    },
  },
  {
    title: 'a grant belongs to its holder until all grants of the holder are removed',
    async run({ storage: { users, grants } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const grant = { userId: 'anna', grantee: 'k1', name: 'memories:read', createdAt: 1 } as const;
      await grants.give([grant, { ...grant, grantee: 'k2' }]);
      await grants.give([grant, { ...grant, name: 'memories:write' }]);
      await grants.give([]);
      assert.equal(await grants.has('anna', 'k1', 'memories:read'), true);
      assert.equal(await grants.has('anna', 'k1', 'memories:write'), true);
      assert.equal(await grants.has('anna', 'k2', 'memories:write'), false);
      assert.equal(await grants.has('ben', 'k1', 'memories:read'), false);
      await grants.removeOf('ben', 'k1');
      assert.equal(await grants.has('anna', 'k1', 'memories:read'), true);
      await grants.removeOf('anna', 'k1');
      assert.equal(await grants.has('anna', 'k1', 'memories:read'), false);
      assert.equal(await grants.has('anna', 'k2', 'memories:read'), true);
    },
  },
  {
    title: 'a rate limit only moves forward, and is removed once it is full again',
    async run({ storage: { rateLimits } }) {
      const limit = (policy: string, fullAt: number): RateLimit => ({
        userId: 'anna',
        subject: 'k1',
        policy,
        fullAt,
      });
      const many = Array.from({ length: 2500 }, (_, index) => limit(`p${index}`, index));
      await rateLimits.put([...many, limit('read', 10), limit('write', 20)]);
      await rateLimits.put([limit('read', 9), limit('write', 21)]);
      await rateLimits.put([]);
      assert.deepEqual(await rateLimits.get('anna', 'k1', 'read'), limit('read', 10));
      assert.deepEqual(await rateLimits.get('anna', 'k1', 'write'), limit('write', 21));
      assert.deepEqual(await rateLimits.get('anna', 'k1', 'p2499'), limit('p2499', 2499));
      assert.equal(await rateLimits.get('ben', 'k1', 'read'), null);
      await rateLimits.removeFull(10);
      assert.equal(await rateLimits.get('anna', 'k1', 'read'), null);
      assert.equal(await rateLimits.get('anna', 'k1', 'p10'), null);
      assert.deepEqual(await rateLimits.get('anna', 'k1', 'write'), limit('write', 21));
    },
  },
];
