/** The thread that reads a whole database. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const { file, tables }: { file: string; tables: string[] } = workerData;
const database = new DatabaseSync(file, { readOnly: true });
const problems = database
  .prepare('pragma integrity_check(3)')
  .all()
  .map(row => String(row.integrity_check))
  .filter(text => text !== 'ok');
if (problems.length > 0) throw new Error(problems.join('; '));
const counts = tables.map(table => {
  const row = database.prepare(`select count(*) as rows from "${table.replaceAll('"', '""')}"`).get();
  return [table, Number(row?.rows)];
});
database.close();
parentPort?.postMessage(Object.fromEntries(counts));
