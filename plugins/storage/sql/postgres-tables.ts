import type { TableDialect, TableShape } from './dialect.ts';

/** Tables of Postgres in the current schema. */
export const postgresTables: TableDialect = {
  async shapes(run) {
    const { rows }: { rows: TableShape[] } = await run(db => db.raw(SHAPES));
    return rows;
  },
  async hold(run, names) {
    await run(db => db.raw(`lock table ${names.map(() => '??')} in share mode`, names));
  },
  /** Reads with a cursor, which sorts once: byte order is not the order of the indexes. */
  async *pages(run, { name, columns, key }, size) {
    const cursor = `earshot_${name}`;
    const texts = new Set(columns.filter(({ type }) => type === 'text').map(column => column.name));
    await run(db => {
      const order = key.map(column => (texts.has(column) ? '?? collate "C"' : '??'));
      const wanted = columns.map(column => column.name);
      return db.raw(
        `declare ?? no scroll cursor for select ${wanted.map(() => '??')} from ?? order by ${order}`,
        [cursor, ...wanted, name, ...key],
      );
    });
    for (;;) {
      const { rows } = await run(db => db.raw(`fetch ${size} from ??`, [cursor]));
      if (rows.length === 0) break;
      yield rows;
    }
    await run(db => db.raw('close ??', [cursor]));
  },
  async insert(run, { name }, rows) {
    await run(db => db(name).insert(rows));
  },
  storable,
};

/** Replaces U+0000, the one character that Postgres cannot store in text. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\ufffd');
}

const SHAPES = `
  select
    c.relname as name,
    (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum)
       from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
    coalesce((select json_agg(a.attname order by k.position)
       from pg_index i, unnest(i.indkey) with ordinality k(attnum, position), pg_attribute a
       where i.indrelid = c.oid and i.indisprimary and a.attrelid = c.oid and a.attnum = k.attnum), '[]') as key,
    coalesce((select json_agg(distinct p.relname)
       from pg_constraint f join pg_class p on p.oid = f.confrelid
       where f.conrelid = c.oid and f.contype = 'f'), '[]') as parents
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace`;
