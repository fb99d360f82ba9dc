import type { ChatStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, ChatMessages, ChatSessions, one } from './models.ts';

export function chatStore({ read, write }: Access): ChatStore {
  return {
    async insertSession(session) {
      await write(
        'chat.insertSession',
        db => ChatSessions.query(db).insert(session),
        'This chat session exists already',
      );
    },
    session: (userId, id) =>
      read('chat.session', db => one(ChatSessions.query(db).where({ user_id: userId, id }))),
    sessions: (userId, { limit, offset }) =>
      read('chat.sessions', db =>
        all(
          ChatSessions.query(db)
            .where('user_id', userId)
            .orderBy([
              { column: 'updated_at', order: 'desc' },
              { column: 'id', order: 'desc' },
            ])
            .limit(limit)
            .offset(offset),
        ),
      ),
    updateSession: (userId, id, patch) =>
      write(
        'chat.updateSession',
        async db => (await ChatSessions.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    removeSession: (userId, id) =>
      write(
        'chat.removeSession',
        async db => (await ChatSessions.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
    async insertMessage(message) {
      await write(
        'chat.insertMessage',
        db => ChatMessages.query(db).insert(message),
        'This chat message exists already',
      );
    },
    messages: (userId, sessionId, { limit, offset }) =>
      read('chat.messages', db =>
        all(
          ChatMessages.query(db)
            .where({ user_id: userId, session_id: sessionId })
            .orderBy('id', 'desc')
            .limit(limit)
            .offset(offset),
        ),
      ),
    async forgetMessages(userId, sessionId, beforeId) {
      await write('chat.forgetMessages', db =>
        ChatMessages.query(db)
          .delete()
          .where({ user_id: userId, session_id: sessionId })
          .where('id', '<', beforeId),
      );
    },
  };
}
