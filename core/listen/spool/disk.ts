import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { freeBytes, syncDirectory } from '../../runtime/files.ts';

/** File access of an append log in one directory; an interface, so that tests can simulate a power failure. */
export interface Disk {
  list(): Promise<string[]>;
  /** Creates an empty file, whose name is durable when this resolves. */
  create(name: string): Promise<DiskFile>;
  read(name: string, offset?: number, length?: number): Promise<Buffer>;
  remove(name: string): Promise<void>;
  /** Free space in bytes. */
  free(): Promise<number>;
}

export interface DiskFile {
  /** Writes all bytes at this offset. */
  write(bytes: Buffer, offset: number): Promise<void>;
  /** Resolves once everything written is on the disk. */
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** Never removes a file: for a directory that another process may begin to use. */
export function keepingFiles(disk: Disk): Disk {
  return { ...disk, remove: async () => {} };
}

export async function openDisk(dir: string): Promise<Disk> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await syncDirectory(dirname(dir));

  return {
    list: () => readdir(dir),
    async create(name) {
      const handle = await open(join(dir, name), 'wx', 0o600);
      await syncDirectory(dir).catch(async error => {
        await handle.close();
        throw error;
      });
      return {
        async write(bytes, offset) {
          for (let done = 0; done < bytes.length; ) {
            const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done);
            done += bytesWritten;
          }
        },
        sync: () => handle.datasync(),
        truncate: length => handle.truncate(length),
        close: () => handle.close(),
      };
    },
    async read(name, offset = 0, length) {
      const handle = await open(join(dir, name), 'r');
      try {
        const wanted = length ?? (await handle.stat()).size - offset;
        const bytes = Buffer.alloc(wanted);
        const { bytesRead } = await handle.read(bytes, 0, wanted, offset);
        return bytes.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    },
    remove: name => rm(join(dir, name), { force: true }),
    free: () => freeBytes(dir),
  };
}
