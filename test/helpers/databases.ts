import type { ExecutionContext, TestFn } from 'ava';
import type { Overrides } from '../../config/load.ts';
import { openPostgres } from '../../plugins/storage/sql/postgres.ts';
import type { openDomain } from './domain.ts';
import { openPostgresStorage, postgresOptions, startPostgres } from './postgres.ts';
import { countingStt } from './services.ts';
import { type OpenStorage, storageContext, temporaryStorage } from './storage.ts';

interface Database {
  name: 'SQLite' | 'Postgres';
  /** Opens a new, migrated database. */
  open: NonNullable<Parameters<typeof openDomain>[1]>;
}

/**
 * Opens the databases that a whole file of tests runs on, one after the other: SQLite, and a Postgres server of its
 * own, which is stopped after the last test. Where Postgres cannot start, its tests are skipped, and a test says so,
 * which fails in CI.
 */
export async function openDatabases(test: TestFn): Promise<Database[]> {
  const sqlite: Database = { name: 'SQLite', open: clock => temporaryStorage({ clock }) };
  const server = await startPostgres().catch((error: Error) => error);
  if (server instanceof Error) {
    test('Postgres can be started, or this is not CI and its tests are skipped', t => {
      t.log(`SKIPPED: all tests on Postgres, for it cannot be started here. ${server.message}`);
      t.falsy(process.env.CI, server.message);
    });
    return [sqlite];
  }
  const { url } = server;
  const admin = openPostgres(postgresOptions({ url: url('postgres') }), storageContext());
  await admin.writer.raw('create database pattern');
  const pattern = await openPostgresStorage(url('pattern'));
  await pattern.storage.migrate();
  await pattern.close();
  test.after.always('stop Postgres', async () => {
    await admin.close();
    await server.stop();
  });

  let count = 0;
  async function make(): Promise<OpenStorage> {
    count += 1;
    const name = `test${count}`;
    await admin.writer.raw('create database ?? template pattern', [name]);
    return openPostgresStorage(url(name));
  }

  /** One at a time: on a busy machine many simultaneous connections would time out. */
  let last: Promise<unknown> = Promise.resolve();
  function open(): Promise<OpenStorage> {
    const made = last.then(make);
    last = made.catch(() => {});
    return made;
  }
  return [sqlite, { name: 'Postgres', open }];
}

/** Configuration that stores data in this database; null if no Postgres can be started, which is logged. */
export async function serverOn(t: ExecutionContext, database: Database['name']): Promise<Overrides | null> {
  const { stt, plugins } = countingStt();
  if (database === 'SQLite') return { stt, plugins };
  const server = await startPostgres().catch((error: Error) => error);
  if (server instanceof Error) {
    t.log(`SKIPPED: Postgres cannot be started here. ${server.message}`);
    t.falsy(process.env.CI, server.message);
    return null;
  }
  t.teardown(server.stop);
  return { stt, plugins: { ...plugins, sql: { client: 'postgres', url: server.url('postgres') } } };
}
