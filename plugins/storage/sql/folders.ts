import type { FolderStore } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import { Conversations, Folders, one } from './models.ts';
import { select } from './statements.ts';

export function folderStore({ read, write }: Access): FolderStore {
  return {
    async insertMissing(folders) {
      if (folders.length === 0) return;
      const rows = folders.map(folder => Folders.fromJson(folder).$toDatabaseJson());
      await write('folders.insertMissing', db => db(Folders.tableName).insert(rows).onConflict().ignore());
    },
    get: (userId, id) => read('folders.get', db => one(Folders.query(db).where({ user_id: userId, id }))),
    list: userId =>
      read('folders.list', db => select(db, Folders, [['user_id = ?', userId]], ['order by "order", id'])),
    counts: userId =>
      read('folders.counts', async db => {
        const rows: { folder_id: string; conversations: number | string }[] = await db(
          Conversations.tableName,
        )
          .where({ user_id: userId, discarded: false })
          .whereNotNull('folder_id')
          .groupBy('folder_id')
          .select('folder_id')
          .count('* as conversations');
        return new Map(rows.map(row => [row.folder_id, Number(row.conversations)]));
      }),
    update: (userId, id, patch) =>
      write(
        'folders.update',
        async db => (await Folders.query(db).where({ user_id: userId, id }).patch(patch)) > 0,
      ),
    remove: (userId, id) =>
      write(
        'folders.remove',
        async db => (await Folders.query(db).delete().where({ user_id: userId, id })) > 0,
      ),
  };
}
