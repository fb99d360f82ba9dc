import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Knex } from 'knex';

const KEPT_BACKUPS = 3;

/**
 * Copies the database into `backups/` beside it and keeps the latest few. A backup appears under its name only when
 * complete and on disk.
 * @param label starts with the time, so that backups sort by age
 */
export async function backUp(database: Knex, file: string, label: string): Promise<string> {
  const directory = join(dirname(file), 'backups');
  const target = join(directory, `${basename(file, '.db')}-${label}.db`);
  const unfinished = `${target}.unfinished`;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await rm(unfinished, { force: true });
  await (await open(unfinished, 'wx', 0o600)).close(); // SQLite fills an empty file and keeps its mode
  await database.raw('vacuum into ?', [unfinished]);
  await sync(unfinished);
  await rename(unfinished, target);
  await sync(directory);
  await removeOld(directory);
  return target;
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

async function removeOld(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter(name => name.endsWith('.db')).sort();
  for (const name of names.slice(0, -KEPT_BACKUPS)) await rm(join(directory, name));
}
