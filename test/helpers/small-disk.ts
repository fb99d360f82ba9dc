import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { type FileHandle, open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A small mounted disk that can be filled. */
export interface SmallDisk {
  dir: string;
  /** Fills the disk, except for this many bytes. */
  fill(leaveBytes?: number): Promise<void>;
  empty(): Promise<void>;
  unmount(): void;
}

export const HOW_TO_GET_A_DISK = 'This account cannot mount one: run the tests as root, with CAP_SYS_ADMIN.';

/** Null if mounting is not permitted. */
export function mountSmallDisk(bytes: number): SmallDisk | null {
  const dir = mkdtempSync(join(tmpdir(), 'earshot-disk-'));
  const ballast = join(dir, 'ballast');
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    rmdirSync(dir);
    return null;
  }
  return {
    dir,
    async fill(leaveBytes = 0) {
      const file = await open(ballast, 'a');
      try {
        if (leaveBytes > 0)
          await file.appendFile(Buffer.alloc(Math.max(0, (await freeOf(dir)) - leaveBytes)));
        else for (const size of [1024 * 1024, 4096, 1]) await appendUntilFull(file, Buffer.alloc(size));
      } finally {
        await file.close();
      }
    },
    empty: () => rm(ballast),
    unmount() {
      execFileSync('umount', ['--lazy', dir]);
      rmdirSync(dir);
    },
  };
}

async function freeOf(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}

async function appendUntilFull(file: FileHandle, bytes: Buffer): Promise<void> {
  for (;;)
    try {
      await file.appendFile(bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
}
