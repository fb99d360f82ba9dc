import { constants, copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RecordingFiles } from '../../domain/recordings/recordings.ts';
import { AppError } from '../../runtime/errors.ts';
import { namesIn, noRoom, requireRoom, syncDirectory } from '../../runtime/files.ts';

const UNFINISHED = '.unfinished';

/**
 * Files of recordings outside the database, in a folder for each account.
 * @param minFreeBytes with less free space on the disk, no file is accepted
 */
export function createRecordingFiles(dir: string, minFreeBytes: number) {
  const pathOf = (userId: string, id: string) => join(dir, userId, id);

  async function size(path: string): Promise<number> {
    const found = await stat(path).catch(missing(path));
    if (!found.isFile()) throw new AppError('not_found', `${path} is no file`);
    return found.size;
  }

  async function take(userId: string, id: string, from: { path: string; isTemporary: boolean }) {
    const target = pathOf(userId, id);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const bytes = from.isTemporary ? 0 : await size(from.path); // a file that is moved is on this disk already
    await requireRoom(dir, minFreeBytes, bytes);
    if (from.isTemporary) await rename(from.path, target + UNFINISHED);
    else await copyFile(from.path, target + UNFINISHED, constants.COPYFILE_FICLONE).catch(missing(from.path));
    const file = await open(target + UNFINISHED, 'r');
    await file.sync().finally(() => file.close());
    await rename(target + UNFINISHED, target);
    await syncDirectory(dirname(target));
  }

  return {
    ...({ pathOf, size, take } satisfies Partial<RecordingFiles>),
    async remove(userId: string, id: string): Promise<void> {
      await rm(pathOf(userId, id), { force: true });
    },
    removeAll: (userId: string): Promise<void> => rm(join(dir, userId), { recursive: true, force: true }),
    /** Deletes files without a recording, which a process left that ended while it stored or deleted them. */
    async sweep(isWaiting: (userId: string, id: string) => Promise<boolean>): Promise<void> {
      for (const userId of await namesIn(dir))
        for (const name of await namesIn(join(dir, userId)))
          if (!(await isWaiting(userId, name))) await rm(join(dir, userId, name), { force: true });
    },
  };
}

function missing(path: string) {
  return (cause: NodeJS.ErrnoException): never => {
    if (cause.code === 'ENOSPC') throw noRoom(cause);
    throw new AppError('not_found', `${path} cannot be read`, { cause });
  };
}
