import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import knex, { type Knex } from 'knex';
import { pino } from 'pino';
import { z } from 'zod';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import type { AppError } from '../../../core/runtime/errors.ts';
import {
  claimOne,
  conversation,
  idsOf,
  job,
  segment,
  user,
} from '../../../plugins/kit/suites/storage/rows.ts';
import type { StorageSubject } from '../../../plugins/kit/suites/storage.ts';
import type { Dialect } from '../../../plugins/storage/sql/dialect.ts';
import sql from '../../../plugins/storage/sql/index.ts';
import { MIGRATIONS, type Migration } from '../../../plugins/storage/sql/migrations.ts';
import { openPostgres, type PostgresOptions } from '../../../plugins/storage/sql/postgres.ts';
import { createStorage, type StorageContext } from '../../../plugins/storage/sql/storage.ts';
import {
  emptyDatabase,
  openPostgresStorage,
  PASSWORD,
  type PostgresServer,
  postgresOptions,
  startPostgres,
} from '../../helpers/postgres.ts';
import { storageContext } from '../../helpers/storage.ts';
import { storageConformance } from '../kit/suites/storage.ts';

/** Serial: on a busy machine simultaneous connections of many tests would exceed their time limits. */
const test = anyTest.serial as unknown as TestFn;
/** A Postgres server of our own, or the reason why there is none. */
const server: PostgresServer | Error = await startPostgres().catch(error => error);

const admin = server instanceof Error ? null : await openAdmin(server);

anyTest.after.always('stop Postgres', async () => {
  if (server instanceof Error) return;
  await admin?.close();
  await server.stop();
});

if (server instanceof Error || !admin) {
  const reason = String(server);
  test('Postgres can be started, or this is not CI and its tests are skipped', t => {
    t.log(`SKIPPED: all tests of storage on Postgres, for it cannot be started here. ${reason}`);
    t.falsy(process.env.CI, reason);
  });
} else {
  testsOn(server, admin);
}

/** With `pattern`, a migrated database to copy. */
async function openAdmin({ url }: PostgresServer): Promise<Dialect> {
  const dialect = openPostgres(postgresOptions({ url: url('postgres') }), storageContext());
  await dialect.writer.raw('create database pattern');
  const pattern = await openPostgresStorage(url('pattern'));
  await pattern.storage.migrate();
  await pattern.close();
  return dialect;
}

