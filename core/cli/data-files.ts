import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { cp, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../runtime/errors.ts';

/** Files of a data directory beside the database, and how `move` treats them. Paths are relative to it. */
export interface DataFiles {
  /** Whether source and target are the same directory, so that nothing has to be copied. */
  stays: boolean;
  /** Files of the plugins: the key that signs ID tokens, speech models. */
  carried: string[];
  left: { path: string; why: string }[];
}

/** Directory that contains those of the plugins. */
const PLUGINS = 'plugins';

const LEFT = [
  {
    path: 'bridge',
    why: 'audio that waits for the server, and a key: run its bridge on the old directory until all is sent',
  },
  {
    path: 'audio',
    why: 'audio that waits for transcription: start the server on the old database once more, until none is left',
  },
  { path: 'backups', why: 'they are of the old database' },
];

/** Plans without changing anything. Rejects with `conflict` where a file would replace another one. */
export async function planFiles(oldDir: string, newDir: string): Promise<DataFiles> {
  if (await isSame(oldDir, newDir)) return { stays: true, carried: [], left: [] };
  const carried: string[] = [];
  for (const path of await filesIn(oldDir, PLUGINS)) {
    const isThere = await present(join(newDir, path));
    if (!isThere) carried.push(path);
    else await refuseAnother(join(oldDir, path), join(newDir, path));
  }
  const left: DataFiles['left'] = [];
  for (const each of LEFT) if ((await filesIn(oldDir, each.path)).length > 0) left.push(each);
  return { stays: false, carried, left };
}

/** Copies the planned files with their modes; nothing is replaced. */
export async function carryOver({ carried }: DataFiles, oldDir: string, newDir: string): Promise<void> {
  if (carried.length === 0) return;
  await cp(join(oldDir, PLUGINS), join(newDir, PLUGINS), { recursive: true, force: false });
}

async function filesIn(dir: string, path: string): Promise<string[]> {
  const entries = await readdir(join(dir, path), { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter(entry => entry.isFile())
    .map(entry => relative(dir, join(entry.parentPath, entry.name)))
    .sort();
}

async function isSame(oldDir: string, newDir: string): Promise<boolean> {
  const [before, after] = [await present(oldDir), await present(newDir)];
  return before !== null && before.dev === after?.dev && before.ino === after.ino;
}

async function present(path: string) {
  return stat(path, { bigint: true }).catch(() => null);
}

async function refuseAnother(old: string, present: string): Promise<void> {
  if ((await hashOf(old)) === (await hashOf(present))) return;
  throw new AppError(
    'conflict',
    `${present} exists, and differs from ${old}, which would be copied there: move it away`,
  );
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
