import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Row, Storage, Table } from '../../../core/contract/plugin.ts';
import { type MoveProgress, move } from '../../../core/control/move.ts';
import type { AppError } from '../../../core/runtime/errors.ts';
import {
  claimOne,
  conversation,
  job,
  memory,
  segment,
  user,
} from '../../../plugins/kit/suites/storage/rows.ts';
import type { Dialect } from '../../../plugins/storage/sql/dialect.ts';
import { MIGRATIONS, type Migration } from '../../../plugins/storage/sql/migrations.ts';
import { openPostgres } from '../../../plugins/storage/sql/postgres.ts';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../../plugins/storage/sql/storage.ts';
import { earshot } from '../../helpers/cli.ts';
import { dump, fillWithOddRows } from '../../helpers/odd-rows.ts';
import { type PostgresServer, postgresOptions, startPostgres } from '../../helpers/postgres.ts';
import { prepareData } from '../../helpers/services.ts';
import { storageContext } from '../../helpers/storage.ts';
import { amount, isThorough } from '../../helpers/thorough.ts';

/** Columns added from here on are absent in `insertAnOlderUser`. */
const BEFORE_ACCOUNTS = MIGRATIONS.findIndex(({ name }) => name === '0013-accounts');

/** A temporary server, or the reason why there is none. */
const server: PostgresServer | Error = await startPostgres().catch(error => error);
const directory = await mkdtemp(join(tmpdir(), 'earshot-move-'));

test.after.always('stop Postgres', async () => {
  if (!(server instanceof Error)) await server.stop();
  await rm(directory, { recursive: true });
});

const onPostgres = server instanceof Error ? test.serial.skip : test.serial;
type Client = 'sqlite' | 'postgres';
const CLIENTS: Client[] = server instanceof Error ? ['sqlite'] : ['sqlite', 'postgres'];
/** Pairs of source and target. */
const ROUTES = CLIENTS.flatMap(from => CLIENTS.map(to => [from, to] as const));

test.serial('Postgres can be started, or this is not CI and its moves are skipped', t => {
  if (!(server instanceof Error)) return t.true(server.port > 0);
  t.log(`SKIPPED: all moves from and to Postgres, for it cannot be started here. ${server}`);
  t.falsy(process.env.CI, String(server));
});

interface Setup {
  storage: Storage;
  dialect: Dialect;
  /** File or address. */
  place: string;
  close(): Promise<void>;
}
interface Opening {
  migrations?: readonly Migration[];
  place?: string;
  /** Time that a write waits for others. */
  patienceMs?: number;
}

/** Rows of each table: all unusual ones, and some more. */
const FEW = 111;
/** More than one batch, but not a multiple of one. */
const MANY = 1111;
/** Tables with many rows; all tables are read and written by the same code. */
const LARGE = ['users', 'conversations', 'segments', 'plugin_state'];

let count = 0;
/** @param pattern place of the database to copy; absent: an empty one is created */
async function newPlace(client: Client, pattern?: string): Promise<string> {
  count += 1;
  const name = `move${count}`;
  if (client === 'sqlite') {
    const file = join(directory, `${name}.db`);
    if (pattern) await copyFile(pattern, file);
    return file;
  }
  if (server instanceof Error) throw server;
  const admin = openPostgres(postgresOptions({ url: server.url('postgres') }), storageContext());
  const template = pattern ? new URL(pattern).pathname.slice(1) : 'template1';
  await admin.writer.raw('create database ?? template ??', [name, template]);
  await admin.close();
  return server.url(name);
}

/** Opens without migrating. Closed with the test, unless closed before. */
async function open(t: ExecutionContext, client: Client, opening: Opening = {}): Promise<Setup> {
  const { place = await newPlace(client), migrations, patienceMs: ms } = opening;
  const context = storageContext();
  const dialect =
    client === 'postgres'
      ? openPostgres(postgresOptions({ url: place, ...(ms && { lockMs: ms }) }), context)
      : openSqlite(place, context, ms);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= dialect.close();
    return closed;
  };
  t.teardown(close);
  return { storage: await createStorage(dialect, context, migrations), dialect, place, close };
}

/** Databases to copy from: migrating and filling each one would take half the time. */
const patterns = new Map<string, string>();

async function copyOf(t: ExecutionContext, client: Client, contents: 'nothing' | 'few rows') {
  const key = `${client} with ${contents}`;
  const pattern = patterns.get(key) ?? (await makePattern(t, client, contents === 'few rows'));
  patterns.set(key, pattern);
  return open(t, client, { place: await newPlace(client, pattern) });
}

