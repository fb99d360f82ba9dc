/** Takes what was deleted out of SQLite's files, where it would stay until something else needs the room. */
import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { PluginContext } from '../../../core/contract/plugin.ts';

/** Pages per step, each of which blocks other writes for some milliseconds. */
const PAGES = 200;
/** A database that is larger is rewritten by hand: that takes about a second for 100 MB, and the room of a second one. */
const MAX_REWRITTEN_BYTES = 512 * 1024 * 1024;
const INCREMENTAL = 2;

interface Connection {
  pragma(source: string, options?: { simple: true }): unknown;
  prepare(sql: string): {
    run(values: readonly unknown[]): { changes: number };
    all(values: readonly unknown[]): unknown[];
  };
}

interface Parts {
  /** One step, while nobody else writes: in a transaction of its own. */
  step<T>(work: (connection: Connection) => T): Promise<T>;
  /** Copies the log into the database and empties the file. */
  emptyLog(): Promise<void>;
}

/**
 * Words that were deleted leave the word indexes, free pages leave the file, and the log is emptied. What is deleted
 * outside of the indexes is overwritten at once (`secure_delete`).
 */
export async function clearDeleted({ step, emptyLog }: Parts): Promise<void> {
  for (const index of await step(wordIndexes)) {
    await step(connection => merge(connection, index, -PAGES)); // all of it, not just what is due anyway
    while (await step(connection => merge(connection, index, PAGES)));
  }
  while (await step(dropPages));
  await emptyLog();
}

function wordIndexes(connection: Connection): string[] {
  const rows = connection
    .prepare(
      "select name from sqlite_master where type = 'table' and sql like 'create virtual table%using fts5%'",
    )
    .all([]) as { name: string }[];
  return rows.map(({ name }) => name);
}

/** Resolves to whether there was something to merge. */
function merge(connection: Connection, index: string, pages: number): boolean {
  const before = changesOf(connection);
  connection.prepare(`insert into ${index} (${index}, rank) values ('merge', ?)`).run([pages]);
  return changesOf(connection) - before >= 2; // the statement itself counts as one
}

function changesOf(connection: Connection): number {
  const [row] = connection.prepare('select total_changes() as changes').all([]) as { changes: number }[];
  return row?.changes ?? 0;
}

/** Resolves to whether more are free. */
function dropPages(connection: Connection): boolean {
  if (connection.pragma('auto_vacuum', { simple: true }) !== INCREMENTAL) return false;
  const before = connection.pragma('freelist_count', { simple: true });
  if (before === 0) return false;
  connection.pragma(`incremental_vacuum(${PAGES})`);
  return connection.pragma('freelist_count', { simple: true }) !== before;
}

/**
 * A database from before deleted text was overwritten still has it in free pages, and never gets smaller. It is
 * rewritten once, before anything is served. One that is too large for that, or for its disk, is left to its operator.
 */
export async function rewriteOnce(
  file: string,
  connection: Connection,
  { log }: Pick<PluginContext<never>, 'log'>,
  maxBytes: number = MAX_REWRITTEN_BYTES,
): Promise<void> {
  if (connection.pragma('auto_vacuum', { simple: true }) === INCREMENTAL) return;
  const { size } = statSync(file);
  const { bavail, bsize } = await statfs(dirname(file));
  if (size > maxBytes || bavail * bsize < 2 * size) {
    const command = `sqlite3 ${file} 'pragma auto_vacuum = incremental; vacuum'`;
    log.warn(
      { file, size, command },
      'the database still holds text that an earlier version deleted: it is too large, or the disk too full, to be rewritten at a start. Stop Earshot and run the command, which needs as much free room as the file takes, twice',
    );
    return;
  }
  log.info({ file, size }, 'the database is rewritten once, without what was deleted');
  connection.pragma('auto_vacuum = incremental');
  connection.prepare('vacuum').run([]);
}
