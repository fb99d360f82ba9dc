import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

const ENTRY = new URL(`./sqlite-snapshot-main${extname(import.meta.filename)}`, import.meta.url);

/** To the thread: `copy` writes the database into the empty file `target`, `check` reads the whole of `target`. */
export type SnapshotTask = { task: 'copy'; file: string; target: string } | { task: 'check'; target: string };

/** Copies a SQLite file, as it is at one moment, into a new one; others read and write it meanwhile. */
export async function copySqlite(file: string, target: string): Promise<void> {
  await (await open(target, 'wx', 0o600)).close(); // SQLite fills an empty file, and leaves its mode
  await inThread({ task: 'copy', file, target });
}

/** The number of rows by table. Rejects where the file is damaged. Leaves no log beside it. */
export async function checkSqlite(target: string): Promise<Record<string, number>> {
  return (await inThread({ task: 'check', target })) as Record<string, number>;
}

/** Both hold a thread for as long as they take, about a second for 200 MB: one of their own. */
async function inThread(workerData: SnapshotTask): Promise<unknown> {
  const worker = new Worker(ENTRY, { workerData, execArgv: [], name: 'backup' });
  try {
    const [answer] = await once(worker, 'message'); // rejects with what was thrown there
    return answer;
  } finally {
    await worker.terminate();
  }
}
