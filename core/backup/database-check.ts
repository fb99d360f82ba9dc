import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AppError } from '../runtime/errors.ts';

const ENTRY = new URL(`./database-check-main${extname(import.meta.filename)}`, import.meta.url);

/**
 * Reads a whole SQLite file in a worker thread.
 * @param rows expected number of rows, by table
 * @throws AppError `invalid_input` where it is damaged, or its rows differ
 */
export async function checkDatabase(file: string, rows: Readonly<Record<string, number>>): Promise<void> {
  const worker = new Worker(ENTRY, { workerData: { file, tables: Object.keys(rows) }, execArgv: [] });
  try {
    const [counted]: [Record<string, number>] = (await once(worker, 'message')) as [Record<string, number>];
    const wrong = Object.keys(rows).find(table => counted[table] !== rows[table]);
    if (wrong !== undefined) throw new Error(`${wrong} has ${counted[wrong]} rows instead of ${rows[wrong]}`);
  } catch (cause) {
    throw new AppError('invalid_input', 'The database in the backup is damaged', { cause });
  } finally {
    await worker.terminate();
  }
}
