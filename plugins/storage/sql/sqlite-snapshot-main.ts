/** Copies a SQLite file and checks the copy, on a thread of its own. */
import { createRequire } from 'node:module';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { MIGRATION_TABLES } from './migrations.ts';
import type { SnapshotTask } from './sqlite-snapshot.ts';
import { isDerived } from './word-index.ts';

interface Database {
  pragma(source: string): unknown;
  prepare(sql: string): { run(...values: string[]): unknown; pluck(): { get(): unknown; all(): unknown[] } };
  close(): void;
}

const SQLite: new (file: string, options: { readonly?: boolean; fileMustExist: true }) => Database =
  createRequire(import.meta.url)('better-sqlite3');

/**
 * A backup archives the copy and deletes it; after a power loss it begins anew. Syncing hundreds of megabytes would
 * delay the syncs of live audio by up to 200 ms.
 */
const UNSYNCED = 'synchronous = off';

/** Nice value: live speech goes first. */
const PRIORITY = 10;
if (process.platform === 'linux') setPriority(PRIORITY); // of this thread; elsewhere it would be the whole process

const asked: SnapshotTask = workerData;
parentPort?.postMessage(asked.task === 'copy' ? copy(asked.file, asked.target) : check(asked.target));

function copy(file: string, target: string): void {
  const database = new SQLite(file, { readonly: true, fileMustExist: true });
  database.pragma(UNSYNCED);
  database.prepare('vacuum into ?').run(target);
  database.close();
}

function check(file: string): Record<string, number> {
  const database = new SQLite(file, { fileMustExist: true });
  database.pragma(UNSYNCED);
  database.pragma('journal_mode = delete'); // a single file without a log
  const column = (sql: string) => database.prepare(sql).pluck();
  const problems = column('pragma integrity_check(3)')
    .all()
    .filter(text => text !== 'ok');
  if (problems.length > 0) throw new Error(`the copy is damaged: ${problems.join('; ')}`);
  const names = column(
    `select name from pragma_table_list
     where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name`,
  )
    .all()
    .map(String)
    .filter(name => !isDerived(name) && !MIGRATION_TABLES.includes(name));
  const counts = names.map(name => [name, Number(column(`select count(*) from "${name}"`).get())]);
  database.close();
  return Object.fromEntries(counts);
}
