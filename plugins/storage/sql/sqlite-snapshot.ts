import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

const ENTRY = new URL(`./sqlite-snapshot-main${extname(import.meta.filename)}`, import.meta.url);

/**
 * Message to the thread: `copy` writes the database into the empty file `target`, `check` reads the whole of `target`.
 */
export type SnapshotTask = { task: 'copy'; file: string; target: string } | { task: 'check'; target: string };

/** Copies a SQLite file as of one moment into a new one, while others read and write it. */
export async function copySqlite(file: string, target: string): Promise<void> {
  await (await open(target, 'wx', 0o600)).close(); // SQLite fills an empty file and keeps its mode
  await inThread({ task: 'copy', file, target });
}

/** Counts the rows of each table. Rejects for a damaged file. Leaves no log beside it. */
export async function checkSqlite(target: string): Promise<Record<string, number>> {
  return (await inThread({ task: 'check', target })) as Record<string, number>;
}

/** Runs the task on a new thread, which it blocks for about a second per 200 MB. */
async function inThread(workerData: SnapshotTask): Promise<unknown> {
  const worker = new Worker(ENTRY, { workerData, execArgv: [], name: 'backup' });
  try {
    const [answer] = await once(worker, 'message'); // rejects with the error thrown there
    return answer;
  } finally {
    await worker.terminate();
  }
}
