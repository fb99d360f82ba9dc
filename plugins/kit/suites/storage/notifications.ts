import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { channelAddress, notification, notificationSettings } from './outbound-rows.ts';
import { idsOf, user } from './rows.ts';

export const notificationChecks: StorageCheck[] = [
  {
    title: 'a notification is returned as stored, to its user alone; the inbox is newest first',
    async run({ storage: { users, notifications } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const full = notification('n2', 'anna', {
        appId: 'a1',
        text: '“ü” 📚',
        data: { id: 'x', list: [1, null] },
        readAt: 5,
        silence: 'budget',
        heldUntil: 9,
      });
      for (const row of [notification('n1', 'anna'), full, notification('n3', 'anna', { appId: 'a1' })])
        await notifications.insert(row);
      await notifications.insert(notification('n4', 'ben'));
      await assert.rejects(notifications.insert(full), { code: 'conflict' });
      assert.deepEqual(await notifications.get('anna', 'n2'), full);
      assert.equal(await notifications.get('ben', 'n2'), null);
      const inbox = async (filter: object, limit = 9) =>
        idsOf(await notifications.list('anna', { ...filter, limit })).join(' ');
      assert.equal(await inbox({}), 'n3 n2 n1');
      assert.equal(await inbox({}, 1), 'n3');
      assert.equal(await inbox({ beforeId: 'n3' }), 'n2 n1');
      assert.equal(await inbox({ unread: true }), 'n3 n1');
      assert.equal(await inbox({ unread: false }), 'n2');
      assert.equal(await inbox({ appId: 'a1' }), 'n3 n2');
      assert.equal(await inbox({ appId: 'a1', unread: true, beforeId: 'n3' }), '');
    },
  },
  {
    title: 'notifications are marked as read once, some or all of one user',
    async run({ storage: { users, notifications } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      for (const id of ['n1', 'n2', 'n3']) await notifications.insert(notification(id, 'anna'));
      await notifications.insert(notification('n4', 'ben'));
      assert.equal(await notifications.countUnread('anna'), 3);
      assert.equal(await notifications.markRead('anna', ['n1', 'n4', 'none'], 5), 1);
      assert.equal(await notifications.markRead('anna', ['n1'], 6), 0);
      assert.equal(await notifications.markRead('anna', [], 6), 0);
      assert.equal((await notifications.get('anna', 'n1'))?.readAt, 5);
      assert.equal(await notifications.markRead('anna', 'all', 7), 2);
      assert.equal(await notifications.countUnread('anna'), 0);
      assert.equal(await notifications.countUnread('ben'), 1);
    },
  },
  {
    title: 'held notifications are found when their time has come, until they are released',
    async run({ storage: { users, notifications } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await notifications.insert(notification('n1', 'anna', { heldUntil: 30 }));
      await notifications.insert(notification('n2', 'anna', { heldUntil: 20 }));
      await notifications.insert(notification('n3', 'anna'));
      await notifications.insert(notification('n4', 'ben', { heldUntil: 20 }));
      const held = async (until: number, limit = 9) =>
        idsOf(await notifications.held('anna', until, limit)).join(' ');
      assert.equal(await held(19), '');
      assert.equal(await held(20), 'n2');
      assert.equal(await held(30), 'n2 n1');
      assert.equal(await held(30, 1), 'n2');
      const patch = { heldUntil: null, silence: 'no_channel' } as const;
      assert.equal(await notifications.update('ben', 'n2', patch), false);
      assert.equal(await notifications.update('anna', 'n2', patch), true);
      assert.equal(await held(30), 'n1');
      assert.equal((await notifications.get('anna', 'n2'))?.silence, 'no_channel');
    },
  },
  {
    title: 'settings of notifications are one row for each user; old notifications are pruned',
    async run({ storage: { users, notifications } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      assert.equal(await notifications.settings('anna'), null);
      await notifications.putSettings(notificationSettings('anna'));
      assert.deepEqual(await notifications.settings('anna'), notificationSettings('anna'));
      const full = notificationSettings('anna', {
        quietHours: { from: 1320, to: 420 },
        digestAt: 480,
        muted: ['a1', 'day_summary'],
        budgets: { a1: 3 },
        daySummaryAt: 1200,
      });
      await notifications.putSettings(full);
      assert.deepEqual(await notifications.settings('anna'), full);
      assert.equal(await notifications.settings('ben'), null);
      for (const at of [1, 2, 3])
        await notifications.insert(notification(`n${at}`, 'anna', { createdAt: at }));
      assert.equal(await notifications.prune(3, 1), 1);
      assert.equal(await notifications.prune(3, 9), 1);
      assert.deepEqual(idsOf(await notifications.list('anna', { limit: 9 })), ['n3']);
    },
  },
  {
    title: 'channel addresses are returned as stored, and changed and removed by their user alone',
    async run({ storage: { users, channelAddresses } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const late = channelAddress('c1', 'anna', {
        channel: 'web-push',
        address: { endpoint: 'https://example.com', keys: { auth: 'x' } },
        enabled: false,
        offReason: 'gone',
        failingSince: 8,
        createdAt: 9,
      });
      const early = channelAddress('c2', 'anna', { createdAt: 8 });
      for (const row of [late, early, channelAddress('c3', 'ben')]) await channelAddresses.insert(row);
      await assert.rejects(channelAddresses.insert(early), { code: 'conflict' });
      assert.deepEqual(await channelAddresses.list('anna'), [early, late]);
      assert.deepEqual(await channelAddresses.target('c1'), late);
      const enabled = async (limit: number) =>
        (await channelAddresses.targets('log', limit)).map(({ id }) => id).toSorted();
      assert.deepEqual(await enabled(10), ['c2', 'c3'], 'of all users');
      assert.equal((await enabled(1)).length, 1);
      assert.deepEqual(await channelAddresses.targets('web-push', 10), [], 'it is switched off');
      assert.equal(await channelAddresses.get('ben', 'c1'), null);
      const patch = { label: 'phone', address: { a: 1 }, enabled: true, offReason: null, failingSince: null };
      assert.equal(await channelAddresses.update('ben', 'c1', patch), false);
      assert.equal(await channelAddresses.update('anna', 'c1', patch), true);
      assert.deepEqual(await channelAddresses.get('anna', 'c1'), { ...late, ...patch });
      assert.equal(await channelAddresses.remove('ben', 'c1'), false);
      assert.equal(await channelAddresses.remove('anna', 'c1'), true);
      assert.equal(await channelAddresses.remove('anna', 'c1'), false);
    },
  },
];
