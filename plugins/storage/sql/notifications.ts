import type { ChannelAddressStore, NotificationStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, ChannelAddresses, NotificationSettingsRows, Notifications, one, putOfUser } from './models.ts';

/** Ids per statement. */
const IDS_AT_ONCE = 500;

export function notificationStore({ read, write, atomic }: Access): NotificationStore {
  return {
    async insert(notification) {
      await write(
        'notifications.insert',
        db => Notifications.query(db).insert(notification),
        'This notification exists already',
      );
    },
    get: (userId, id) =>
      read('notifications.get', db => one(Notifications.query(db).where({ user_id: userId, id }))),
    list: (userId, { unread, appId, beforeId, limit }) =>
      read('notifications.list', db => {
        const query = Notifications.query(db).where('user_id', userId);
        if (unread !== undefined) query.whereRaw(unread ? 'read_at is null' : 'read_at is not null');
        if (appId !== undefined) query.where('app_id', appId);
        if (beforeId !== undefined) query.where('id', '<', beforeId);
        return all(query.orderBy('id', 'desc').limit(limit));
      }),
    countUnread: userId =>
      read('notifications.countUnread', async db => {
        const [row] = await db(Notifications.tableName)
          .where('user_id', userId)
          .whereRaw('read_at is null')
          .count('* as unread');
        return Number(row?.unread);
      }),
    markRead: (userId, ids, at) =>
      atomic('notifications.markRead', async db => {
        const unread = () =>
          Notifications.query(db).where('user_id', userId).whereRaw('read_at is null').patch({ readAt: at });
        if (ids === 'all') return await unread();
        let marked = 0;
        for (let from = 0; from < ids.length; from += IDS_AT_ONCE)
          marked += await unread().whereIn('id', ids.slice(from, from + IDS_AT_ONCE));
        return marked;
      }),
    held: (userId, until, limit) =>
      read('notifications.held', db =>
        all(
          Notifications.query(db)
            .where('user_id', userId)
            .whereRaw('held_until is not null') // matches the index
            .where('held_until', '<=', until)
            .orderBy(['held_until', 'id'])
            .limit(limit),
        ),
      ),
    update: (userId, id, patch) =>
      write(
        'notifications.update',
        async db => (await Notifications.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    settings: userId =>
      read('notifications.settings', db =>
        one(NotificationSettingsRows.query(db).where({ user_id: userId })),
      ),
    async putSettings(settings) {
      await write('notifications.putSettings', db => putOfUser(db, NotificationSettingsRows, settings));
    },
    prune: (before, limit) =>
      write('notifications.prune', db => {
        const old = Notifications.query(db)
          .select('user_id', 'id')
          .where('created_at', '<', before)
          .limit(limit);
        return Notifications.query(db).delete().whereIn(['user_id', 'id'], old);
      }),
  };
}

export function channelAddressStore({ read, write }: Access): ChannelAddressStore {
  return {
    async insert(address) {
      await write(
        'channelAddresses.insert',
        db => ChannelAddresses.query(db).insert(address),
        'This address exists already',
      );
    },
    get: (userId, id) =>
      read('channelAddresses.get', db => one(ChannelAddresses.query(db).where({ user_id: userId, id }))),
    target: id => read('channelAddresses.target', db => one(ChannelAddresses.query(db).where({ id }))),
    targets: (channel, limit) =>
      read('channelAddresses.targets', db =>
        all(
          ChannelAddresses.query(db)
            .where({ channel, enabled: true })
            .orderBy(['created_at', 'id'])
            .limit(limit),
        ),
      ),
    list: userId =>
      read('channelAddresses.list', db =>
        all(ChannelAddresses.query(db).where('user_id', userId).orderBy(['created_at', 'id'])),
      ),
    update: (userId, id, patch) =>
      write(
        'channelAddresses.update',
        async db => (await ChannelAddresses.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write(
        'channelAddresses.remove',
        async db => (await ChannelAddresses.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
  };
}
