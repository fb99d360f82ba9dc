/**
 * The process that copies the files of a data directory. It is separate also because opening and closing a plugin's
 * database in the server's own process would release the locks that SQLite holds on it there.
 */
import { type Dirent, constants as FILES } from 'node:fs';
import { copyFile, link, open, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError } from '../runtime/errors.ts';
import { freeBytes } from '../runtime/files.ts';
import { modelFolders, RESTORE_ENTRY } from './names.ts';
import { type Staged, type StagedFiles, type StagingRequest, serveTask } from './task.ts';

/** How long to wait for another process to finish writing to a database. */
const BUSY_MS = 2000;
const SQLITE_BUSY = 5;
/** Space that must remain free when a backup begins. */
const SPARE_BYTES = 64 * 1024 * 1024;

await serveTask<'stage'>(stageAll);

async function stageAll(asked: StagingRequest): Promise<StagedFiles> {
  const found = await filesOf(asked);
  await refuseWithoutRoom(
    asked.to,
    found.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const staged: Staged[] = [];
  const held: string[] = [];
  for (const file of found) {
    const copy = await stage(file, join(asked.into, String(staged.length)));
    if (copy === 'held') held.push(file.path);
    else if (copy) staged.push(copy);
  }
  const { configFile, into } = asked;
  if (configFile !== null) staged.push(await stageConfiguration(configFile, join(into, 'configuration')));
  return { staged, held };
}

interface Found {
  /** In the data directory. */
  path: string;
  from: string;
  bytes: number;
}

async function filesOf({ dataDir, to }: StagingRequest): Promise<Found[]> {
  const without = await modelFolders();
  const found: Found[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const entry of await list(join(dataDir, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      const from = join(dataDir, path);
      if (without.includes(path) || from === to || isLeftOut(path)) continue;
      if (entry.isDirectory()) await walk(path);
      else if (entry.isFile()) {
        const state = await stat(from).catch(gone);
        if (state) found.push({ path, from, bytes: state.size });
      }
    }
  };
  await walk('');
  return found;
}

/**
 * Left out: side files of databases, drafts, and at the top level what `snapshot` copies or a running server creates anew.
 */
function isLeftOut(path: string): boolean {
  if (/-(wal|shm|journal)$|\.(new|tmp|unfinished)$/.test(path)) return true;
  if (path.includes('/')) return false;
  return (
    RESTORE_ENTRY.test(path) || /^(backups|exports|control\.sock|plugin-starts\.json|.*\.db)$/.test(path)
  );
}

async function list(folder: string): Promise<Dirent[]> {
  return (await readdir(folder, { withFileTypes: true }).catch(gone)) ?? [];
}

/** The server may delete files meanwhile. */
function gone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/**
 * Makes a copy that does not change any more. Files of the audio log only grow, and may be large: a hard link and
 * their present size suffice. Null where the file is gone.
 */
async function stage({ path, from, bytes }: Found, copy: string): Promise<Staged | 'held' | null> {
  try {
    if (/^audio\/[^/]+\.log$/.test(path)) {
      await link(from, copy).catch(() => copyFile(from, copy)); // on another disk
      return { path, from: copy, bytes };
    }
    if (await isSqlite(from)) {
      if (!copyDatabase(from, copy)) return 'held';
    } else await copyFile(from, copy, FILES.COPYFILE_FICLONE);
    return { path, from: copy, bytes: (await stat(copy)).size };
  } catch (error) {
    return gone(error as NodeJS.ErrnoException);
  }
}

async function isSqlite(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
    return bytesRead === 16 && buffer.toString('latin1') === 'SQLite format 3\0';
  } finally {
    await handle.close();
  }
}

/**
 * Copies the database of a plugin, which may write to it meanwhile. False: the plugin has locked out other processes.
 */
function copyDatabase(file: string, copy: string): boolean {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
  try {
    database.prepare('vacuum into ?').run(copy);
    return true;
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    return false;
  } finally {
    database.close();
  }
}

async function stageConfiguration(file: string, copy: string): Promise<Staged> {
  await copyFile(file, copy);
  return { path: `configuration/${basename(file)}`, from: copy, bytes: (await stat(copy)).size };
}

/** Checks for room: for a while, the copies and the archive exist side by side. */
async function refuseWithoutRoom(to: string, bytes: number): Promise<void> {
  const free = await freeBytes(to);
  const needed = 2 * bytes + SPARE_BYTES;
  if (free >= needed) return;
  const mb = (count: number) => `${Math.ceil(count / 1e6)} MB`;
  throw new AppError(
    'storage_full',
    `A backup in ${to} needs ${mb(needed)} of free space, and there are ${mb(free)}: make room, or name ` +
      'another directory (backup.directory, --to)',
  );
}
