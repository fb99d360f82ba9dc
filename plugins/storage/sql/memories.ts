import type { Knex } from 'knex';
import type { ForgottenMemoryStore, MemoryStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, ForgottenMemories, Memories } from './models.ts';
import { first, insert, keyOf, oneOf, select } from './statements.ts';
import { isPostgres, matchWords } from './word-index.ts';

export function memoryStore({ read, write, atomic }: Access): MemoryStore {
  return {
    async insert(memories) {
      if (memories.length === 0) return;
      await atomic(
        'memories.insert',
        db => insert(db, Memories, memories),
        'A memory of this id exists already',
      );
    },
    get: (userId, id) => read('memories.get', db => first(db, Memories, keyOf(userId, id))),
    some: async (userId, ids) =>
      ids.length === 0
        ? []
        : read('memories.some', db => select(db, Memories, [['user_id = ?', userId], oneOf('id', ids)])),
    list: (userId, { categories = [], reviewed, limit, offset }) =>
      read('memories.list', db => {
        const [category, ...others] = categories;
        if (others.length === 0)
          return select(
            db,
            Memories,
            [
              ['user_id = ?', userId],
              ['locked = ?', false],
              category && ['category = ?', category],
              reviewed === undefined ? undefined : [reviewed ? 'reviewed' : 'not reviewed'],
            ],
            ['order by scoring desc, id limit ? offset ?', limit, offset],
          );
        const query = Memories.query(db).orderBy(ORDER).limit(limit).offset(offset);
        const shown = { user_id: userId, locked: false, ...(reviewed === undefined ? {} : { reviewed }) };
        const each = [...new Set(categories)].map(category => ({ ...shown, category }));
        return all(query.from(merged(db, each, offset + limit)));
      }),
    page: (userId, afterId, limit) =>
      read('memories.page', db => {
        const query = Memories.query(db).where('user_id', userId).orderBy('id').limit(limit);
        return all(afterId === null ? query : query.where('id', '>', afterId));
      }),
    ofTopic: (userId, topic) =>
      read('memories.ofTopic', db =>
        select(
          db,
          Memories,
          [
            ['user_id = ?', userId],
            ['topic = ?', topic],
          ],
          ['order by id'],
        ),
      ),
    update: (userId, id, patch) =>
      write('memories.update', async db => {
        const query = Memories.query(db).where({ user_id: userId, id });
        if (Object.keys(patch).length === 0) return (await query.resultSize()) > 0;
        return (await query.patch(patch)) > 0;
      }),
    remove: (userId, id) =>
      write(
        'memories.remove',
        async db => (await Memories.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
    match: (userId, text, limit) =>
      read('memories.match', db => matchWords(db, Memories.tableName, { userId, text, limit })),
  };
}

export function forgottenMemoryStore({ read, write }: Access): ForgottenMemoryStore {
  return {
    async insert(forgotten) {
      await write('forgottenMemories.insert', db => insert(db, ForgottenMemories, [forgotten]));
    },
    list: (userId, limit) =>
      read('forgottenMemories.list', db =>
        select(
          db,
          ForgottenMemories,
          [['user_id = ?', userId]],
          ['order by forgotten_at desc, id desc limit ?', limit],
        ),
      ),
    async remove(userId, ids) {
      if (ids.length === 0) return;
      await write('forgottenMemories.remove', db =>
        ForgottenMemories.query(db).delete().where('user_id', userId).whereIn('id', ids),
      );
    },
  };
}

const ORDER = [{ column: 'scoring', order: 'desc' as const }, { column: 'id' }];

/** Reads the first rows of each part in the order of an index, so that the database merges instead of sorting. */
function merged(db: Knex, wanted: readonly object[], limit: number) {
  const ordered = isPostgres(db); // SQLite accepts no ORDER BY there, and needs none
  const queries = wanted.map(where => {
    const query = Memories.query(db).where(where).toKnexQuery();
    return ordered ? query.orderBy(ORDER).limit(limit) : query;
  });
  return db.queryBuilder().unionAll(queries, ordered).as(Memories.tableName);
}
