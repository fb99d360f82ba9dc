import { existsSync, rmSync } from 'node:fs';
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Clock } from '../../core/contract/model.ts';
import type { Storage } from '../../core/contract/plugin.ts';
import { AppError } from '../../core/runtime/errors.ts';
import { openSqlite } from '../../plugins/storage/sql/sqlite.ts';
import { createStorage, type StorageContext } from '../../plugins/storage/sql/storage.ts';

const realClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    await sleep(ms, undefined, { signal });
  },
};

/** Builds the context of a storage plugin, silent by default. */
export function storageContext(changes: Partial<StorageContext> = {}): StorageContext {
  return {
    log: pino({ level: 'silent' }),
    clock: realClock,
    error: (code, message, options) => new AppError(code, message, options),
    ...changes,
  };
}

export interface OpenStorage {
  storage: Storage;
  close(): Promise<void>;
}

/** Opens the storage of a file without migrating it. */
export async function openStorage(
  file: string,
  changes: Partial<StorageContext> = {},
  busyMs?: number,
): Promise<OpenStorage> {
  const context = storageContext(changes);
  const dialect = openSqlite(file, context, busyMs);
  try {
    return { storage: await createStorage(dialect, context), close: () => dialect.close() };
  } catch (error) {
    await dialect.close();
    throw error;
  }
}

/** A migrated file to copy from: migrating each one would take half the time of many tests. */
let pattern: Promise<string> | undefined;

/** The file is shared by all processes of this run of AVA; the first that needs it makes it. */
async function makePattern(): Promise<string> {
  const shared = process.env.EARSHOT_TEST_SQLITE;
  if (shared && existsSync(shared)) return shared;
  const directory = await mkdtemp(join(tmpdir(), 'earshot-pattern-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'earshot.db');
  const { storage, close } = await openStorage(file);
  await storage.migrate();
  await close();
  if (!shared) return file;
  await rename(file, shared); // whole at once, for others that look
  return shared;
}

/** Creates a database file that is migrated and empty. */
export async function createMigrated(file: string): Promise<void> {
  pattern ??= makePattern();
  await copyFile(await pattern, file);
}

/** A migrated storage on a new file; `close` removes it. */
export async function temporaryStorage(
  changes: Partial<StorageContext> = {},
): Promise<OpenStorage & { file: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-storage-'));
  const file = join(directory, 'earshot.db');
  await createMigrated(file);
  const { storage, close } = await openStorage(file, changes);
  return {
    storage,
    file,
    async close() {
      await close();
      await rm(directory, { recursive: true });
    },
  };
}
