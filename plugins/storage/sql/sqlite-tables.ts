import type { Knex } from 'knex';
import type { Row } from '../../../core/contract/plugin.ts';
import type { Run, TableDialect, TableShape } from './dialect.ts';
import { isDerived } from './word-index.ts';

/** Tables of SQLite. A transaction has the database to itself from its start: see `patientClient`. */
export const sqliteTables: TableDialect = {
  async shapes(run) {
    const tables: { name: string }[] = await run(db =>
      db.raw(
        `select name from pragma_table_list
         where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
      ),
    );
    const shapes: TableShape[] = [];
    for (const { name } of tables) if (!isDerived(name)) shapes.push(await shapeOf(run, name));
    return shapes;
  },
  async hold() {},
  async *pages(run, { name, columns, key }, size) {
    const wanted = columns.map(column => column.name);
    let after: Knex.Value[] | null = null;
    for (;;) {
      const last = after;
      const rows: Record<string, unknown>[] = await run(db => {
        const query = db(name).select(wanted).orderBy(key).limit(size);
        if (!last) return query;
        return query.whereRaw(`(${key.map(() => '??')}) > (${key.map(() => '?')})`, [...key, ...last]);
      });
      if (rows.length === 0) return;
      yield rows;
      after = key.map(column => rows.at(-1)?.[column] as Knex.Value); // read from this database
    }
  },
  /**
   * Uses one small statement for all rows: knex's statements for many rows hold 1.5 kB per row until they are
   * collected.
   */
  async insert(run, { name, columns }, rows) {
    const names = columns.map(column => `"${column.name}"`);
    await run(async db => {
      const connection: Connection = await db.client.acquireConnection(); // the connection of the transaction
      const statement = connection.prepare(
        `insert into "${name}" (${names}) values (${names.map(() => '?')})`,
      );
      for (const row of rows) statement.run(columns.map(column => storedAs(row[column.name])));
    });
  },
  storable: text => text,
};

/** The part of better-sqlite3's connection that is used here. */
interface Connection {
  prepare(sql: string): { run(values: (string | number | null)[]): unknown };
}

function storedAs(value: Row[string] | undefined): string | number | null {
  return typeof value === 'boolean' ? Number(value) : (value ?? null);
}

async function shapeOf(run: Run, name: string): Promise<TableShape> {
  const columns: { name: string; type: string; pk: number }[] = await run(db =>
    db.raw('select name, lower(type) as type, pk from pragma_table_xinfo(?) where hidden = 0', [name]),
  );
  const parents: { parent: string }[] = await run(db =>
    db.raw('select distinct "table" as parent from pragma_foreign_key_list(?)', [name]),
  );
  return {
    name,
    columns: columns.map(column => ({ name: column.name, type: column.type })),
    key: columns
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map(column => column.name),
    parents: parents.map(({ parent }) => parent),
  };
}
