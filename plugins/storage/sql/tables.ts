import type { Knex } from 'knex';
import type { OwnedTable, PluginContext, Row, Table } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import type { Dialect, TableShape } from './dialect.ts';
import { MIGRATION_TABLES } from './migrations.ts';

/** Rows in memory at a time; a row holds at most a transcript's text, or 64 KiB of a plugin's state. */
const ROWS_AT_ONCE = 250;

type Kind = 'text' | 'whole' | 'fraction' | 'boolean';
type Value = Row[string];

/** Kinds of columns, by the databases' type names. */
const KINDS: Readonly<Record<string, Kind>> = {
  text: 'text',
  bigint: 'whole',
  integer: 'whole',
  double: 'fraction',
  float: 'fraction',
  'double precision': 'fraction',
  boolean: 'boolean',
};

const WORDS: Readonly<Record<Kind, string>> = {
  text: 'text',
  whole: 'a whole number within 2^53',
  fraction: 'a number',
  boolean: 'true or false',
};

/**
 * Opens every table that the database lists, those of later migrations included. Call it at the start of a transaction.
 */
export async function openTables(
  { place, tables }: Pick<Dialect, 'place' | 'tables'>,
  { write }: Pick<Access, 'write'>,
  error: PluginContext<never>['error'],
): Promise<Table[]> {
  const found = await tables.shapes(query => write('tables', query));
  const shapes = parentsFirst(found.filter(({ name }) => !MIGRATION_TABLES.includes(name)));
  await tables.hold(
    query => write('tables.hold', query),
    shapes.map(({ name }) => name),
  );
  return shapes.map(openTable);

  function openTable(shape: TableShape): Table {
    const { name, key } = shape;
    const columns = columnsOf(place, shape, error);
    const toRow = rowReader(place, shape, columns, error);

    return {
      name,
      key,
      async count() {
        const [row] = await write(`${name}.count`, db => db(name).count('* as rows'));
        return Number(row?.rows);
      },
      async *read() {
        const pages = tables.pages(query => write(`${name}.read`, query), shape, ROWS_AT_ONCE);
        for await (const page of pages) yield page.map(toRow);
      },
      async write(rows) {
        for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
          await tables.insert(
            query => write(`${name}.write`, query),
            shape,
            rows.slice(at, at + ROWS_AT_ONCE),
          );
      },
      ...checksOf(tables, columns),
    };
  }
}

/** Validates rows before they are written. */
function checksOf(tables: Dialect['tables'], columns: readonly Column[]): Pick<Table, 'storable' | 'unfit'> {
  return {
    storable(row) {
      const changed = Object.entries(row).flatMap(([column, value]) => {
        const kept = typeof value === 'string' ? tables.storable(value) : value;
        return kept === value ? [] : [[column, kept]];
      });
      return changed.length === 0 ? row : { ...row, ...Object.fromEntries(changed) };
    },
    unfit(row) {
      const wrong = columns.find(({ name, kind }) => plain(kind, row[name]) === undefined);
      if (wrong) return wrong.name;
      const known = new Set(columns.map(column => column.name));
      return Object.keys(row).find(each => !known.has(each)) ?? null;
    },
  };
}

const OWNER = 'user_id';

/** Opens the tables with users' rows, each read page by page outside of any transaction. */
export async function openOwned(
  { place, tables }: Pick<Dialect, 'place' | 'tables'>,
  { read, atomic }: Pick<Access, 'read' | 'atomic'>,
  error: PluginContext<never>['error'],
): Promise<OwnedTable[]> {
  const found = await tables.shapes(query => read('tables', query));
  const owned = parentsFirst(found).filter(({ columns }) => columns.some(({ name }) => name === OWNER));
  return owned.map(shape => {
    const { name, key } = shape;
    const columns = columnsOf(place, shape, error);
    const toRow = rowReader(place, shape, columns, error);
    const wanted = shape.columns.map(column => column.name);
    /** Without the owner, whom SQLite would compare again: it would read all rows before the page. */
    const order = key.filter(column => column !== OWNER);
    return {
      name,
      async *rows(userId) {
        for (let last: Knex.Value[] | null = null; ; ) {
          const after: Knex.Value[] | null = last;
          const page: Record<string, unknown>[] = await read(`${name}.owned`, db => {
            const query = db(name).select(wanted).where(OWNER, userId).orderBy(key).limit(ROWS_AT_ONCE);
            if (!after) return query;
            return query.whereRaw(`(${order.map(() => '??')}) > (${order.map(() => '?')})`, [
              ...order,
              ...after,
            ]);
          });
          if (page.length > 0) yield page.map(toRow);
          if (page.length < ROWS_AT_ONCE) return;
          last = order.map(column => page.at(-1)?.[column] as Knex.Value); // read from this database
        }
      },
      ...checksOf(tables, columns),
      async write(rows) {
        await atomic(`${name}.write`, db => tables.insert(query => Promise.resolve(query(db)), shape, rows));
      },
      async clear(userId) {
        for (let removed = ROWS_AT_ONCE; removed === ROWS_AT_ONCE; )
          removed = await atomic(`${name}.clear`, db =>
            db(name)
              .whereIn(key as string[], db(name).select(key).where(OWNER, userId).limit(ROWS_AT_ONCE))
              .delete(),
          );
      },
    };
  });
}

interface Column {
  name: string;
  kind: Kind;
}

function columnsOf(place: string, shape: TableShape, error: PluginContext<never>['error']): Column[] {
  if (shape.key.length === 0)
    throw error('internal', `The ${place}: its table ${shape.name} has no primary key`);
  return shape.columns.map(({ name, type }) => {
    const kind = KINDS[type];
    if (kind) return { name, kind };
    throw error('internal', `The ${place}: ${shape.name}.${name} is of a type that cannot be moved: ${type}`);
  });
}

function rowReader(
  place: string,
  { name, key }: TableShape,
  columns: readonly Column[],
  error: PluginContext<never>['error'],
): (raw: Record<string, unknown>) => Row {
  return raw =>
    Object.fromEntries(
      columns.map(({ name: column, kind }) => {
        const value = plain(kind, raw[column]);
        if (value !== undefined) return [column, value];
        const row = key.map(part => raw[part]).join(', ');
        throw error(
          'config_error',
          `The ${place}: in the table ${name}, ${column} of the row ${row} is not ${WORDS[kind]}`,
        );
      }),
    );
}

/** Undefined for a value of another kind. */
function plain(kind: Kind, value: unknown): Value | undefined {
  if (value === null) return null;
  if (kind === 'text') return typeof value === 'string' ? value : undefined;
  if (kind === 'boolean')
    return value === true || value === 1 ? true : value === false || value === 0 ? false : undefined;
  if (typeof value !== 'number') return undefined;
  return kind === 'fraction' || Number.isSafeInteger(value) ? value : undefined;
}

function parentsFirst(shapes: readonly TableShape[]): TableShape[] {
  const ordered: TableShape[] = [];
  const isPlaced = (name: string) => ordered.some(shape => shape.name === name);
  let waiting = [...shapes].sort((a, b) => (a.name < b.name ? -1 : 1));
  while (waiting.length > 0) {
    const ready = waiting.filter(({ name, parents }) =>
      parents.every(parent => parent === name || isPlaced(parent)),
    );
    if (ready.length === 0)
      throw new Error(`tables belong to each other: ${waiting.map(({ name }) => name)}`);
    ordered.push(...ready);
    waiting = waiting.filter(shape => !ready.includes(shape));
  }
  return ordered;
}
