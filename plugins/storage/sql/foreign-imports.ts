import type { ForeignImportStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { all, ForeignImports, ForeignItems, mappingOf, one } from './models.ts';

export function foreignImportStore({ read, write }: Access): ForeignImportStore {
  return {
    async insert(run) {
      await write(
        'foreignImports.insert',
        db => ForeignImports.query(db).insert(run),
        'This import exists already',
      );
    },
    get: (userId, id) =>
      read('foreignImports.get', db => one(ForeignImports.query(db).where({ user_id: userId, id }))),
    list: (userId, limit) =>
      read('foreignImports.list', db =>
        all(
          ForeignImports.query(db)
            .where('user_id', userId)
            .orderBy([
              { column: 'started_at', order: 'desc' },
              { column: 'id', order: 'desc' },
            ])
            .limit(limit),
        ),
      ),
    update: (userId, id, patch) =>
      write(
        'foreignImports.update',
        async db => (await ForeignImports.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    async note(items) {
      if (items.length === 0) return;
      const { columns } = mappingOf(ForeignItems);
      await write('foreignImports.note', db =>
        db('foreign_items').insert(items.map(columns)).onConflict(['user_id', 'id']).merge(),
      );
    },
    has: (userId, id) =>
      read(
        'foreignImports.has',
        async db => (await one(ForeignItems.query(db).where({ user_id: userId, id }))) !== null,
      ),
    items: (userId, importId, limit) =>
      read('foreignImports.items', db =>
        all(
          ForeignItems.query(db).where({ user_id: userId, import_id: importId }).orderBy('id').limit(limit),
        ),
      ),
    async forget(userId, ids) {
      await write('foreignImports.forget', db =>
        ForeignItems.query(db).delete().where('user_id', userId).whereIn('id', ids),
      );
    },
  };
}
