import type { Knex } from 'knex';
import type { MemoryChange } from '../../../core/contract/model.ts';
import type { EmbeddingStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, Embeddings, MemoryChanges, one, putOfUser } from './models.ts';
import { insert } from './statements.ts';

export function embeddingStore({ read, write, atomic }: Access): EmbeddingStore {
  return {
    async note(changes) {
      if (changes.length === 0) return;
      const newer = 'on conflict (user_id, id) do update set changed_at = excluded.changed_at';
      await atomic('embeddings.note', db => insert(db, MemoryChanges, changes, newer));
    },
    changes: (userId, limit) =>
      read('embeddings.changes', db =>
        all(MemoryChanges.query(db).where('user_id', userId).orderBy('id').limit(limit)),
      ),
    async settle(changes) {
      await atomic('embeddings.settle', async db => {
        for (const change of changes) await settleOne(db, change);
      });
    },
    get: userId => read('embeddings.get', db => one(Embeddings.query(db).where('user_id', userId))),
    async put(embedding) {
      await write('embeddings.put', db => putOfUser(db, Embeddings, embedding));
    },
    behind: (space, afterId, limit) =>
      read('embeddings.behind', async db => {
        const has = (table: string) =>
          db(table).select(db.raw('1')).whereRaw('??.user_id = users.id', [table]);
        const isFull = has('embeddings').where({ space, cursor: null });
        const query = db('users').select('id').orderBy('id').limit(limit);
        query.where(either =>
          either
            .whereExists(has('memory_changes'))
            .orWhere(both => both.whereExists(has('memories')).whereNotExists(isFull)),
        );
        const rows: { id: string }[] = await (afterId === null ? query : query.where('id', '>', afterId));
        return rows.map(({ id }) => id);
      }),
  };
}

async function settleOne(db: Knex, { userId, id, changedAt }: MemoryChange): Promise<void> {
  await MemoryChanges.query(db).delete().where({ user_id: userId, id, changed_at: changedAt });
}
