import type { ClipStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, Clips, one } from './models.ts';

export function clipStore({ read, write }: Access): ClipStore {
  return {
    async insert(clip) {
      await write('clips.insert', db => Clips.query(db).insert(clip), 'This clip exists already');
    },
    get: (userId, id) => read('clips.get', db => one(Clips.query(db).where({ user_id: userId, id }))),
    list: (userId, conversationId, { since, limit }) =>
      read('clips.list', db =>
        all(
          Clips.query(db)
            .where({ user_id: userId, conversation_id: conversationId })
            .where('started_at', '>=', since)
            .orderBy(['started_at', 'id'])
            .limit(limit),
        ),
      ),
    some: (userId, ids) =>
      read('clips.some', db => all(Clips.query(db).where('user_id', userId).whereIn('id', ids))),
    async moveAll(userId, fromConversation, toConversation, since = 0) {
      await write('clips.moveAll', db =>
        Clips.query(db)
          .where({ user_id: userId, conversation_id: fromConversation })
          .where('started_at', '>=', since)
          .patch({ conversationId: toConversation }),
      );
    },
    bytes: userId =>
      read('clips.bytes', async db => {
        const row = await db(Clips.tableName).where('user_id', userId).sum('bytes as bytes').first();
        return Number(row?.bytes ?? 0);
      }),
    expired: (userId, before, limit) =>
      read('clips.expired', db =>
        all(
          Clips.query(db)
            .where('user_id', userId)
            .where('started_at', '<', before)
            .orderBy(['started_at', 'id'])
            .limit(limit),
        ),
      ),
    async remove(userId, ids) {
      await write('clips.remove', db =>
        Clips.query(db)
          .delete()
          .where('user_id', userId)
          .whereIn('id', [...ids]),
      );
    },
  };
}
