import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { NOON, user } from './rows.ts';

export const calendarChecks: StorageCheck[] = [
  {
    title: 'a user has one calendar link, found by its hash with its user, until it is replaced or removed',
    async run({ storage: { users, calendarLinks } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      const link = { userId: 'anna', hash: 'a1', hint: 'cal_1', createdAt: NOON };
      const his = { ...link, userId: 'ben', hash: 'b1' };
      assert.equal(await calendarLinks.get('anna'), null);
      for (const each of [link, his]) await calendarLinks.put(each);
      assert.deepEqual(await calendarLinks.get('anna'), link);
      assert.deepEqual(await calendarLinks.byHash('b1'), { link: his, user: await users.get('ben') });
      const next = { ...link, hash: 'a2', hint: 'cal_2', createdAt: NOON + 1 };
      await calendarLinks.put(next);
      assert.equal(await calendarLinks.byHash('a1'), null);
      assert.deepEqual(await calendarLinks.get('anna'), next);
      await assert.rejects(calendarLinks.put({ ...next, hash: 'b1' }), { code: 'conflict' });
      assert.equal(await calendarLinks.remove('anna'), true);
      assert.equal(await calendarLinks.remove('anna'), false);
      assert.equal(await calendarLinks.byHash('a2'), null);
      assert.equal(await users.remove('ben'), true);
      assert.equal(await calendarLinks.byHash('b1'), null);
    },
  },
];
