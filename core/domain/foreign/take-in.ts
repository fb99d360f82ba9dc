import type { Clock, User } from '../../contract/model.ts';
import type { FetchUser } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { AccountImport } from '../export/import.ts';
import { openForeignApi } from './foreign-api.ts';
import { openForeignFiles } from './foreign-files.ts';
import type { ForeignImports, ForeignOutcome } from './foreign-imports.ts';

interface Options {
  /** Whether nothing is changed. */
  dryRun: boolean;
  /** Key for an API; null: files are read. */
  key: string | null;
  onProgress(done: number): void;
}

export interface Taken {
  /** Counts by table, or by kind of item. */
  rows: Record<string, number>;
  /** Null: it was an archive of Earshot itself. */
  foreign: Omit<ForeignOutcome, 'counts'> | null;
}

export type TakeIn = ReturnType<typeof createTakeIn>;

/** Imports an archive of Earshot, or the data of another product. */
export function createTakeIn({
  accountImport,
  foreignImports,
  notifications,
  fetchUser,
  clock,
}: {
  accountImport: AccountImport;
  foreignImports: ForeignImports;
  notifications: { settings(userId: string): Promise<{ timeZone: string }> };
  fetchUser: FetchUser;
  clock: Pick<Clock, 'sleep'>;
}) {
  async function open(user: User, from: string, key: string | null) {
    const isAddress = /^https?:\/\//i.test(from);
    if (isAddress && key === null)
      throw new AppError(
        'invalid_request',
        `${from} needs the key of its API: name the file that contains it (--key-file)`,
      );
    if (isAddress && key !== null) return openForeignApi(from, { key: key.trim(), fetchUser, clock });
    const { timeZone } = await notifications.settings(user.id);
    return openForeignFiles(from, timeZone);
  }

  /** @param from a path, or the address of an API */
  return async (user: User, from: string, { dryRun, key, onProgress }: Options): Promise<Taken> => {
    const source = await open(user, from, key);
    if (source) {
      const run = dryRun ? foreignImports.check : foreignImports.take;
      const { counts, ...foreign } = await run(user, source, onProgress);
      return { rows: counts, foreign };
    }
    let done = 0;
    const rows = await accountImport.take(user, from, {
      dryRun,
      onProgress(written) {
        done += written.rows;
        onProgress(done);
      },
    });
    return { rows, foreign: null };
  };
}
