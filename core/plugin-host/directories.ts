/** Directories in which plugins keep their files. */
import { chmod, mkdir, stat } from 'node:fs/promises';
import type { Log } from '../runtime/log.ts';

/**
 * Makes a world-readable directory private, as it is one by accident. A directory that is open to its group
 * only is treated as intended and stays: the files in it are private in any case.
 */
export async function makeDataDirectory(path: string, log: Log): Promise<string> {
  await makeDirectory(path);
  const { mode } = await stat(path);
  if ((mode & 0o007) === 0) return path;
  await chmod(path, 0o700).catch(error =>
    log.warn({ err: error, path }, 'other accounts may look into the data directory: chmod 700 it'),
  );
  return path;
}

/** Sets private permissions also on files that something else created. */
export async function makePrivateDirectory(path: string): Promise<string> {
  await makeDirectory(path);
  await chmod(path, 0o700);
  return path;
}

async function makeDirectory(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return path;
}
