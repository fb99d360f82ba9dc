/**
 * Record of a data directory in its `server.json`: which node it belongs to, and whether the database that goes
 * with it has accounts. If it had accounts, a database without any is the wrong one.
 */
import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Storage } from '../contract/plugin.ts';
import { AppError } from './errors.ts';

const FILE = 'server.json';
const Installation = z.object({
  /** Id of the node that uses this directory: jobs are leased in its name. */
  id: z.uuid(),
  /** The directory's inode. A copy of the directory has another inode, and becomes another node. */
  inode: z.string(),
  hasAccounts: z.boolean(),
});
type Installation = z.infer<typeof Installation>;

/** Records that a server uses this directory, and resolves to the record. */
export async function recordInstallation(dataDir: string, hasAccounts: boolean): Promise<Installation> {
  const known = await readInstallation(dataDir);
  const inode = String((await stat(dataDir, { bigint: true })).ino);
  const id = known?.inode === inode ? known.id : randomUUID();
  const installation = { id, inode, hasAccounts: hasAccounts || known?.hasAccounts === true };
  if (JSON.stringify(known) !== JSON.stringify(installation)) await write(dataDir, installation);
  return installation;
}

/**
 * @throws AppError `config_error` where the database is empty although the data directory belongs to one that
 * had accounts: starting anyway would create a new owner, and audio that waits for the old one would be lost
 */
export async function refuseLostDatabase(
  dataDir: string,
  database: Pick<Storage, 'describe'>,
): Promise<void> {
  const { isEmpty, title } = await database.describe();
  if (!isEmpty) return;
  const [sign] = await signsOfUse(dataDir);
  if (sign === undefined) return;
  throw new AppError(
    'config_error',
    `The ${title} is empty, but ${sign}: its own database is missing, and nothing was changed. Put back that ` +
      'database, or a backup of it, or correct storage and dataDir in the configuration. ' +
      `To begin anew, move the data directory away: mv ${dataDir} ${dataDir}.old`,
  );
}

async function signsOfUse(dataDir: string): Promise<string[]> {
  const installation = await readInstallation(dataDir);
  const [audio, backups] = await Promise.all([
    hasFile(dataDir, 'audio', '.log'),
    hasFile(dataDir, 'backups', '.db'),
  ]);
  return [
    installation?.hasAccounts ? `${join(dataDir, FILE)} says that it has accounts` : undefined,
    audio ? `${join(dataDir, 'audio')} holds audio that waits for its text` : undefined,
    backups ? `${join(dataDir, 'backups')} holds backups` : undefined,
  ].filter(sign => sign !== undefined);
}

async function hasFile(dataDir: string, folder: string, ending: string): Promise<boolean> {
  const dir = join(dataDir, folder);
  const names = (await readdir(dir).catch(() => [])).filter(name => name.endsWith(ending));
  const sizes = await Promise.all(names.map(async name => (await stat(join(dir, name))).size));
  return sizes.some(size => size > 0);
}

async function readInstallation(dataDir: string): Promise<Installation | null> {
  try {
    return Installation.parse(JSON.parse(await readFile(join(dataDir, FILE), 'utf8')));
  } catch {
    return null; // missing, or truncated by a loss of power: it is created again
  }
}

async function write(dataDir: string, installation: Installation): Promise<void> {
  const path = join(dataDir, FILE);
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(installation));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}
