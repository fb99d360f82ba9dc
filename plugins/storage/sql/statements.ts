/**
 * Builds frequent statements as SQL shared by both databases. knex and objection take longer to build a statement than
 * the database takes to run it, so they are used only for rare or complicated ones.
 */
import type { Knex } from 'knex';
import type { Model } from 'objection';
import { type Mapping, mappingOf, type Value } from './models.ts';

/** SQL with a value for each `?`. */
export type Clause = readonly [sql: string, ...values: Value[]];

export interface Result {
  rows: Record<string, unknown>[];
  /** Number of rows written. */
  changes: number;
}

/** Addition of each dialect to knex's client, which compiles a statement once and runs it repeatedly. */
export interface Runner {
  execute(sql: string, values: readonly Value[]): Promise<Result>;
}

type TableOf<Row extends object> = Pick<typeof Model, 'tableName'> & (new () => Model & Row);

/** @param where conditions that must all hold; undefined ones are left out */
export async function select<Row extends object>(
  db: Knex,
  table: TableOf<Row>,
  where: readonly (Clause | undefined)[],
  [rest, ...values]: Clause = [''],
): Promise<Row[]> {
  const { tableName, wanted, plain } = mappingOf<Row>(table);
  const all = joined(where);
  const sql = `select ${wanted} from ${tableName} where ${all.sql} ${rest}`;
  const { rows } = await run(db, sql, [...all.values, ...values]);
  return rows.map(plain);
}

/** @param where conditions that must all hold */
export async function count<Row extends object>(
  db: Knex,
  table: TableOf<Row>,
  where: readonly (Clause | undefined)[],
): Promise<number> {
  const all = joined(where);
  const sql = `select count(*) as found from ${mappingOf<Row>(table).tableName} where ${all.sql}`;
  const [row] = (await run(db, sql, all.values)).rows;
  return Number(row?.found);
}

/** Selects rows whose related row in another table meets the conditions. */
export function among(column: string, table: string, key: string, where: readonly Clause[]): Clause {
  const all = joined(where);
  return [`${column} in (select ${key} from ${table} where ${all.sql})`, ...all.values];
}

export async function first<Row extends object>(
  db: Knex,
  table: TableOf<Row>,
  where: readonly Clause[],
  rest?: Clause,
): Promise<Row | null> {
  const [row] = await select(db, table, where, rest);
  return row ?? null;
}

/**
 * Reads a row together with the row of another table that it belongs to: `own` and `their` in conditions. The columns
 * read are listed for both tables.
 */
export function pair<Own extends object, Their extends object>(
  own: TableOf<Own>,
  their: TableOf<Their>,
  { on, where }: { on: string; where: string },
): (db: Knex, ...values: Value[]) => Promise<[Own, Their] | null> {
  const [one, other] = [mappingOf<Own>(own), mappingOf<Their>(their)];
  const columns = [
    ...one.names.map(name => `own.${name} as own_${name}`),
    ...other.names.map(name => `their.${name} as their_${name}`),
  ];
  const sql = `select ${columns} from ${one.tableName} as own
    join ${other.tableName} as their on ${on} where ${where}`;
  return async (db, ...values) => {
    const [row] = (await run(db, sql, values)).rows;
    if (!row) return null;
    return [one.plain(part(row, 'own_', one.names)), other.plain(part(row, 'their_', other.names))];
  };
}

function part(row: Result['rows'][number], prefix: string, names: readonly string[]): Result['rows'][number] {
  const own: Result['rows'][number] = {};
  for (const name of names) own[name] = row[prefix + name];
  return own;
}

/** @param conflict `on conflict …` */
export async function insert<Row extends object>(
  db: Knex,
  table: TableOf<Row>,
  rows: readonly Row[],
  conflict = '',
): Promise<number> {
  const mapping = mappingOf<Row>(table);
  let changes = 0;
  for (const row of rows) changes += (await run(db, ...insertion(mapping, row, conflict))).changes;
  return changes;
}

function insertion<Row>(
  { tableName, columns }: Mapping<Row>,
  row: Row,
  conflict: string,
): [sql: string, values: Value[]] {
  const given = columns(row);
  const names = Object.keys(given);
  const places = names.map(() => '?');
  return [
    `insert into ${tableName} (${names.map(name => `"${name}"`)}) values (${places}) ${conflict}`,
    Object.values(given),
  ];
}

/** Inserts a row, or replaces the one with the same key. */
export async function upsert<Row extends object>(
  db: Knex,
  table: TableOf<Row>,
  row: Row,
  key: readonly string[],
): Promise<void> {
  const mapping = mappingOf<Row>(table);
  const others = Object.keys(mapping.columns(row)).filter(name => !key.includes(name));
  const over = others.map(name => `"${name}" = excluded."${name}"`);
  await run(db, ...insertion(mapping, row, `on conflict (${key}) do update set ${over}`));
}

/** Resolves to the number of rows changed. */
export async function update<Row extends object>(
  db: Knex,
  table: TableOf<Row>,
  patch: Partial<Row>,
  where: readonly (Clause | undefined)[],
): Promise<number> {
  const { tableName, columns } = mappingOf<Row>(table);
  const changed = columns(patch);
  const names = Object.keys(changed).map(name => `"${name}" = ?`);
  const all = joined(where);
  const sql = `update ${tableName} set ${names} where ${all.sql}`;
  return (await run(db, sql, [...Object.values(changed), ...all.values])).changes;
}

/** Selects one row of a user. */
export function keyOf(userId: string, id: string): Clause[] {
  return [
    ['user_id = ?', userId],
    ['id = ?', id],
  ];
}

/** Leaves the condition out when there is no value to compare with. */
export function given(sql: string, value: Value | undefined): Clause | undefined {
  return value === undefined ? undefined : [sql, value];
}

/** Matches any of the values; an empty list matches nothing. */
export function oneOf(column: string, values: readonly Value[]): Clause {
  return values.length === 0 ? ['1 = 0'] : [`${column} in (${values.map(() => '?')})`, ...values];
}

/** Joins conditions that must all hold; undefined ones are left out. */
export function joined(clauses: readonly (Clause | undefined)[]): { sql: string; values: Value[] } {
  const given = clauses.filter(clause => clause !== undefined);
  return {
    sql: given.map(([sql]) => sql).join(' and '),
    values: given.flatMap(([, ...values]) => values),
  };
}

export function run(db: Knex, sql: string, values: readonly Value[]): Promise<Result> {
  return (db.client as Runner).execute(sql, values);
}
