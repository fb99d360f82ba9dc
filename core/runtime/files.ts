import { open, readdir, statfs } from 'node:fs/promises';
import { AppError } from './errors.ts';

/** Makes sure that changes to a directory's entries survive a power loss. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  await handle.sync().finally(() => handle.close());
}

/** Free bytes on the disk that holds a directory. */
export async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** @throws {AppError} `storage_full` where the disk would not keep so many bytes free beside `bytes` more */
export async function requireRoom(directory: string, minFreeBytes: number, bytes = 0): Promise<void> {
  if ((await freeBytes(directory)) - bytes < minFreeBytes) throw noRoom();
}

export function noRoom(cause?: unknown): AppError {
  return new AppError('storage_full', 'The disk of the server has no room for it', { cause });
}

/** Lists the names in a folder; none where there is no folder. */
export async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}
