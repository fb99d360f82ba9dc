import type { MarkStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, Marks, one } from './models.ts';

export function markStore({ read, write }: Access): MarkStore {
  return {
    async insert(mark) {
      await write('marks.insert', db => Marks.query(db).insert(mark), 'This mark exists already');
    },
    get: (userId, id) => read('marks.get', db => one(Marks.query(db).where({ user_id: userId, id }))),
    list: (userId, conversationId, limit) =>
      read('marks.list', db =>
        all(
          Marks.query(db)
            .where({ user_id: userId, conversation_id: conversationId })
            .orderBy(['at', 'id'])
            .limit(limit),
        ),
      ),
    count: (userId, conversationId) =>
      read('marks.count', db =>
        Marks.query(db).where({ user_id: userId, conversation_id: conversationId }).resultSize(),
      ),
    async moveAll(userId, fromConversation, toConversation, since = 0) {
      await write('marks.moveAll', db =>
        Marks.query(db)
          .where({ user_id: userId, conversation_id: fromConversation })
          .where('at', '>=', since)
          .patch({ conversationId: toConversation }),
      );
    },
    remove: (userId, id) =>
      write('marks.remove', async db => (await Marks.query(db).delete().where({ user_id: userId, id })) > 0),
  };
}
