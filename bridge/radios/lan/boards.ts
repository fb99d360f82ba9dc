import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const MAX_BOARDS = 64;
const ID = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

const Board = z.object({
  /** Lower case, with dashes. */
  id: z.string().regex(ID).max(64),
  /** Secret shared with the board. Not hashed, because both sides use it as a key to prove that they know it. */
  token: z.string().min(32).max(200),
});
/** A board on the local network that may send to this bridge. */
export type Board = z.output<typeof Board>;

/** @throws Error that names the file if it is damaged */
export async function readBoards(dir: string): Promise<Board[]> {
  const file = fileIn(dir);
  const text = await readFile(file, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return '[]';
    throw new Error(`cannot read the boards of the local network: ${error.message}`);
  });
  try {
    return z.array(Board).max(MAX_BOARDS).parse(JSON.parse(text));
  } catch {
    throw new Error(`${file} is damaged; remove it, and add the boards again: earshot bridge board add NAME`);
  }
}

/** Returns a text that changes whenever the file of boards does. */
export async function versionOfBoards(dir: string): Promise<string> {
  const { mtimeMs, size } = await stat(fileIn(dir)).catch(() => ({ mtimeMs: 0, size: 0 }));
  return `${mtimeMs} ${size}`;
}

/** @returns the token of the new board. @throws Error if the name is invalid or taken */
export async function addBoard(dir: string, id: string): Promise<string> {
  if (!ID.test(id) || id.length > 64)
    throw new Error(
      `${id} cannot be the name of a board: use lower-case letters, digits and dashes, such as desk-mic`,
    );
  const all = await readBoards(dir);
  if (all.some(board => board.id === id))
    throw new Error(`there is already a board ${id}; to remove it: earshot bridge board forget ${id}`);
  if (all.length >= MAX_BOARDS)
    throw new Error(`there are ${MAX_BOARDS} boards: forget one, with earshot bridge board forget NAME`);
  const token = `ear_board_${randomBytes(24).toString('hex')}`;
  await writeBoards(dir, [...all, { id, token }]);
  return token;
}

/** @throws Error if there is no board with this name */
export async function forgetBoard(dir: string, id: string): Promise<void> {
  const all = await readBoards(dir);
  if (!all.some(board => board.id === id))
    throw new Error(`no board is called ${id}; earshot bridge board list shows them`);
  await writeBoards(
    dir,
    all.filter(board => board.id !== id),
  );
}

/** Writes the file atomically, readable by this account only. */
async function writeBoards(dir: string, all: readonly Board[]): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const file = fileIn(dir);
  await writeFile(`${file}.new`, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

const fileIn = (dir: string) => join(dir, 'boards.json');
