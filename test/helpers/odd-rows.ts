/** Fills every table of a database with unusual rows, tables of future migrations included. */
import type { Knex } from 'knex';
import type { Dialect, Run, TableShape } from '../../plugins/storage/sql/dialect.ts';

/** Texts that sort differently in UTF-16, in UTF-8 and in any language. */
const TEXTS = [
  ...['', ' ', 'a', 'A', 'Z', 'z', 'ä', 'é', 'e\u0301', 'ß', '_', '-', '%', '0', '10', '9'],
  ...["'; drop table users; --", '"', '\\', '\\x00', '\n', '\t', '\r\n', '{"a":[1,null]}', 'null', '$1', '?'],
  ...[
    '😀',
    '🏳️‍🌈',
    '\u{10ffff}',
    '\uffff',
    '\ufffd',
    '\u200b',
    '\u202e',
    '\ufeff',
    '漢字',
    '\u0001',
    '\u007f',
  ],
  'long '.repeat(200),
];
const WHOLE = [0, -1, 1, 2 ** 31 - 1, -(2 ** 31), Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
const FRACTIONS = [0, 0.1, -1 / 3, 1e300, 5e-324, 2 ** 53 + 2, 1763000000.123456];

/** The tables, without those of migrations. */
async function shapesOf({ writer, tables }: Dialect): Promise<TableShape[]> {
  const run: Run = async query => await query(writer);
  return (await tables.shapes(run)).filter(({ name }) => !name.startsWith('migrations'));
}

/**
 * Texts contain their row's number, so that related rows match in all tables and nothing is duplicated.
 * @param countOf rows of a table: at most as many as the tables that it refers to have
 */
export async function fillWithOddRows(dialect: Dialect, countOf: (table: string) => number): Promise<void> {
  const shapes = await shapesOf(dialect);
  const done = new Set<string>();
  while (done.size < shapes.length) {
    for (const shape of shapes) {
      if (done.has(shape.name) || shape.parents.some(parent => !done.has(parent))) continue;
      const nullable = await nullableColumns(dialect.writer, shape);
      const count = countOf(shape.name);
      for (let at = 0; at < count; at += 200) {
        const rows = Array.from({ length: Math.min(200, count - at) }, (_, i) =>
          rowOf(shape, nullable, at + i),
        );
        await dialect.writer(shape.name).insert(rows);
      }
      done.add(shape.name);
    }
  }
}

function rowOf({ columns }: TableShape, nullable: ReadonlySet<string>, n: number): Record<string, unknown> {
  const entries = columns.map(({ name, type }, i) => [
    name,
    nullable.has(name) && (n + i) % 3 === 0 ? null : valueFor(type, n, i),
  ]);
  return Object.fromEntries(entries);
}

function valueFor(type: string, n: number, i: number): unknown {
  if (type === 'text') return n < TEXTS.length ? TEXTS[n] : `${n} ${TEXTS[n % TEXTS.length]}`;
  if (type === 'boolean') return (n + i) % 2 === 0;
  if (/double|float/.test(type)) return FRACTIONS[(n + i) % FRACTIONS.length];
  const whole = WHOLE[(n + i) % WHOLE.length] ?? 0;
  return type === 'integer' ? Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, whole)) : whole;
}

async function nullableColumns(db: Knex, { name, key }: TableShape): Promise<Set<string>> {
  const info: Record<string, { nullable: boolean }> = (await db(name).columnInfo()) as never;
  const columns = Object.keys(info).filter(column => info[column]?.nullable && !key.includes(column));
  return new Set(columns);
}

/** Returns every row of every table in the same form for both databases: booleans are 0 and 1. */
export async function dump(dialect: Dialect): Promise<Map<string, string[]>> {
  const all = new Map<string, string[]>();
  for (const { name, columns } of await shapesOf(dialect)) {
    const rows: Record<string, unknown>[] = await dialect.writer(name).select();
    const lines = rows.map(row =>
      JSON.stringify(
        columns.map(column => [
          column.name,
          typeof row[column.name] === 'boolean' ? Number(row[column.name]) : row[column.name],
        ]),
      ),
    );
    all.set(name, lines.sort());
  }
  return new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}
