import type { PrivacyStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { Accesses, all, ListeningSettings, one, putOfUser, RetentionSettings } from './models.ts';
import { run } from './statements.ts';

export function privacyStore({ read, write, atomic }: Access): PrivacyStore {
  return {
    listening: userId =>
      read('privacy.listening', db => one(ListeningSettings.query(db).where('user_id', userId))),
    async putListening(settings) {
      await write('privacy.putListening', db => putOfUser(db, ListeningSettings, settings));
    },
    retention: userId =>
      read('privacy.retention', db => one(RetentionSettings.query(db).where('user_id', userId))),
    async putRetention(settings) {
      await write('privacy.putRetention', db => putOfUser(db, RetentionSettings, settings));
    },
    async addAccesses(entries) {
      await atomic('privacy.addAccesses', async db => {
        for (const entry of entries)
          await run(db, ADD, [
            ...[entry.userId, entry.id, Math.round(entry.firstAt), Math.round(entry.lastAt), entry.count],
            ...[entry.reader, entry.readerId, entry.via, entry.operation, entry.data, entry.subject],
            entry.userId,
          ]);
      });
    },
    accesses: (userId, { beforeId, limit }) =>
      read('privacy.accesses', db => {
        const query = Accesses.query(db).where('user_id', userId);
        if (beforeId !== undefined) query.where('id', '<', beforeId);
        return all(query.orderBy('id', 'desc').limit(limit));
      }),
    pruneAccesses: (before, limit) =>
      write('privacy.pruneAccesses', db => {
        const old = Accesses.query(db).select('user_id', 'id').where('last_at', '<', before).limit(limit);
        return Accesses.query(db).delete().whereIn(['user_id', 'id'], old);
      }),
    trimAccesses: (keep, limit) =>
      write('privacy.trimAccesses', async db => (await run(db, TRIM, [keep, limit])).changes),
    withRetention: (afterId, limit) =>
      read('privacy.withRetention', async db => {
        const query = RetentionSettings.query(db).select('user_id');
        if (afterId !== null) query.where('user_id', '>', afterId);
        return (await query.orderBy('user_id').limit(limit)).map(({ userId }) => userId);
      }),
  };
}

/** With casts, because PostgreSQL does not infer the types of parameters within a SELECT. */
const ADD = `insert into accesses (user_id, id, first_at, last_at, count, reader, reader_id, via, operation, data, subject)
  select cast(? as text), cast(? as text), cast(? as bigint), cast(? as bigint), cast(? as integer), cast(? as text),
    cast(? as text), cast(? as text), cast(? as text), cast(? as text), cast(? as text)
  from users where id = ?`;

const TRIM = `delete from accesses where (user_id, id) in (
  select user_id, id from (
    select user_id, id, row_number() over (partition by user_id order by id desc) as place from accesses
  ) as ranked where place > ? limit ?)`;
