import type { ExpiryFilter, PhotoStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { expirable } from './conversations.ts';
import { all, one, Photos } from './models.ts';
import { among, type Clause, count, select } from './statements.ts';

export function photoStore({ read, write }: Access): PhotoStore {
  return {
    async insert(photo) {
      await write('photos.insert', db => Photos.query(db).insert(photo), 'This photo exists already');
    },
    get: (userId, id) => read('photos.get', db => one(Photos.query(db).where({ user_id: userId, id }))),
    list: (userId, conversationId, limit) =>
      read('photos.list', db =>
        all(
          Photos.query(db)
            .where({ user_id: userId, conversation_id: conversationId })
            .orderBy(['taken_at', 'id'])
            .limit(limit),
        ),
      ),
    some: (userId, ids) =>
      read('photos.some', db => all(Photos.query(db).where('user_id', userId).whereIn('id', ids))),
    count: (userId, conversationId) =>
      read('photos.count', db =>
        Photos.query(db).where({ user_id: userId, conversation_id: conversationId }).resultSize(),
      ),
    bytes: userId =>
      read('photos.bytes', async db => {
        const row = await db(Photos.tableName).where('user_id', userId).sum('bytes as bytes').first();
        return Number(row?.bytes ?? 0);
      }),
    update: (userId, id, patch) =>
      write(
        'photos.update',
        async db => (await Photos.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    expired: (userId, filter, limit) =>
      read('photos.expired', db =>
        select(db, Photos, taken(userId, filter), ['order by taken_at, id limit ?', limit]),
      ),
    countExpired: (userId, filter) =>
      read('photos.countExpired', db => count(db, Photos, taken(userId, filter))),
    async moveAll(userId, fromConversation, toConversation, since = 0) {
      await write('photos.moveAll', db =>
        Photos.query(db)
          .where({ user_id: userId, conversation_id: fromConversation })
          .where('taken_at', '>=', since)
          .patch({ conversationId: toConversation }),
      );
    },
    remove: (userId, id) =>
      write(
        'photos.remove',
        async db => (await Photos.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
  };
}

/** Selects photos that were taken before an instant. */
function taken(userId: string, filter: ExpiryFilter): Clause[] {
  return [
    ['user_id = ?', userId],
    ['taken_at < ?', filter.before],
    among('conversation_id', 'conversations', 'id', expirable(userId, filter)),
  ];
}