async function makePattern(t: ExecutionContext, client: Client, isFilled: boolean): Promise<string> {
  const { storage, dialect, place, close } = await open(t, client);
  await storage.migrate();
  if (isFilled) await fillWithOddRows(dialect, () => FEW);
  await close();
  return place;
}

/** Opens a migrated, empty database. */
const openMigrated = (t: ExecutionContext, client: Client) => copyOf(t, client, 'nothing');

/** Opens a database with few unusual rows in each table. */
const openFilled = (t: ExecutionContext, client: Client) => copyOf(t, client, 'few rows');

/** Inserts a user with the columns of the first version. */
async function insertAnOlderUser({ dialect }: Setup, id: string): Promise<void> {
  const { name, issuer, subject, createdAt: created_at } = user(id);
  await dialect.writer('users').insert({ id, name, issuer, subject, created_at });
}

async function isEmpty({ dialect }: Setup): Promise<boolean> {
  const tables = await dump(dialect);
  return tables.size > 0 && [...tables.values()].every(rows => rows.length === 0);
}

function rowOf(lines: Map<string, string[]>): number {
  return [...lines.values()].reduce((sum, rows) => sum + rows.length, 0);
}

// ── what is moved ───────────────────────────────────────────────────────────────────────────────────────────────

for (const [from, to] of ROUTES)
  test.serial(`every unusual row of every table survives a move from ${from} to ${to} and back`, async t => {
    const isLarge = from === 'sqlite' && to === 'postgres'; // and back
    const rowsOf = (table: string) => (isLarge && LARGE.includes(table) ? MANY : amount(FEW, MANY));
    const source = await openMigrated(t, from);
    await fillWithOddRows(source.dialect, rowsOf);
    const [target, again] = [await open(t, to), await open(t, from)];
    const before = await dump(source.dialect);
    for (const [table, rows] of before) t.is(rows.length, rowsOf(table), table);
    for (const table of LARGE) t.true(before.has(table), table);

    const progress: MoveProgress[] = [];
    const moved = await move({
      source: source.storage,
      target: target.storage,
      onProgress: step => progress.push(step),
    });
    t.deepEqual(await dump(target.dialect), before);
    t.deepEqual(await dump(source.dialect), before);
    await move({ source: target.storage, target: again.storage });
    t.deepEqual(await dump(again.dialect), before);

    t.deepEqual(moved.tables.map(({ table }) => table).sort(), [...before.keys()]);
    for (const { table, copied, compared } of moved.tables) {
      const total = before.get(table)?.length ?? 0;
      t.deepEqual([copied, compared], [total, total], table);
      for (const step of ['copied', 'compared'] as const)
        t.deepEqual(
          progress.findLast(each => each.table === table && each.step === step),
          {
            table,
            step,
            done: total,
            total,
          },
        );
    }
    t.deepEqual(moved.replaced, []);
    t.deepEqual([moved.from, moved.to], [source.dialect.place, target.dialect.place]);
  });

for (const [from, to] of ROUTES)
  test.serial(`leases, dead jobs and state continue after a move from ${from} to ${to}`, async t => {
    const [source, target] = [await openMigrated(t, from), await openMigrated(t, to)];
    const { users, conversations, segments, jobs, pluginState } = source.storage;
    const talk = conversation('c1', 'anna', { status: 'completed', starred: true, geolocation: null });
    const said = segment('s1', talk, { text: 'Grüße 👋 "\\u0000"', start: 0.1, end: 1 / 3 });
    await users.insert(user('anna'));
    await conversations.insert(talk);
    await segments.upsert([said]);
    await pluginState.compareAndSet('acme', 'k', 0, { deep: [1, null, { ä: '\u2028' }] });
    await jobs.enqueue(job('dead', 10));
    const dead = await claimOne(jobs, 10);
    await jobs.dead(dead, 'given up');
    await jobs.enqueue(job('leased', 20));
    const leased = await claimOne(jobs, 20);

    await move({ source: source.storage, target: target.storage });
    const { storage } = target;
    t.deepEqual(await storage.users.list(), [user('anna')]);
    t.deepEqual(await storage.conversations.get('anna', 'c1'), talk);
    t.deepEqual(await storage.segments.list('anna', ['c1']), [said]);
    t.deepEqual(await storage.pluginState.get('acme', 'k'), {
      value: { deep: [1, null, { ä: '\u2028' }] },
      version: 1,
    });
    t.is(await storage.jobs.nextRunAt(['finish']), 1020, 'when the lease runs out');
    t.true(await storage.jobs.done(leased), 'who has the lease still has it');
    t.is(await storage.jobs.nextRunAt(['finish']), null, 'the dead stay dead');
    t.deepEqual((await dump(target.dialect)).get('jobs')?.length, 1);
  });

