import type { SessionStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, one, Sessions } from './models.ts';

export function sessionStore({ read, write }: Access): SessionStore {
  return {
    async insert(session) {
      await write('sessions.insert', db => Sessions.query(db).insert(session), 'This session exists already');
    },
    get: (userId, id) => read('sessions.get', db => one(Sessions.query(db).where({ user_id: userId, id }))),
    list: userId =>
      read('sessions.list', db =>
        all(
          Sessions.query(db)
            .where('user_id', userId)
            .orderBy([{ column: 'last_used_at', order: 'desc' }, { column: 'id' }]),
        ),
      ),
    update: (userId, id, patch) =>
      write(
        'sessions.update',
        async db => (await Sessions.query(db).patch(patch).where({ user_id: userId, id })) > 0,
      ),
    remove: (userId, id) =>
      write(
        'sessions.remove',
        async db => (await Sessions.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
  };
}
