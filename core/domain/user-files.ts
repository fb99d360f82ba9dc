/** Files beside the database that belong to rows: a folder for each account, and one or more files for each row. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn, syncDirectory } from '../runtime/files.ts';

const ID_CHARS = 36;
const CHECKED_AT_ONCE = 500;

export type UserFiles<Part extends string> = ReturnType<typeof createUserFiles<Part>>;

/** @param endings endings of the files of a row, by what is in them */
export function createUserFiles<Part extends string>(dir: string, endings: Readonly<Record<Part, string>>) {
  const parts = Object.keys(endings) as Part[];
  const pathOf = (userId: string, id: string, part: Part) => join(dir, userId, `${id}${endings[part]}`);

  /** Lists ids of rows that have files. */
  async function ids(userId: string): Promise<string[]> {
    const names = await namesIn(join(dir, userId));
    const known = names.filter(name => parts.some(part => name.slice(ID_CHARS) === endings[part]));
    return [...new Set(known.map(name => name.slice(0, ID_CHARS)))];
  }

  async function remove(userId: string, removed: readonly string[]): Promise<void> {
    for (const id of removed) for (const part of parts) await rm(pathOf(userId, id, part), { force: true });
  }

  return {
    pathOf,
    /** Returns the paths for a row's files, after creating the folder. */
    async place(userId: string, id: string): Promise<Record<Part, string>> {
      await mkdir(join(dir, userId), { recursive: true, mode: 0o700 });
      return Object.fromEntries(parts.map(part => [part, pathOf(userId, id, part)])) as Record<Part, string>;
    },
    /** Makes written files survive a power loss. */
    settle: (userId: string): Promise<void> => syncDirectory(join(dir, userId)),
    remove,
    removeAll: (userId: string): Promise<void> => rm(join(dir, userId), { recursive: true, force: true }),
    /** Lists accounts that have files. */
    users: () => namesIn(dir),
    /**
     * Removes files without a row: the process ended between the two. Returns their number.
     * @param rows finds rows by id
     * @param pending ids whose row is not stored yet
     */
    async removeOrphans(
      rows: (userId: string, ids: string[]) => Promise<{ id: string }[]>,
      pending: ReadonlySet<string>,
    ): Promise<number> {
      let removed = 0;
      for (const userId of await namesIn(dir)) {
        const all = (await ids(userId)).filter(id => !pending.has(id));
        for (let at = 0; at < all.length; at += CHECKED_AT_ONCE) {
          const some = all.slice(at, at + CHECKED_AT_ONCE);
          const there = new Set((await rows(userId, some)).map(({ id }) => id));
          const left = some.filter(id => !there.has(id) && !pending.has(id));
          await remove(userId, left);
          removed += left.length;
        }
      }
      return removed;
    },
  };
}
