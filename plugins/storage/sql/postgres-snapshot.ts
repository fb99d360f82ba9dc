import type { Knex } from 'knex';
import type { Dialect } from './dialect.ts';
import { openSqlite } from './sqlite.ts';
import { createStorage, type StorageContext } from './storage.ts';
import { openTables } from './tables.ts';

/**
 * Copies all rows of one moment into a new SQLite file, while others read and write. So a backup has the same format
 * for every database, needs no external tools, and can be restored into either.
 */
export async function copyToSqlite(
  reader: Knex,
  { place, tables }: Pick<Dialect, 'place' | 'tables'>,
  target: string,
  context: StorageContext,
): Promise<void> {
  const sqlite = openSqlite(target, context);
  try {
    const storage = await createStorage(sqlite, context);
    await storage.migrate();
    await reader.transaction(
      async db => {
        const source = { place, tables: { ...tables, hold: async () => {} } }; // the transaction reads one unchanging state
        const given = await openTables(source, { write: async (_verb, query) => query(db) }, context.error);
        await storage.tables(async taken => {
          for (const table of given) {
            const into = taken.find(({ name }) => name === table.name);
            if (!into) throw context.error('internal', `The copy of the ${place} has no table ${table.name}`);
            for await (const rows of table.read()) await into.write(rows);
          }
        });
      },
      { isolationLevel: 'repeatable read', readOnly: true },
    );
  } finally {
    await sqlite.close();
  }
}
