/** The thread that searches by words: what that takes of time, the thread that carries sockets does not notice. */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Answer, Asked } from './sqlite-search.ts';
import { type Ask, matchSqlite } from './word-index.ts';

interface Database {
  pragma(source: string): unknown;
  prepare(sql: string): { all(values: readonly unknown[]): Record<string, unknown>[] };
  close(): void;
}

const SQLite: new (file: string, options: { readonly: true; fileMustExist: true }) => Database =
  createRequire(import.meta.url)('better-sqlite3');

const database = new SQLite(String(workerData.file), { readonly: true, fileMustExist: true });
database.pragma('busy_timeout = 5000'); // nobody else waits for this thread
database.pragma('cache_size = -16000'); // kB: the words of 100,000 memories are read again and again

const kept = new Map<string, ReturnType<Database['prepare']>>();

const ask: Ask = async (sql, values) => {
  const statement = kept.get(sql) ?? database.prepare(sql);
  kept.set(sql, statement); // two for each table
  return statement.all(values);
};

parentPort?.on('message', async (asked: Asked | 'close') => {
  if (asked === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  const { number, table, question } = asked;
  try {
    tell({ number, ids: await matchSqlite(ask, table, question) });
  } catch {
    tell({ number, ids: null });
  }
});

function tell(answer: Answer): void {
  parentPort?.postMessage(answer);
}
