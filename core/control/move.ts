import type { Row, Storage, Table } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';

/** Progress of a move: `done` of `total` rows of this table. */
export interface MoveProgress {
  table: string;
  step: 'copied' | 'compared';
  done: number;
  total: number;
}

export interface Moved {
  /** Titles of the two. */
  from: string;
  to: string;
  tables: { table: string; copied: number; compared: number }[];
  /** Columns with a character that the new storage cannot hold and replaces by another. */
  replaced: Replaced[];
}

interface Replaced {
  table: string;
  column: string;
  rows: number;
  /** Key of the first such row. */
  first: string;
}

interface Options {
  source: Storage;
  target: Storage;
  onProgress?(progress: MoveProgress): void;
  /** Completes the move, after all rows were verified. If it throws, no row is kept. */
  finish?(): Promise<void>;
}

/**
 * Copies all rows of one storage into another, empty one, and compares each with what can be read
 * back. If it rejects, the target is empty as before. The source is only read.
 * @throws {AppError} that names the table, the row and the column where there is one
 */
export async function move({ source, target, onProgress = () => {}, finish }: Options): Promise<Moved> {
  const [from, to] = await Promise.all([source.describe(), target.describe()]);
  if (from.id === to.id)
    throw new AppError(
      'conflict',
      `Both configurations mean the ${from.title}; name another one (EARSHOT_ variables win over both files)`,
    );
  if (from.due > 0)
    throw new AppError(
      'conflict',
      `The ${from.title} is of an older Earshot, or new: start the server on it once, stop it, and move it then`,
    );
  if (!to.isEmpty && to.due > 0) throw notEmpty(to.title, 'data of an older Earshot');
  await target.migrate();

  const replaced: Replaced[] = [];
  const tables = await source.tables(given =>
    target.tables(async taken => {
      await refuseFilled(to.title, taken);
      const pairs = pair(given, taken);
      const copied: number[] = [];
      for (const { old, fresh } of pairs) copied.push(await copy(old, fresh, replaced, onProgress));
      const compared: number[] = [];
      for (const { old, fresh } of pairs) compared.push(await compare(old, fresh, onProgress));
      await finish?.();
      return pairs.map(({ old }, i) => ({
        table: old.name,
        copied: copied[i] ?? 0,
        compared: compared[i] ?? 0,
      }));
    }),
  );
  return { from: from.title, to: to.title, tables, replaced };
}

async function refuseFilled(title: string, tables: Table[]): Promise<void> {
  const found: string[] = [];
  for (const table of tables) {
    const rows = await table.count();
    if (rows > 0) found.push(`${table.name} (${rows})`);
  }
  if (found.length > 0) throw notEmpty(title, `rows in ${found.join(', ')}`);
}

function notEmpty(title: string, found: string): AppError {
  return new AppError(
    'conflict',
    `The ${title} is not empty: it has ${found}. Name one that is new, or move that one away`,
  );
}

interface Pair {
  old: Table;
  fresh: Table;
}

/** Orders tables as the target does, where parents have to come first. */
function pair(given: Table[], taken: Table[]): Pair[] {
  const names = [...given, ...taken].map(({ name }) => name);
  const odd = names.filter(name => names.indexOf(name) === names.lastIndexOf(name));
  if (odd.length > 0)
    throw new AppError(
      'conflict',
      `The table exists in one of the two databases only: ${odd.join(', ')}: is it Earshot's?`,
    );
  return taken.flatMap(fresh => given.filter(old => old.name === fresh.name).map(old => ({ old, fresh })));
}

type Report = NonNullable<Options['onProgress']>;

async function copy(old: Table, fresh: Table, replaced: Replaced[], report: Report): Promise<number> {
  const total = await old.count();
  let done = 0;
  for await (const rows of old.read()) {
    for (const row of rows) noteReplaced(old, row, fresh.storable(row), replaced);
    await fresh.write(rows);
    done += rows.length;
    if (done > total) throw differs(old, `more than its ${total} rows were read`);
    report({ table: old.name, step: 'copied', done, total });
  }
  return done;
}

/** @throws where a key would change: other rows may name it */
function noteReplaced(table: Table, row: Row, kept: Row, replaced: Replaced[]): void {
  if (row === kept) return;
  const first = nameOf(table, row);
  for (const column of columnsThatDiffer(row, kept)) {
    if (table.key.includes(column))
      throw new AppError(
        'conflict',
        `The new storage cannot hold a character of ${column} in ${table.name}, row ${first}: change it in the old one`,
      );
    const noted = replaced.find(each => each.table === table.name && each.column === column);
    if (noted) noted.rows += 1;
    else replaced.push({ table: table.name, column, rows: 1, first });
  }
}

/** Compares rows in the same order on both sides, so a missing or surplus row shows its place. */
async function compare(old: Table, fresh: Table, report: Report): Promise<number> {
  const [total, copied] = [await old.count(), await fresh.count()];
  if (total !== copied) throw differs(old, `${total} rows became ${copied}`);
  const copies = rowsOf(fresh);
  let done = 0;
  try {
    for await (const rows of old.read()) {
      for (const row of rows) compareRow(old, fresh.storable(row), await copies.next());
      done += rows.length;
      report({ table: old.name, step: 'compared', done, total });
    }
    const { value: more } = await copies.next();
    if (more) throw differs(old, `row ${nameOf(old, more)} was read back, but is not there`);
    return done;
  } finally {
    await copies.return(undefined);
  }
}

async function* rowsOf(table: Table): AsyncGenerator<Row, undefined, undefined> {
  for await (const rows of table.read()) yield* rows;
}

function compareRow(table: Table, row: Row, { value: copy }: { value: Row | undefined }): void {
  const columns = copy ? columnsThatDiffer(row, copy) : table.key;
  if (columns.length === 0) return;
  const isAnother = table.key.some(column => columns.includes(column));
  const how = isAnother ? 'was not read back' : `was read back with another ${columns.join(', ')}`;
  throw differs(table, `row ${nameOf(table, row)} ${how}`);
}

function columnsThatDiffer(a: Row, b: Row): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(column => a[column] !== b[column]);
}

function differs({ name }: Table, how: string): AppError {
  return new AppError('internal', `The copy differs in ${name}: ${how}. Nothing was kept of it`);
}

function nameOf({ key }: Table, row: Row): string {
  return key.map(column => row[column]).join(', ');
}
