import type { PluginContext, Row, Table } from '../../../core/contract/plugin.ts';
import type { Access } from './access.ts';
import type { Dialect, TableShape } from './dialect.ts';
import { MIGRATION_TABLES } from './migrations.ts';

/** In memory at a time: a row has at most a transcript's text, or 64 KiB of a plugin's. */
const ROWS_AT_ONCE = 250;

type Kind = 'text' | 'whole' | 'fraction' | 'boolean';
type Value = Row[string];

/** What the databases call their types. */
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
 * Every table that the database itself knows of: one that a later migration makes is among them. Within a transaction
 * that has just begun.
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
    const kinds = shape.columns.map(column => ({ column: column.name, kind: kindOf(name, column) }));
    if (key.length === 0) throw error('internal', `The ${place}: its table ${name} has no primary key`);

    const toRow = (raw: Record<string, unknown>): Row =>
      Object.fromEntries(
        kinds.map(({ column, kind }) => {
          const value = plain(kind, raw[column]);
          if (value !== undefined) return [column, value];
          const row = key.map(part => raw[part]).join(', ');
          throw error(
            'config_error',
            `The ${place}: in the table ${name}, ${column} of the row ${row} is not ${WORDS[kind]}`,
          );
        }),
      );

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
      storable(row) {
        const changed = Object.entries(row).flatMap(([column, value]) => {
          const kept = typeof value === 'string' ? tables.storable(value) : value;
          return kept === value ? [] : [[column, kept]];
        });
        return changed.length === 0 ? row : { ...row, ...Object.fromEntries(changed) };
      },
    };
  }

  function kindOf(table: string, { name, type }: TableShape['columns'][number]): Kind {
    const kind = KINDS[type];
    if (kind) return kind;
    throw error('internal', `The ${place}: ${table}.${name} is of a type that cannot be moved: ${type}`);
  }
}

/** Undefined: it is of another kind. */
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
