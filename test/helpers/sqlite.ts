import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

/** A connection of better-sqlite3, as far as tests use it. */
interface Database {
  prepare(sql: string): {
    get(...values: unknown[]): Record<string, unknown> | undefined;
    all(...values: unknown[]): Record<string, unknown>[];
    run(...values: unknown[]): unknown;
  };
  exec(sql: string): void;
  close(): void;
}

const require = createRequire(import.meta.url);
const Connection: new (
  file: string,
  options?: { readonly?: boolean; timeout?: number },
) => Database = require('better-sqlite3');

/**
 * Opens a database with the server's copy of SQLite. A second copy in one process, such as `node:sqlite`, ignores the
 * first one's locks, so that each would overwrite the other's changes.
 */
export function openDatabase(file: string, options?: { readonly: true }): Database {
  return new Connection(file, options);
}

/** Runs statements that change a database. Waits asynchronously while a server in this process writes. */
export async function changeDatabase(file: string, sql: string): Promise<void> {
  const database = new Connection(file, { timeout: 0 });
  try {
    for (;;) {
      try {
        return database.exec(sql);
      } catch (error) {
        if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
        await sleep(5);
      }
    }
  } finally {
    database.close();
  }
}
