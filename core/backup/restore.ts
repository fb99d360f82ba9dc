import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chown, mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../runtime/errors.ts';
import { freeBytes, syncDirectory } from '../runtime/files.ts';
import { type ArchivedFile, DATABASE, type Manifest, readArchive } from './archive.ts';
import { checkDatabase } from './database-check.ts';

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
}

/**
 * Unpacks a backup beside a data directory, checks every file and the database, and then replaces the directory in
 * one step. If anything fails before that, the directory is unchanged.
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
  const draft = `${dataDir}.restoring-${randomUUID().slice(0, 8)}`;
  try {
    const manifest = await unpack({ file, identity, into: draft, ...(signal && { signal }) });
    await takeOwner(draft, there === 'absent' ? dirname(dataDir) : dataDir);
    const replaced = there === 'filled' ? `${dataDir}.replaced-${stamp()}` : null;
    await takePlace(draft, dataDir, there, replaced);
    return { manifest, replaced };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Reads a whole backup without unpacking it. */
export async function inspectBackup(file: string, identity: string | null): Promise<Manifest> {
  return readArchive(file, identity, async () => async () => null);
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
    return (await readdir(directory)).length === 0 ? 'empty' : 'filled';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
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
    throw new AppError(
      'conflict',
      `${dataDir} cannot be replaced as a whole (${code}), as when it is a mount point: restore into a new directory ` +
        'within it with --data-dir, and move what is in that up',
      { cause },
    );
  }
  await syncDirectory(dirname(dataDir));
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
    `The contents of the backup need ${Math.ceil(bytes / 1e6)} MB, and there are ${Math.floor(free / 1e6)} MB free for ${directory}`,
  );
}

function stamp(): string {
  return new Date().toISOString().slice(0, 19).replaceAll(':', '');
}
