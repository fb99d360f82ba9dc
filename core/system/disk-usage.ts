/** Space that the data directory takes, by purpose and by account. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { User } from '../contract/model.ts';
import { freeBytes } from '../runtime/files.ts';

/** Folders of the data directory that have a folder for each account. */
const OF_ACCOUNTS = ['photos', 'recordings', 'clips'] as const;
const DATABASE = /\.db(-wal|-shm)?$/;

export interface DiskUsage {
  /** On the disk of the data directory. */
  freeBytes: number;
  /** Folders of the data directory, its databases as `database`, its other files as `files`; the largest first. */
  parts: { name: string; bytes: number }[];
  /** Bytes of the files that an account has beside the database. */
  accounts: { id: string; name: string; photos: number; recordings: number; clips: number }[];
}

/** @param users every account */
export function createDiskUsage({ dataDir, users }: { dataDir: string; users: { list(): Promise<User[]> } }) {
  let measuring: Promise<DiskUsage> | null = null;

  async function measure(): Promise<DiskUsage> {
    const parts = new Map<string, number>();
    for (const entry of await readdir(dataDir, { withFileTypes: true })) {
      const name = entry.isDirectory() ? entry.name : DATABASE.test(entry.name) ? 'database' : 'files';
      parts.set(name, (parts.get(name) ?? 0) + (await bytesOf(join(dataDir, entry.name))));
    }
    const accounts: DiskUsage['accounts'] = [];
    for (const { id, name } of await users.list()) {
      const [photos = 0, recordings = 0, clips = 0] = await Promise.all(
        OF_ACCOUNTS.map(folder => bytesOf(join(dataDir, folder, id))),
      );
      accounts.push({ id, name, photos, recordings, clips });
    }
    return {
      freeBytes: await freeBytes(dataDir),
      parts: [...parts].map(([name, bytes]) => ({ name, bytes })).sort((a, b) => b.bytes - a.bytes),
      accounts,
    };
  }

  /** Measures, once for all who ask meanwhile. */
  return (): Promise<DiskUsage> => {
    measuring ??= measure().finally(() => {
      measuring = null;
    });
    return measuring;
  };
}

/** Bytes of a file, or of all files below a folder; what is gone meanwhile has none. Links are not followed. */
async function bytesOf(path: string): Promise<number> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true }).catch(() => null);
  if (entries === null) return (await stat(path).catch(() => ({ size: 0 }))).size;
  let sum = 0;
  for (const entry of entries)
    if (entry.isFile())
      sum += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  return sum;
}