for (const client of CLIENTS)
  test.serial(`every table of ${client} is moved, except those that it creates itself`, async t => {
    const { storage, dialect } = await openMigrated(t, client);
    const query =
      client === 'sqlite'
        ? "select name from sqlite_master where type = 'table'"
        : "select table_name as name from information_schema.tables where table_schema = 'public'";
    const answer = await dialect.writer.raw(query);
    const names: string[] = (answer.rows ?? answer).map(({ name }: { name: string }) => name);
    const moved = await storage.tables(async tables => tables.map(({ name }) => name));
    t.deepEqual(
      names.filter(name => !/^(migrations|migrations_lock|sqlite_.*|.*_words?(_.*)?)$/.test(name)).sort(),
      moved.toSorted(),
    );
    t.true(moved.length >= 10);
  });

for (const [from, to] of ROUTES)
  test.serial(`memories moved from ${from} are found by their words in ${to}`, async t => {
    const [source, target] = [await openMigrated(t, from), await openMigrated(t, to)];
    await source.storage.users.insert(user('anna'));
    await source.storage.memories.insert([
      memory('m1', 'anna', { content: 'Drinks green tea' }),
      memory('m2', 'anna', { content: 'Lives in Łódź' }),
    ]);
    await source.storage.memories.remove('anna', 'm2');
    await move({ source: source.storage, target: target.storage });
    const { memories } = target.storage;
    t.deepEqual(await memories.match('anna', 'TEA', 10), ['m1']);
    await memories.update('anna', 'm1', { content: 'Drinks coffee' });
    t.deepEqual(await memories.match('anna', 'tea', 10), []);
    t.deepEqual(await memories.match('anna', 'coffee', 10), ['m1']);
  });

onPostgres(
  'no table uses a sequence for its ids: after a move, Postgres would count from 1 again',
  async t => {
    const { dialect } = await openMigrated(t, 'postgres');
    const { rows } = await dialect.writer.raw(
      `select table_name, column_name from information_schema.columns where table_schema = 'public'
     and table_name not like 'migrations%' and (column_default like 'nextval%' or is_identity = 'YES')`,
    );
    t.deepEqual(rows, []);
  },
);

// ── what a storage cannot hold ──────────────────────────────────────────────────────────────────────────────────

test.serial('U+0000 is kept by SQLite; for Postgres it is replaced, and reported', async t => {
  const source = await openMigrated(t, 'sqlite');
  await source.storage.users.insert(user('anna'));
  const talk = conversation('c1', 'anna');
  await source.storage.conversations.insert(talk);
  const texts = ['a\0b', 'plain', '\0\0'];
  await source.storage.segments.upsert(texts.map((text, n) => segment(`s${n}`, talk, { text, start: n })));
  const said = async ({ storage }: Setup) =>
    (await storage.segments.list('anna', ['c1'])).map(({ text }) => text);

  const file = await open(t, 'sqlite');
  t.deepEqual((await move({ source: source.storage, target: file.storage })).replaced, []);
  t.deepEqual(await said(file), texts);
  if (server instanceof Error) return;

  const postgres = await open(t, 'postgres');
  const { replaced } = await move({ source: source.storage, target: postgres.storage });
  t.deepEqual(replaced, [{ table: 'segments', column: 'text', rows: 2, first: 'anna, s0' }]);
  t.deepEqual(await said(postgres), ['a\ufffdb', 'plain', '\ufffd\ufffd']);

  await source.storage.pluginState.compareAndSet('acme', 'k\0', 0, 1);
  const other = await open(t, 'postgres');
  await t.throwsAsync(move({ source: source.storage, target: other.storage }), {
    code: 'conflict',
    message: /cannot hold a character of key in plugin_state, row acme, k/,
  });
  t.true(await isEmpty(other));
});

for (const [what, column, value] of [
  ['a number that is too large', 'created_at', '9007199254740993'],
  ['text where a number should be', 'created_at', 'yesterday'],
  ['bytes where text should be', 'name', Buffer.from([0xff])],
] as const)
  test.serial(`${what} is refused with its table, row and column`, async t => {
    const [source, target] = [await openMigrated(t, 'sqlite'), await open(t, 'sqlite')];
    await source.storage.users.insert(user('anna'));
    await source.dialect.writer('users').update(column, value);
    const refusal = await t.throwsAsync<AppError>(move({ source: source.storage, target: target.storage }));
    t.is(refusal?.code, 'config_error');
    t.true(
      refusal?.message.startsWith(
        `The ${source.dialect.place}: in the table users, ${column} of the row anna is not `,
      ),
      refusal?.message,
    );
    t.true(await isEmpty(target));
  });

