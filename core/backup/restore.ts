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
import { basename, dirname, join, resolve } from 'node:path';
import { AppError } from '../runtime/errors.ts';
import { freeBytes, syncDirectory } from '../runtime/files.ts';
import { type ArchivedFile, DATABASE, type Manifest, readArchive } from './archive.ts';
import { checkDatabase } from './database-check.ts';
import { modelFolders, RESTORE_ENTRY } from './names.ts';

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
/** Unpacked and checked: what was interrupted from here on is finished. A time follows, that of what it replaces. */
const READY = 'restored-';
/** The same within the data directory, once none of the previous data is left there but what stays. */
const ARRIVING = 'arriving-';
const REPLACED = 'replaced-';
/** Marks the data directory as one that had accounts: without its database, no server starts there. */
const INSTALLATION = 'server.json';
/** Root of an ext4 file system. */
const LOST_AND_FOUND = 'lost+found';

/**
 * Unpacks a backup beside a data directory, checks every file and the database, and then replaces the directory. One
 * that cannot be renamed, such as a mount point, is replaced entry by entry, the database last. If anything fails before
 * that, the directory is unchanged; what is killed after that is finished by `finishRestore`.
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
    const time = stamp();
    await rename(draft, `${prefix}${READY}${time}`);
    await syncDirectory(dirname(draft));
    const replaced = await (isFixed ? moveInto : takePlace)(dataDir, time);
    return { manifest, replaced, abandoned: await abandonedBeside(draft) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Finishes a restore that was killed after its check: it is in place as a whole then, and what it replaces is beside it.
 * @returns where the previous contents are; undefined: no restore was left unfinished
 * @throws {AppError} `conflict` where the directory cannot be replaced
 */
export async function finishRestore(given: string): Promise<string | null | undefined> {
  const dataDir = resolve(given);
  let replaced: string | null | undefined;
  for (const { time, isFixed } of await unfinished(dataDir))
    replaced = await (isFixed ? moveInto : takePlace)(dataDir, time);
  return replaced;
}

export const UNFINISHED_CURE = 'start the server, or restore again: either finishes it first';

/** Tells whether a restore was killed after its check, so that the data directory may not be whole, or not there. */
export async function isRestoreUnfinished(dataDir: string): Promise<boolean> {
  return (await unfinished(resolve(dataDir))).length > 0;
}

/** @throws {AppError} `conflict` */
export async function refuseUnfinishedRestore(dataDir: string): Promise<void> {
  if (await isRestoreUnfinished(dataDir))
    throw new AppError('conflict', `A restore into ${dataDir} was interrupted; ${UNFINISHED_CURE}`);
}

async function unfinished(dataDir: string): Promise<{ time: string; isFixed: boolean }[]> {
  const names = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
  const prefix = `${basename(dataDir)}.${READY}`;
  const beside = (await names(dirname(dataDir))).filter(name => name.startsWith(prefix));
  const within = (await names(dataDir)).flatMap(name => {
    const start = [READY, ARRIVING].find(each => name.startsWith(each));
    return start === undefined ? [] : [{ time: name.slice(start.length), isFixed: true }];
  });
  return [...beside.map(name => ({ time: name.slice(prefix.length), isFixed: false })), ...within];
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

/** Puts a directory that is ready in the place of the data directory. Every step may have been done before. */
async function takePlace(dataDir: string, time: string): Promise<string | null> {
  const [ready, replaced] = [`${dataDir}.${READY}${time}`, `${dataDir}.${REPLACED}${time}`];
  try {
    const there = await stateOf(dataDir);
    if (there === 'empty') await rmdir(dataDir);
    const isTaken = (await stateOf(replaced)) !== 'absent'; // what is in its place then came after a kill
    if (there === 'filled') await rename(dataDir, isTaken ? `${replaced}-later` : replaced);
    await keepUsable(replaced, ready, ['backups', ...(await modelFolders())]);
    await rename(ready, dataDir);
    await syncDirectory(dirname(dataDir));
  } catch (cause) {
    const isUnchanged = (await stateOf(replaced)) === 'absent' && (await stateOf(dataDir)) !== 'absent';
    if (!isUnchanged) throw inPart(dataDir, replaced, cause);
    const { code } = cause as NodeJS.ErrnoException;
    const left = await rm(ready, { recursive: true, force: true }).then(
      () => '',
      () => `: delete ${ready}, or restore again with another account`,
    );
    throw new AppError('conflict', `${dataDir} cannot be replaced (${code}), and is unchanged${left}`, {
      cause,
    });
  }
  return (await stateOf(replaced)) === 'absent' ? null : replaced;
}

/**
 * Replaces what is in a directory. From the first step, which takes the previous database away, until the new one
 * arrives, last, the record of the installation prevents a server from starting there with another database. Every step
 * may have been done before.
 */
async function moveInto(dataDir: string, time: string): Promise<string | null> {
  const replaced = join(dataDir, `${REPLACED}${time}`);
  try {
    await moveEntries(dataDir, time, replaced);
  } catch (cause) {
    throw inPart(dataDir, replaced, cause);
  }
  return (await stateOf(replaced)) === 'absent' ? null : replaced;
}

function inPart(dataDir: string, replaced: string, cause: unknown): AppError {
  const { code } = cause as NodeJS.ErrnoException;
  return new AppError(
    'conflict',
    `${dataDir} was replaced in part only (${code}), and previous data is in ${replaced}. Remove the cause, then start ` +
      'the server, or restore again, with an account that may rename the directory: either finishes it first',
    { cause },
  );
}

async function moveEntries(dataDir: string, time: string, replaced: string): Promise<void> {
  const [ready, arriving] = [join(dataDir, `${READY}${time}`), join(dataDir, `${ARRIVING}${time}`)];
  if ((await stateOf(ready)) !== 'absent') {
    await moveAside(dataDir, replaced);
    await keepUsable(replaced, ready, await modelFolders());
    await rename(ready, arriving);
  }
  const names = await readdir(arriving);
  const between = names.filter(name => name !== INSTALLATION && name !== DATABASE);
  for (const name of [INSTALLATION, ...between, DATABASE])
    await rename(join(arriving, name), join(dataDir, name)).catch(isAbsent);
  await rmdir(arriving);
  await syncDirectory(dataDir);
}

async function moveAside(dataDir: string, replaced: string): Promise<void> {
  const contents = await contentsOf(dataDir);
  if (contents.length === 0) return;
  await mkdir(replaced, { recursive: true, mode: 0o700 });
  await takeOwner(replaced, dataDir);
  await copyFile(join(dataDir, INSTALLATION), join(replaced, INSTALLATION)).catch(isAbsent);
  for (const name of [DATABASE, ...contents.filter(name => name !== DATABASE)])
    if (name !== INSTALLATION && name !== 'backups')
      await rename(join(dataDir, name), join(replaced, name)).catch(isAbsent);
}

/** Moves to the new data what it lacks, and the server would miss. */
async function keepUsable(replaced: string, ready: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const [from, to] = [join(replaced, path), join(ready, path)];
    if ((await stateOf(from)) === 'absent' || (await stateOf(to)) === 'filled') continue;
    const made = await mkdir(dirname(to), { recursive: true, mode: 0o700 });
    if (made !== undefined) await takeOwner(made, replaced);
    await rename(from, to);
  }
}

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
