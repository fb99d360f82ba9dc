/** Searches by words and waits for the disk, on a thread other than the one that serves sockets. */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { Answer, Asked, Task } from './sqlite-thread.ts';
import { type Ask, matchSqlite } from './word-index.ts';

interface Database {
  pragma(source: string): Record<string, number>[];
  prepare(sql: string): { all(values: readonly unknown[]): Record<string, unknown>[] };
  close(): void;
}

const SQLite: new (file: string, options: { fileMustExist: true }) => Database = createRequire(
  import.meta.url,
)('better-sqlite3');

const database = new SQLite(String(workerData.file), { fileMustExist: true });
database.pragma('busy_timeout = 5000'); // nobody else waits for this thread
database.pragma('cache_size = -16000'); // kB: the words of 100,000 memories are read repeatedly
database.pragma('synchronous = normal'); // syncs before and after a checkpoint

const kept = new Map<string, ReturnType<Database['prepare']>>();

const ask: Ask = async (sql, values) => {
  const statement = kept.get(sql) ?? database.prepare(sql);
  kept.set(sql, statement); // two per table
  return statement.all(values);
};

parentPort?.on('message', async (asked: Asked | 'close') => {
  if (asked === 'close') {
    database.close();
    parentPort?.close();
    return;
  }
  const { number, task } = asked;
  try {
    tell({ number, found: await carryOut(task) });
  } catch {
    tell({ number, found: null });
  }
});

async function carryOut(task: Task): Promise<string[]> {
  if (typeof task === 'object') return matchSqlite(ask, task.table, task.question);
  const [state] = database.pragma(`wal_checkpoint(${task === 'empty' ? 'truncate' : 'passive'})`);
  if (state?.busy === 0 && state.log === state.checkpointed) beginLog();
  return [];
}

/**
 * The first write after a complete checkpoint waits for the sync of the log's new header. This write, which changes
 * nothing, takes that wait.
 */
function beginLog(): void {
  const [state] = database.pragma('user_version');
  database.pragma(`user_version = ${state?.user_version}`);
}

function tell(answer: Answer): void {
  parentPort?.postMessage(answer);
}
