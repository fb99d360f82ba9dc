/** Checks the integrity of a whole SQLite file, in a separate process because that blocks a thread for long. */
import { createRequire } from 'node:module';
import { TABLE } from './migrations.ts';

/** Report to the process that started this one. */
export interface SqliteState {
  version: string;
  /** Problems that `quick_check` found; empty if the file is sound. */
  problems: string[];
  /** Names of the migrations that ran. */
  migrations: string[];
}

interface Database {
  pragma(source: string): unknown;
  prepare(sql: string): { pluck(): { get(): unknown; all(): unknown[] } };
  close(): void;
}

const SQLite: new (file: string, options: { readonly: true; fileMustExist: true }) => Database =
  createRequire(import.meta.url)('better-sqlite3');

const MAX_PROBLEMS = 3;

function look(file: string): SqliteState {
  const database = new SQLite(file, { readonly: true, fileMustExist: true });
  const column = (sql: string) => database.prepare(sql).pluck();
  const texts = column(`pragma quick_check(${MAX_PROBLEMS})`).all().map(String);
  const hasTable = column(`select 1 from sqlite_master where name = '${TABLE}'`).get() !== undefined;
  const state = {
    version: String(column('select sqlite_version()').get()),
    problems: texts.filter(text => text !== 'ok'),
    migrations: hasTable ? column(`select name from ${TABLE} order by id`).all().map(String) : [],
  };
  database.close();
  return state;
}

try {
  process.send?.(look(process.argv[2] ?? ''));
} catch (error) {
  process.send?.({ failed: error instanceof Error ? error.message : String(error) });
}
