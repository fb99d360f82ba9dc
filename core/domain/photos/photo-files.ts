import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '../../runtime/files.ts';

/** Each photo has two files: the full size, and a thumbnail. */
export type PhotoSize = 'whole' | 'small';

const ENDINGS: Readonly<Record<PhotoSize, string>> = { whole: '.jpg', small: '.small.jpg' };
const ID = /^([0-9a-f-]{36})\.(?:small\.)?jpg$/;

/** Files of photos, next to the database: a folder for each account. */
export function createPhotoFiles(dir: string) {
  const pathOf = (userId: string, id: string, size: PhotoSize) => join(dir, userId, `${id}${ENDINGS[size]}`);

  async function namesIn(folder: string): Promise<string[]> {
    return readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
  }

  return {
    /** Returns the paths for a photo's files, after creating the folder. */
    async place(userId: string, id: string): Promise<Record<PhotoSize, string>> {
      await mkdir(join(dir, userId), { recursive: true, mode: 0o700 });
      return { whole: pathOf(userId, id, 'whole'), small: pathOf(userId, id, 'small') };
    },
    /** Makes written files survive a power loss. */
    settle: (userId: string): Promise<void> => syncDirectory(join(dir, userId)),
    read: (userId: string, id: string, size: PhotoSize): Promise<Buffer> =>
      readFile(pathOf(userId, id, size)),
    async remove(userId: string, ids: readonly string[]): Promise<void> {
      for (const id of ids)
        for (const size of ['whole', 'small'] as const) await rm(pathOf(userId, id, size), { force: true });
    },
    removeAll: (userId: string): Promise<void> => rm(join(dir, userId), { recursive: true, force: true }),
    users: () => namesIn(dir),
    /** Ids of the photos that have files. */
    async ids(userId: string): Promise<string[]> {
      const names = await namesIn(join(dir, userId));
      return [...new Set(names.map(name => ID.exec(name)?.[1] ?? '').filter(id => id !== ''))];
    },
  };
}
