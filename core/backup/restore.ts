import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import {
  access,
  chown,
  copyFile,
  constants as FILES,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../runtime/errors.ts';
import { freeBytes, syncDirectory } from '../runtime/files.ts';
import { type ArchivedFile, DATABASE, type Manifest, readArchive } from './archive.ts';
import { checkDatabase } from './database-check.ts';
import { RESTORE_ENTRY } from './names.ts';

export interface RestoreRequest {
  file: string;
  /** The age private key; null: there is none. */
  identity: string | null;
  /** The directory that the backup replaces. */
  dataDir: string;
  /** True: moves the contents of `dataDir` aside; false: it has to be empty or absent. */
  replace: boolean;
  signal?: AbortSignal;
}

export interface Restored {
  manifest: Manifest;
  /** Where the previous contents are now; null: there were none. */
  replaced: string | null;
  /** Directories left by restores that were killed. */
  abandoned: string[];
}

const DRAFT = 'restoring-';
const DRAFT_ID_CHARS = 8;
const REPLACED = 'replaced-';
/** Marks the data directory as one that had accounts: without its database, no server starts there. */
const INSTALLATION = 'server.json';
/** Root of an ext4 file system. */
const LOST_AND_FOUND = 'lost+found';

/**
 * Unpacks a backup beside a data directory, checks every file and the database, and then replaces the directory in
 * one step. A directory that cannot be renamed, such as a mount point, is replaced entry by entry, the database last.
 * If anything fails before that, the directory is unchanged.
 */
export async function restoreBackup({
  file,
  identity,
  dataDir,
  replace,
  signal,
}: RestoreRequest): Promise<Restored> {
  const there = await stateOf(dataDir);
  if (there === 'filled' && !replace)
    throw new AppError(
      'conflict',
      `${dataDir} is not empty: move what is in it aside with --replace, or name another with --data-dir`,
    );
  const isFixed = there !== 'absent' && (await cannotBeRenamed(dataDir));
  const prefix = isFixed ? join(dataDir, '/') : `${dataDir}.`;
  const draft = `${prefix}${DRAFT}${randomUUID().slice(0, DRAFT_ID_CHARS)}`;
  try {
    const manifest = await unpack({ file, identity, into: draft, ...(signal && { signal }) });
    await takeOwner(draft, there === 'absent' ? dirname(dataDir) : dataDir);
    signal?.throwIfAborted();
    const replaced = there === 'filled' ? `${prefix}${REPLACED}${stamp()}` : null;
    if (isFixed) await moveInto(draft, dataDir, replaced);
    else await takePlace(draft, dataDir, there, replaced);
    await rm(draft, { recursive: true, force: true });
    return { manifest, replaced, abandoned: await abandonedBeside(draft) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function abandonedBeside(draft: string): Promise<string[]> {
  const folder = dirname(draft);
  const start = basename(draft).slice(0, -DRAFT_ID_CHARS);
  return (await readdir(folder)).filter(name => name.startsWith(start)).map(name => join(folder, name));
}

/** Reads a whole backup without unpacking it. */
export async function inspectBackup(
  file: string,
  identity: string | null,
  signal?: AbortSignal,
): Promise<Manifest> {
  return readArchive(file, identity, async () => async () => null, signal);
}

/** Unpacks into a new directory, and checks everything. */
export async function unpack({
  file,
  identity,
  into,
  signal,
}: {
  file: string;
  identity: string | null;
  into: string;
  signal?: AbortSignal;
}): Promise<Manifest> {
  await mkdir(into, { recursive: true, mode: 0o700 });
  const begin = async ({ files }: Manifest) => {
    await refuseWithoutRoom(
      into,
      files.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    return async ({ path }: ArchivedFile) => {
      const target = join(into, path);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      return createWriteStream(target, { flags: 'wx', mode: 0o600, flush: true });
    };
  };
  const manifest = await readArchive(file, identity, begin, signal);
  await checkDatabase(join(into, DATABASE), manifest.rows);
  return manifest;
}

async function stateOf(directory: string): Promise<'absent' | 'empty' | 'filled'> {
  try {
    return (await contentsOf(directory)).length === 0 ? 'empty' : 'filled';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
}

/** Entries of a data directory, without those of the file system and of other restores. */
async function contentsOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory);
  return entries.filter(name => name !== LOST_AND_FOUND && !RESTORE_ENTRY.test(name));
}

/** Whether a directory is a mount point, as in a container, or in a directory that cannot be written. */
async function cannotBeRenamed(directory: string): Promise<boolean> {
  const parent = dirname(directory);
  try {
    await access(parent, FILES.W_OK);
  } catch {
    return true;
  }
  if ((await stat(directory)).dev !== (await stat(parent)).dev) return true;
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => ''); // Linux alone has it
  const path = (await realpath(directory)).replace(/[ \t\n\\]/g, escapedByKernel);
  return mounts.split('\n').some(line => line.split(' ')[4] === path);
}

function escapedByKernel(character: string): string {
  return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
}

async function takePlace(
  draft: string,
  dataDir: string,
  there: string,
  replaced: string | null,
): Promise<void> {
  try {
    if (there === 'empty') await rmdir(dataDir);
    if (replaced !== null) await rename(dataDir, replaced);
    await rename(draft, dataDir);
    if (replaced !== null) await rename(join(replaced, 'backups'), join(dataDir, 'backups')).catch(isAbsent);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new AppError('conflict', `${dataDir} cannot be replaced (${code})`, { cause });
  }
  await syncDirectory(dirname(dataDir));
}

/**
 * Replaces what is in a directory. From the first step, which takes the previous database away, until the new one
 * arrives, last, the record of the installation prevents a server from starting there with another database.
 */
async function moveInto(draft: string, dataDir: string, replaced: string | null): Promise<void> {
  try {
    await moveEntries(draft, dataDir, replaced);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const rest = replaced === null ? '' : `, and previous data is in ${replaced}`;
    throw new AppError(
      'conflict',
      `${dataDir} was replaced in part only (${code})${rest}: restore again with --replace, or into another directory`,
      { cause },
    );
  }
}

async function moveEntries(draft: string, dataDir: string, replaced: string | null): Promise<void> {
  if (replaced !== null) {
    await mkdir(replaced, { mode: 0o700 });
    await takeOwner(replaced, dataDir);
    await copyFile(join(dataDir, INSTALLATION), join(replaced, INSTALLATION)).catch(isAbsent);
    const leaving = [DATABASE, ...(await contentsOf(dataDir)).filter(name => name !== DATABASE)];
    for (const name of leaving)
      if (name !== INSTALLATION && name !== 'backups')
        await rename(join(dataDir, name), join(replaced, name)).catch(isAbsent);
  }
  const between = (await readdir(draft)).filter(name => name !== INSTALLATION && name !== DATABASE);
  await rename(join(draft, INSTALLATION), join(dataDir, INSTALLATION)).catch(isAbsent);
  for (const name of [...between, DATABASE]) await rename(join(draft, name), join(dataDir, name));
  await syncDirectory(dataDir);
}

/** The backups, perhaps this one among them, stay with the data directory. */
function isAbsent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

/** A restore as root must leave files that the server's system account can read. */
async function takeOwner(draft: string, like: string): Promise<void> {
  const { uid, gid } = await stat(like);
  if (process.getuid?.() !== 0 || uid === 0) return;
  const entries = await readdir(draft, { recursive: true });
  for (const path of ['', ...entries]) await chown(join(draft, path), uid, gid);
}

async function refuseWithoutRoom(directory: string, bytes: number): Promise<void> {
  const free = await freeBytes(directory);
  if (free > bytes) return;
  throw new AppError(
    'storage_full',
    `The contents of the backup need ${Math.ceil(bytes / 1e6)} MB, and ${Math.floor(free / 1e6)} MB are free in ${dirname(directory)}`,
  );
}

function stamp(): string {
  return new Date().toISOString().slice(0, 23).replaceAll(':', '');
}
