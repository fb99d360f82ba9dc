import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { ExecutionContext, TestFn } from 'ava';
import type { Overrides } from '../../config/load.ts';
import { openPostgres } from '../../plugins/storage/sql/postgres.ts';
import type { openDomain } from './domain.ts';
import { emptyDatabase, openPostgresStorage, postgresOptions, startPostgres, urlOf } from './postgres.ts';
import { PATTERN, type Shared } from './postgres-server.ts';
import { countingStt } from './services.ts';
import { type OpenStorage, storageContext, temporaryStorage } from './storage.ts';

interface Database {
  name: 'SQLite' | 'Postgres';
  /** Opens a new, migrated database. */
  open: NonNullable<Parameters<typeof openDomain>[1]>;
}

/**
 * Opens the databases that a whole file of tests runs on, one after the other: SQLite, and a Postgres server that files
 * share. Where Postgres cannot start, its tests are skipped, and a test says so, which fails in CI.
 */
export async function openDatabases(test: TestFn): Promise<Database[]> {
  const sqlite: Database = { name: 'SQLite', open: clock => temporaryStorage({ clock }) };
  const server = await sharedPostgres();
  if ('error' in server) {
    test('Postgres can be started, or this is not CI and its tests are skipped', t => {
      t.log(`SKIPPED: all tests on Postgres, for it cannot be started here. ${server.error}`);
      t.falsy(process.env.CI, server.error);
    });
    return [sqlite];
  }
  const { port, prefix } = server;
  const admin = openPostgres(postgresOptions({ url: urlOf(port, 'postgres') }), storageContext());
  test.after.always('disconnect from Postgres', () => admin.close());

  let count = 0;
  async function create(): Promise<string> {
    count += 1;
    const name = `${prefix}${count}`;
    await admin.writer.raw('create database ?? template ??', [name, PATTERN]);
    return urlOf(port, name);
  }

  /** Databases that their tests have closed. */
  const unused: string[] = [];
  async function make(): Promise<OpenStorage> {
    const used = unused.pop();
    if (used) await emptyDatabase(used);
    const url = used ?? (await create());
    const { storage, close } = await openPostgresStorage(url);
    let isOpen = true;
    return {
      storage,
      async close() {
        await close();
        if (isOpen) unused.push(url);
        isOpen = false;
      },
    };
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

/** Connects to the server that test files share, until this process ends. */
async function sharedPostgres(): Promise<Shared> {
  const socket = connect(process.env.EARSHOT_TEST_POSTGRES ?? '');
  const [answer] = await once(createInterface({ input: socket }), 'line');
  socket.unref();
  return JSON.parse(answer);
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
