import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { RESTORE_ENTRY } from './names.ts';

/** Data of deleted accounts that is kept elsewhere. */
export interface Remains {
  what: string;
  /** When it is deleted at the latest (epoch ms); null: when somebody deletes it. */
  until: number | null;
}

const MIGRATION_COPY = /-v\d+\.db$/;

/** Lists copies in and beside a data directory that no schedule deletes: those of migrations and of restores. */
export async function unscheduledCopies(dataDir: string): Promise<Remains[]> {
  const namesIn = (directory: string): Promise<string[]> => readdir(directory).catch(() => []);
  const copies = (await namesIn(join(dataDir, 'backups'))).some(name => MIGRATION_COPY.test(name));
  const beside = `${basename(resolve(dataDir))}.`;
  const replaced = [
    ...(await namesIn(dataDir)),
    ...(await namesIn(dirname(resolve(dataDir))))
      .filter(name => name.startsWith(beside))
      .map(name => name.slice(beside.length)),
  ].some(name => RESTORE_ENTRY.test(name));
  return [
    ...(copies ? [{ what: 'copies of the database from before an update', until: null }] : []),
    ...(replaced ? [{ what: 'data that a restore has replaced', until: null }] : []),
  ];
}
