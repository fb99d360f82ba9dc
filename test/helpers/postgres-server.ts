import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresServer } from './postgres.ts';

/** Answer to a test file that connects. */
export type Shared = { port: number; prefix: string } | { error: string };

/** Name of the migrated, empty database that others are copied from. */
export const PATTERN = 'pattern';

/**
 * Offers one Postgres server to all test files that run at the same time. Each holds a connection while it uses the
 * server, which starts for the first of them and stops with the last. Runs in AVA's main process.
 * @returns the socket to connect to
 */
export async function offerPostgres(): Promise<string> {
  const path = join(tmpdir(), `earshot-postgres-${process.pid}.sock`);
  let server: Promise<PostgresServer> | null = null;
  let users = 0;
  let given = 0;

  async function welcome(socket: Socket): Promise<void> {
    users += 1;
    socket.once('close', leave).on('error', () => {}); // it may be killed
    server ??= begin();
    given += 1;
    const prefix = `file${given}_`;
    const shared: Shared = await server.then(
      ({ port }) => ({ port, prefix }),
      (error: Error) => ({ error: error.message }),
    );
    socket.write(`${JSON.stringify(shared)}\n`);
  }

  function leave(): void {
    users -= 1;
    if (users > 0) return;
    void server?.then(({ stop }) => stop()).catch(() => {}); // it did not start
    server = null;
  }

  const offering = createServer(socket => void welcome(socket)).listen(path);
  offering.unref();
  process.once('exit', () => rmSync(path, { force: true }));
  await new Promise(resolve => offering.once('listening', resolve));
  return path;
}

async function begin(): Promise<PostgresServer> {
  const { openPostgresStorage, postgresOptions, startPostgres } = await import('./postgres.ts');
  const { openPostgres } = await import('../../plugins/storage/sql/postgres.ts');
  const { storageContext } = await import('./storage.ts');
  const server = await startPostgres();
  const admin = openPostgres(postgresOptions({ url: server.url('postgres') }), storageContext());
  await admin.writer.raw('create database ??', [PATTERN]);
  await admin.close();
  const pattern = await openPostgresStorage(server.url(PATTERN));
  await pattern.storage.migrate();
  await pattern.close();
  return server;
}
