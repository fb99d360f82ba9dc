/** Removes deleted data from SQLite's files, where it would otherwise stay until the space is reused. */
import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { PluginContext } from '../../../core/contract/plugin.ts';

/** Pages per step, each of which blocks other writes for some milliseconds. */
const PAGES = 200;
/**
 * Larger databases are not rewritten automatically: that takes about a second per 100 MB, and as much free space again.
 */
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
  /** Runs one step in its own transaction, while nobody else writes. */
  step<T>(work: (connection: Connection) => T): Promise<T>;
  /** Checkpoints and truncates the log. */
  emptyLog(): Promise<void>;
}

/**
 * Merges deleted words out of the word indexes, returns free pages to the file system, and empties the log. Everything
 * else that is deleted is overwritten at once (`secure_delete`).
 */
export async function clearDeleted({ step, emptyLog }: Parts): Promise<void> {
  for (const index of await step(wordIndexes)) {
    await step(connection => merge(connection, index, -PAGES)); // the whole index, not only what is due
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

/** Returns whether there was anything to merge. */
function merge(connection: Connection, index: string, pages: number): boolean {
  const before = changesOf(connection);
  connection.prepare(`insert into ${index} (${index}, rank) values ('merge', ?)`).run([pages]);
  return changesOf(connection) - before >= 2; // the statement itself counts as one change
}

function changesOf(connection: Connection): number {
  const [row] = connection.prepare('select total_changes() as changes').all([]) as { changes: number }[];
  return row?.changes ?? 0;
}

/** Returns whether more pages are free. */
function dropPages(connection: Connection): boolean {
  if (connection.pragma('auto_vacuum', { simple: true }) !== INCREMENTAL) return false;
  const before = connection.pragma('freelist_count', { simple: true });
  if (before === 0) return false;
  connection.pragma(`incremental_vacuum(${PAGES})`);
  return connection.pragma('freelist_count', { simple: true }) !== before;
}

/**
 * A database created before `secure_delete` still has deleted text in free pages, and never shrinks. It is rewritten
 * once, before anything is served. One that is too large for that, or for its disk, is left to the operator.
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
