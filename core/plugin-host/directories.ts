/** Directories in which plugins keep their files. */
import { chmod, mkdir, stat } from 'node:fs/promises';
import type { Log } from '../runtime/log.ts';

/**
 * A directory that everybody may read was left so by accident, and becomes private. One that is open to its group
 * only was set up so on purpose and stays: the files in it are private in any case.
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