// ── refusals ────────────────────────────────────────────────────────────────────────────────────────────────────

for (const client of CLIENTS) {
  test.serial(`a non-empty ${client} database is refused with its contents`, async t => {
    const [source, target] = [await openFilled(t, 'sqlite'), await openMigrated(t, client)];
    await target.storage.users.insert(user('ben'));
    await target.storage.jobs.enqueue(job('j1', 10));
    const before = await dump(target.dialect);
    const refusal = await t.throwsAsync(move({ source: source.storage, target: target.storage }), {
      code: 'conflict',
    });
    t.is(
      refusal?.message,
      `The ${target.dialect.place} is not empty: it has rows in jobs (1), users (1). ` +
        'Name one that is new, or move that one away',
    );
    t.deepEqual(await dump(target.dialect), before);
  });

  test.serial(`one ${client} database cannot be moved to itself, under any name`, async t => {
    const source = await openFilled(t, client);
    const otherName =
      client === 'sqlite' ? `${source.place}.link` : source.place.replace('127.0.0.1', 'localhost');
    if (client === 'sqlite') await symlink(source.place, otherName);
    const same = await open(t, client, { place: otherName });
    await t.throwsAsync(move({ source: source.storage, target: same.storage }), {
      code: 'conflict',
      message: /^Both configurations mean the database .*EARSHOT_/,
    });
  });

  test.serial(`a ${client} database of another version is refused; an empty target is migrated`, async t => {
    const older = MIGRATIONS.slice(0, BEFORE_ACCOUNTS);
    const source = await open(t, client, { migrations: older });
    await source.storage.migrate();
    await insertAnOlderUser(source, 'anna');
    const target = await open(t, client, { migrations: older });
    await target.storage.migrate();
    const [now, then] = [
      await open(t, client, { place: source.place }),
      await open(t, client, { place: target.place }),
    ];
    await t.throwsAsync(move({ source: now.storage, target: then.storage }), {
      code: 'conflict',
      message: /is of an older Earshot, or new: start the server on it once/,
    });
    t.is(
      (await now.storage.describe()).due,
      MIGRATIONS.length - BEFORE_ACCOUNTS,
      'the source is not touched',
    );

    await now.storage.migrate();
    await t.throwsAsync(move({ source: then.storage, target: now.storage }), { message: /older Earshot/ });
    await move({ source: now.storage, target: then.storage });
    t.deepEqual(await then.storage.users.list(), [user('anna')]);

    const filled = await open(t, client, { migrations: older });
    await filled.storage.migrate();
    await insertAnOlderUser(filled, 'ben');
    const seen = await open(t, client, { place: filled.place });
    await t.throwsAsync(move({ source: now.storage, target: seen.storage }), {
      message: /is not empty: it has data of an older Earshot/,
    });
    t.is(
      (await seen.storage.describe()).due,
      MIGRATIONS.length - BEFORE_ACCOUNTS,
      'what is in use is not changed',
    );
  });
}

test.serial('a table that only one side has is named', async t => {
  const [source, target] = [await openFilled(t, 'sqlite'), await openMigrated(t, 'sqlite')];
  await target.dialect.writer.raw('create table theirs (id text primary key)');
  await t.throwsAsync(move({ source: source.storage, target: target.storage }), {
    code: 'conflict',
    message: /The table exists in one of the two databases only: theirs/,
  });
});

// ── all or nothing ──────────────────────────────────────────────────────────────────────────────────────────────

/** A target that makes one mistake when it is written or read. */
function faulty(storage: Storage, table: string, change: (table: Table) => Partial<Table>): Storage {
  return {
    ...storage,
    tables: work =>
      storage.tables(tables =>
        work(tables.map(each => (each.name === table ? { ...each, ...change(each) } : each))),
      ),
  };
}