function testsOn({ url, port }: PostgresServer, admin: Dialect): void {
  let count = 0;

  let last: Promise<unknown> = Promise.resolve();
  /** Serial: of a hundred at once, some would exceed the time limit for a connection. */
  function createDatabase(name: string, pattern = 'template1'): Promise<string> {
    const made = last.then(async () => {
      await admin.writer.raw('create database ?? template ??', [name, pattern]);
      return url(name);
    });
    last = made.catch(() => {});
    return made;
  }

  /** The address of a new database: migrated, or empty. */
  function database(pattern: 'pattern' | 'template1' = 'pattern'): Promise<string> {
    count += 1;
    return createDatabase(`test${count}`, pattern);
  }

  /** Migrated databases that their tests have closed. */
  const unused: string[] = [];

  async function openSubject(): Promise<StorageSubject> {
    const used = unused.pop();
    if (used) await emptyDatabase(used);
    const address = used ?? (await database());
    const first = await openPostgresStorage(address);
    const others: (() => Promise<void>)[] = [];
    return {
      storage: first.storage,
      async another() {
        const other = await openPostgresStorage(address);
        others.push(other.close);
        return other.storage;
      },
      async close() {
        for (const closeOther of others) await closeOther();
        await first.close();
        unused.push(address);
      },
    };
  }

  storageConformance(test, 'postgres', openSubject);

  interface Opening extends Partial<StorageContext> {
    migrations?: readonly Migration[];
    options?: Partial<PostgresOptions>;
  }

  /** Closed after the test. */
  async function open(
    t: ExecutionContext,
    address: string,
    { migrations, options, ...changes }: Opening = {},
  ) {
    const context = storageContext(changes);
    const dialect = openPostgres(postgresOptions({ url: address, ...options }), context);
    t.teardown(() => dialect.close());
    return { dialect, storage: await createStorage(dialect, context, migrations) };
  }

  // ── connection ────────────────────────────────────────────────────────────────────────────────────────────────────

  test('the plugin opens the database that the configuration names, and closes it', async t => {
    await createDatabase('by_pieces');
    for (const given of [
      { url: url('by_pieces') },
      { host: '127.0.0.1', port, database: 'by_pieces', password: PASSWORD },
    ]) {
      const undo: (() => void | Promise<void>)[] = [];
      const context = {
        ...storageContext(),
        options: sql.options(z).parse({ client: 'postgres', ...given }),
        dataDir: '/nowhere',
        onStop: (step: () => void | Promise<void>) => undo.push(step),
      } as unknown as PluginContext<z.infer<ReturnType<typeof sql.options>>>; // a storage plugin gets only these
      const { storage } = await sql.setup(context);
      await storage.migrate();
      t.deepEqual(await storage.users.list(), []);
      for (const step of undo.reverse()) await step();
      await t.throwsAsync(storage.users.list());
    }
  });

  test('an invalid address, or one without a database, is rejected', t => {
    const parse = (address: string) =>
      sql.options(z).safeParse({ client: 'postgres', url: address }).error?.message;
    t.regex(parse('mysql://host/earshot') ?? '', /postgres:\/\/user:password@host/);
    t.regex(parse('nonsense') ?? '', /postgres:\/\/user:password@host/);
    t.regex(parse('postgres://host:5432') ?? '', /names no database/);
    t.is(parse('postgresql://host/earshot?sslmode=verify-full'), undefined);
  });

  test('an unreachable server is reported by name, and the password stays hidden', async t => {
    const address = `postgres://earshot:${encodeURIComponent(PASSWORD)}@127.0.0.1:1/earshot`;
    const refusal = await t.throwsAsync<AppError>(open(t, address), { code: 'unavailable' });
    t.is(
      refusal?.message,
      'The database earshot on 127.0.0.1:1 cannot be reached: nothing listens there. ' +
        'Start Postgres, or correct plugins.sql.host and plugins.sql.port, or plugins.sql.url',
    );
    const shown = inspect(refusal, { depth: 9, showHidden: true });
    t.false(shown.includes(PASSWORD) || shown.includes(encodeURIComponent(PASSWORD)));
  });

  test('a wrong password, and an unknown database, are configuration errors', async t => {
    const wrong = await t.throwsAsync<AppError>(open(t, url('pattern', 'guessed')), { code: 'config_error' });
    t.regex(wrong?.message ?? '', /database pattern on 127\.0\.0\.1:\d+ refuses .*password is wrong/);
    t.false(inspect(wrong, { depth: 9 }).includes('guessed'));
    const absent = await t.throwsAsync<AppError>(open(t, url('absent')), { code: 'config_error' });
    t.regex(absent?.message ?? '', /no such database.*createdb/);
    const bare = openPostgres(postgresOptions({ port, database: 'pattern' }), storageContext());
    t.teardown(() => bare.close());
    await t.throwsAsync(createStorage(bare, storageContext()), { code: 'config_error', message: /password/ });
  });

  test('a server without TLS is refused when TLS is asked for', async t => {
    const options = postgresOptions({ port, database: 'pattern', password: PASSWORD, tls: true });
    const dialect = openPostgres(options, storageContext());
    t.teardown(() => dialect.close());
    await t.throwsAsync(createStorage(dialect, storageContext()), {
      code: 'config_error',
      message: /no TLS/,
    });
  });

  test('an uninitialised database is reported as such', async t => {
    const { storage } = await open(t, await database('template1'));
    await t.throwsAsync(storage.users.list(), { code: 'unavailable', message: /has not been set up/ });
  });

  test('a connection cut by the server is opened again', async t => {
    const { storage, dialect } = await open(t, await database(), { options: { readers: 1, writers: 1 } });
    await storage.users.insert(user('anna'));
    const { rows } = await dialect.writer.raw('select pg_backend_pid() as pid');
    await admin.writer.raw('select pg_terminate_backend(?, 5000)', [rows[0].pid]);
    await storage.users.insert(user('ben')).catch((error: AppError) => t.is(error.code, 'unavailable'));
    await storage.users.insert(user('carla'));
    t.true(idsOf(await storage.users.list()).includes('carla'));
  });

  test('a read-only connection cannot write', async t => {
    const { dialect } = await open(t, await database());
    await t.throwsAsync(async () => await dialect.reader('users').delete(), { code: '25006' });
  });

  // ── migrations ────────────────────────────────────────────────────────────────────────────────────────────────

  const noteMigration: Migration = {
    name: '9001-notes',
    up: db => db.schema.createTable('notes', table => void table.text('text')),
  };
  const brokenMigration: Migration = {
    name: '9002-broken',
    async up(db) {
      await db.schema.createTable('half', table => void table.text('text'));
      await db.raw('this is not SQL');
    },
  };

  test('two processes that migrate at the same time do it once', async t => {
    const address = await database('template1');
    const both = await Promise.all([open(t, address), open(t, address)]);
    await t.notThrowsAsync(Promise.all(both.map(({ storage }) => storage.migrate())));
    await both[0].storage.users.insert(user('anna'));
    t.deepEqual(idsOf(await both[1].storage.users.list()), ['anna']);
    t.is((await both[0].dialect.reader('migrations')).length, MIGRATIONS.length);
  });

  test('a failed migration leaves the database as it was, ready for a retry', async t => {
    const address = await database();
    const failing = await open(t, address, { migrations: [...MIGRATIONS, noteMigration, brokenMigration] });
    await failing.storage.users.insert(user('anna'));
    await t.throwsAsync(failing.storage.migrate(), { message: /migrate: .*syntax error/ });
    t.false(await failing.dialect.reader.schema.hasTable('notes'));
    t.false(await failing.dialect.reader.schema.hasTable('half'));
    const repaired = await open(t, address, { migrations: [...MIGRATIONS, noteMigration] });
    t.is((await repaired.storage.migrate()).to, MIGRATIONS.length + 1);
    t.deepEqual(idsOf(await repaired.storage.users.list()), ['anna']);
    await t.throwsAsync(open(t, address), { code: 'config_error', message: /newer Earshot/ });
  });

  test('a migration of an existing database tells the operator how to back it up, without the password', async t => {
    const { log, lines } = recorder();
    const { storage } = await open(t, await database(), { log, migrations: [...MIGRATIONS, noteMigration] });
    await storage.users.insert(user('anna'));
    t.is((await storage.migrate()).backup, null);
    t.regex(lines[0] ?? '', /pg_dump -Fc -h 127\.0\.0\.1 -p \d+ -f earshot-\S+\.dump test\d+/);
    t.false(lines.join('').includes(PASSWORD));
  });

  // ── processes and locks ───────────────────────────────────────────────────────────────────────────────────────

  test('a process killed in a transaction loses only that transaction', async t => {
    const address = await database();
    const { storage } = await open(t, address);
    const script = new URL('./interrupted-writer.ts', import.meta.url).pathname;
    const writer = spawn(process.execPath, [script, address], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(writer, 'exit');
    const [said] = await once(writer.stdout, 'data');
    t.is(String(said), 'writing\n');
    t.deepEqual(idsOf(await storage.users.list()), ['committed']);
    writer.kill('SIGKILL');
    await exited;
    await storage.transaction('after', tx => tx.users.insert(user('after')));
    t.deepEqual(idsOf(await storage.users.list()).sort(), ['after', 'committed']);
  });

  test('read-modify-write transactions of two processes lose nothing', async t => {
    const address = await database();
    const both = await Promise.all([open(t, address), open(t, address)]);
    const count = (storage: StorageSubject['storage']) =>
      storage.transaction('count', async tx => {
        const seen = await tx.pluginState.get('test', 'count');
        const value = typeof seen?.value === 'number' ? seen.value : 0;
        t.true(await tx.pluginState.compareAndSet('test', 'count', seen?.version ?? 0, value + 1));
      });
    await Promise.all(Array.from({ length: 20 }, (_, index) => count((both[index % 2] ?? both[0]).storage)));
    t.is((await both[0].storage.pluginState.get('test', 'count'))?.value, 20);
  });

  /** Within a transaction, `during` is run; the transaction ends after it. */
  async function whileHeld(
    storage: StorageSubject['storage'],
    during: () => Promise<unknown>,
  ): Promise<void> {
    const held = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const lock = storage.transaction('lock', async tx => {
      await tx.users.insert(user('held'));
      await tx.jobs.enqueue(job('taken', 1, { n: 2 }));
      held.resolve();
      await released.promise;
    });
    await held.promise;
    await during().finally(released.resolve);
    await lock;
  }

  test('a lock that is not released in time is reported as unavailable, and the connection stays usable', async t => {
    const address = await database();
    const { storage } = await open(t, address);
    const waiting = await open(t, address, { options: { lockMs: 50, writers: 1 } });
    await whileHeld(storage, async () => {
      const write = waiting.storage.transaction('waits', tx => tx.users.insert(user('anna')));
      await t.throwsAsync(write, { code: 'unavailable', message: /is busy/ });
      await t.throwsAsync(waiting.storage.users.insert(user('held')), { code: 'unavailable' });
    });
    await waiting.storage.transaction('goes', tx => tx.users.insert(user('anna')));
    t.is((await storage.users.list()).length, 2);
  });

  test('a claim skips jobs locked by a transaction, and never takes more than requested', async t => {
    const { storage } = await open(t, await database());
    for (const key of ['taken', 'a', 'b', 'c']) await storage.jobs.enqueue(job(key, 1));
    await whileHeld(storage, async () => {
      const first = await storage.jobs.claim(['finish'], 5, 1000, 2);
      const second = await storage.jobs.claim(['finish'], 5, 1000, 2);
      t.deepEqual([first.length, second.length], [2, 1]);
    });
    t.deepEqual((await claimOne(storage.jobs, 5)).payload, { n: 2 });
  });

  test('of two transactions in a deadlock, one continues and the other is unavailable', async t => {
    const address = await database();
    const { storage, dialect } = await open(t, address);
    await storage.users.insert(user('anna'));
    for (const id of ['c1', 'c2']) await storage.conversations.insert(conversation(id, 'anna'));
    const stranger = knex({ client: 'pg', connection: address }); // without our serial execution
    t.teardown(() => stranger.destroy());
    const touch = (db: Knex, id: string) => db('conversations').where({ id }).update({ starred: true });
    const theirs = await stranger.transaction();
    await touch(theirs, 'c1');
    const [ours, others] = await Promise.allSettled([
      storage.transaction('ours', async tx => {
        await tx.conversations.update('anna', 'c2', { starred: true });
        const crossing = touch(theirs, 'c2').then(() => theirs.commit());
        const [own, other] = await Promise.allSettled([
          tx.conversations.update('anna', 'c1', { starred: true }),
          crossing.catch(error => theirs.rollback(error)),
        ]);
        if (own.status === 'rejected') throw own.reason;
        return other;
      }),
      theirs.executionPromise,
    ]);
    const failures = [ours, others].flatMap(end => (end.status === 'rejected' ? [end.reason] : []));
    t.is(failures.length, 1);
    t.true(failures[0].code === 'unavailable' || dialect.fault(failures[0]) === 'busy', failures[0].message);
    await t.notThrowsAsync(storage.conversations.update('anna', 'c1', { starred: false }));
  });

  test('an instant between two milliseconds is rounded, an offset within a conversation is not', async t => {
    const { storage } = await open(t, await database());
    await storage.users.insert(user('anna'));
    const talk = conversation('c1', 'anna', { startedAt: 10.5 });
    await storage.conversations.insert(talk);
    await storage.conversations.update('anna', 'c1', { lastActivityAt: 20.25 });
    await storage.segments.upsert([segment('s1', talk, { start: 0.032, end: 1.75 })]);
    const stored = await storage.conversations.get('anna', 'c1');
    t.deepEqual([stored?.startedAt, stored?.lastActivityAt], [11, 20]);
    const last = await storage.segments.last('anna', 'c1');
    t.deepEqual([last?.start, last?.end], [0.032, 1.75]);
  });

  test('a character unsupported by Postgres is replaced', async t => {
    const { storage } = await open(t, await database());
    await storage.users.insert(user('anna'));
    const talk = conversation('c1', 'anna');
    await storage.conversations.insert(talk);
    await storage.segments.upsert([segment('s1', talk, { text: 'a\0b\0' })]);
    t.is((await storage.segments.last('anna', 'c1'))?.text, 'a\ufffdb\ufffd');
  });

  test('a database error does not quote the values to be stored', async t => {
    const { storage } = await open(t, await database());
    await storage.users.insert(user('anna'));
    const orphan = segment('s1', conversation('none', 'anna'), { text: 'nobody may read this' });
    const failure = await t.throwsAsync<AppError>(storage.segments.upsert([orphan]), { code: 'not_found' });
    t.false(inspect(failure, { depth: 9 }).includes(orphan.text));
    const talk = conversation('c1', 'anna');
    await storage.conversations.insert(talk);
    const impossible = segment('s1', talk, { text: 'nor this', end: null as unknown as number });
    const refusal = await t.throwsAsync<AppError>(storage.segments.upsert([impossible]), {
      code: 'internal',
    });
    t.false(inspect(refusal, { depth: 9 }).includes('nor this'));
  });
}

function recorder() {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return { log: pino({ level: 'warn' }, sink), lines };
}