const isMarked = (row: Row) => String(row.id).startsWith('100 ');
const FAULTS: [string, RegExp, (table: Table) => Partial<Table>][] = [
  [
    'a lost row',
    /differs in segments: 111 rows became 110/,
    table => ({ write: rows => table.write(rows.filter(row => !isMarked(row))) }),
  ],
  [
    'a changed value',
    /differs in segments: row 100 .* was read back with another start/s,
    table => ({ write: rows => table.write(rows.map(row => (isMarked(row) ? { ...row, start: 7 } : row))) }),
  ],
  [
    'a number that became text',
    /differs in segments: row .* was read back with another speaker_id/s,
    table => ({
      async *read() {
        for await (const rows of table.read())
          yield rows.map(row => ({ ...row, speaker_id: `${row.speaker_id}` }));
      },
    }),
  ],
  [
    'a row replaced by another',
    /differs in segments: row 100 .* was not read back/s,
    table => ({
      write: rows => table.write(rows.map(row => (isMarked(row) ? { ...row, id: '100x' } : row))),
    }),
  ],
];

for (const client of CLIENTS)
  for (const [what, message, change] of client === 'sqlite' || isThorough ? FAULTS : FAULTS.slice(0, 1))
    test.serial(`${what} is detected and named, and nothing is kept in ${client}`, async t => {
      const [source, target] = [await openFilled(t, 'sqlite'), await open(t, client)];
      const before = await dump(source.dialect);
      const broken = faulty(target.storage, 'segments', change);
      await t.throwsAsync(move({ source: source.storage, target: broken }), { code: 'internal', message });
      t.true(await isEmpty(target));
      t.deepEqual(await dump(source.dialect), before);
      await move({ source: source.storage, target: target.storage });
      t.is(rowOf(await dump(target.dialect)), rowOf(before), 'the next try goes well');
    });

for (const [from, to] of ROUTES)
  test.serial(
    `a killed move from ${from} to ${to} leaves the target empty and the source unchanged`,
    async t => {
      const [source, target] = [await openFilled(t, from), await open(t, to)];
      const before = await dump(source.dialect);
      await source.close();
      await target.close();
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'interrupted-move.ts'), source.place, target.place],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      await once(child.stdout, 'data');
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      const [left, untouched] = [
        await open(t, to, { place: target.place }),
        await open(t, from, { place: source.place }),
      ];
      t.true(await isEmpty(left));
      t.deepEqual(await dump(untouched.dialect), before);
      await move({ source: untouched.storage, target: left.storage });
      t.deepEqual(await dump(left.dialect), before);
    },
  );

test.serial('not a byte of the moved SQLite file changes', async t => {
  const source = await openFilled(t, 'sqlite');
  await source.close();
  const before = await readFile(source.place);
  const again = await open(t, 'sqlite', { place: source.place });
  await move({ source: again.storage, target: (await open(t, 'sqlite')).storage });
  await again.close();
  t.true(before.equals(await readFile(source.place)));
});

for (const client of CLIENTS)
  test.serial(`during a move ${client} is locked for other writers, and unlocked afterwards`, async t => {
    const [source, target] = [await openFilled(t, client), await open(t, client)];
    const other = await open(t, client, { place: source.place, patienceMs: 50 });
    await move({
      source: source.storage,
      target: target.storage,
      async finish() {
        await t.throwsAsync(other.storage.users.insert(user('late')), {
          code: 'unavailable',
          message: /busy/,
        });
        t.is((await other.storage.users.list()).length, FEW, 'reading goes on');
      },
    });
    await other.storage.users.insert(user('late'));
    t.is(await target.storage.users.get('late'), null);
  });

onPostgres('the command line moves a server to Postgres, and back', async t => {
  const dataDir = join(directory, 'server');
  const [there, back] = [join(directory, 'postgres.yaml'), join(directory, 'back.yaml')];
  const url = await newPlace('postgres');
  await writeFile(there, `dataDir: ${dataDir}\nplugins:\n  sql:\n    client: postgres\n    url: ${url}\n`);
  await writeFile(back, `dataDir: ${dataDir}\nplugins:\n  sql:\n    file: back.db\n`);
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await earshot(args);
    const complaints = stderr.replace(/^\S+: \d+ of \d+ rows (copied|compared)$/gm, '').trim(); // progress, if it takes long
    t.deepEqual([code, complaints], [0, ''], stderr);
    return stdout;
  };
  await prepareData(dataDir);
  await run('user', 'add', 'ada', '--data-dir', dataDir);
  const words = await run('move', '--to', there, '--data-dir', dataDir);
  t.regex(words, /to the database move\d+ on 127\.0\.0\.1:\d+: 1 rows/);
  t.false(words.includes('correct%20horse'), 'the password stays hidden');
  t.regex(await run('user', 'list', '--config', there), / ada\n/);
  await run('move', '--config', there, '--to', back);
  t.regex(await run('user', 'list', '--config', back), / ada\n/);
});
