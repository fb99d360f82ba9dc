import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { snakeCaseMappers } from 'objection';
import { pino } from 'pino';
import { z } from 'zod';
import type { PluginContext, Storage } from '../../../core/contract/plugin.ts';
import type { AppError } from '../../../core/runtime/errors.ts';
import { conversation, idsOf, job, memory, segment, user } from '../../../plugins/kit/suites/storage/rows.ts';
import { type StorageSubject, storageChecks } from '../../../plugins/kit/suites/storage.ts';
import sql from '../../../plugins/storage/sql/index.ts';
import { MIGRATIONS, type Migration } from '../../../plugins/storage/sql/migrations.ts';
import { Segments } from '../../../plugins/storage/sql/models.ts';
import { putPassages } from '../../../plugins/storage/sql/passages.ts';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { rewriteOnce } from '../../../plugins/storage/sql/sqlite-upkeep.ts';
import { createStorage, type StorageContext } from '../../../plugins/storage/sql/storage.ts';
import { wordsOf } from '../../../plugins/storage/sql/words.ts';
import { openDatabase } from '../../helpers/sqlite.ts';
import { openStorage, storageContext, temporaryStorage } from '../../helpers/storage.ts';
import { storageConformance } from '../kit/suites/storage.ts';
import { brokenStorages } from './broken-storages.ts';

async function openSubject(): Promise<StorageSubject> {
  const { storage, file, close } = await temporaryStorage();
  const others: (() => Promise<void>)[] = [];
  return {
    storage,
    async another() {
      const other = await openStorage(file);
      others.push(other.close);
      return other.storage;
    },
    async close() {
      for (const closeOther of others) await closeOther();
      await close();
    },
  };
}

storageConformance(test, 'sqlite', openSubject);

for (const { fault, caughtBy, breakIt } of brokenStorages) {
  test(`the suite detects when ${fault}`, async t => {
    const check = storageChecks.find(({ title }) => title === caughtBy);
    if (!check) return t.fail(`no such check: ${caughtBy}`);
    const subject = await openSubject();
    t.teardown(subject.close);
    const another = async () => breakIt(await subject.another());
    await t.throwsAsync(check.run({ storage: breakIt(subject.storage), another, close: subject.close }), {
      code: 'ERR_ASSERTION',
    });
  });
}

// ── the file ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Number of occurrences of the word in all files of the directory. */
async function traces(directory: string, word: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const found = await Promise.all(files.map(async file => (await readFile(file)).includes(word)));
  return files.filter((_file, index) => found[index]);
}

test('deleted content is in no file of the database after the nightly maintenance', async t => {
  const directory = await directoryFor(t);
  const file = join(directory, 'earshot.db');
  const { storage } = await open(t, file);
  await storage.migrate();
  const userId = 'anna';
  await storage.users.insert(user(userId));
  const memories = Array.from({ length: 500 }, (_, index) => {
    const text = index % 3 === 0 ? `zanzibar ${'x'.repeat((index % 5) * 3000)}` : 'something else';
    return memory(`m${index}`, userId, { content: `${text} ${index}` });
  });
  for (const each of memories) await storage.memories.insert([each]);
  t.deepEqual(await storage.memories.match(userId, 'zanzibar', 1).then(found => found.length), 1);
  t.not((await traces(directory, 'zanzibar')).length, 0, 'it is looked for in the right place');
  for (const { id, content } of memories)
    if (content.startsWith('zanzibar')) await storage.memories.remove(userId, id);
  t.not((await traces(directory, 'zanzibar')).length, 0, 'the log at least still has it');

  const sizeBefore = (await stat(file)).size;
  const busy = Array.from({ length: 50 }, (_, index) =>
    storage.memories.insert([memory(`n${index}`, userId)]),
  ); // in the background
  await Promise.all([storage.upkeep(), ...busy]);
  await storage.upkeep();
  t.deepEqual(await traces(directory, 'zanzibar'), []);
  t.true((await stat(file)).size < sizeBefore);
  t.is((await storage.memories.match(userId, 'something', 1000)).length, 333, 'the rest is found as before');
});

test('a database of an earlier version is rewritten once, without deleted content', async t => {
  const directory = await directoryFor(t);
  const file = join(directory, 'earshot.db');
  const first = await open(t, file);
  await first.storage.migrate();
  await first.close();
  const earlier = openDatabase(file);
  earlier.exec('pragma auto_vacuum = none; vacuum; create table old (text text)');
  earlier.prepare('insert into old values (?)').run('zanzibar'.repeat(10_000));
  earlier.exec('drop table old');
  t.is(earlier.prepare('pragma auto_vacuum').get()?.auto_vacuum, 0);
  earlier.close();
  t.not((await traces(directory, 'zanzibar')).length, 0);

  const told: string[] = [];
  const log = pino({ level: 'info' }, { write: line => void told.push(JSON.parse(line).msg) });
  const { storage } = await open(t, file, { log });
  await storage.migrate();
  await storage.migrate();
  await storage.upkeep();
  t.deepEqual(await traces(directory, 'zanzibar'), []);
  t.is(told.filter(msg => msg.includes('rewritten once')).length, 1);

  const large = openDatabase(file);
  large.exec('pragma auto_vacuum = none; vacuum');
  await rewriteOnce(file, { pragma: () => 0, prepare: () => t.fail() as never }, { log }, 1000);
  t.regex(told.at(-1) ?? '', /too large.*Stop Earshot and run the command/);
  large.close();
});

async function directoryFor(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-sql-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return directory;
}

interface Opening extends Partial<StorageContext> {
  migrations?: readonly Migration[];
  busyMs?: number;
}

/** Closed after the test, unless closed before. */
async function open(t: ExecutionContext, file: string, { migrations, busyMs, ...changes }: Opening = {}) {
  const context = storageContext(changes);
  const dialect = openSqlite(file, context, busyMs);
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= dialect.close();
    return closed;
  };
  t.teardown(close);
  return { storage: await createStorage(dialect, context, migrations), dialect, close };
}

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8);
}

test('the plugin opens earshot.db in its data directory, and closes it', async t => {
  const dataDir = await directoryFor(t);
  const undo: (() => void | Promise<void>)[] = [];
  const context = {
    ...storageContext(),
    options: sql.options(z).parse({}),
    dataDir,
    onStop: (step: () => void | Promise<void>) => undo.push(step),
  } as unknown as PluginContext<z.infer<ReturnType<typeof sql.options>>>; // a storage plugin gets only these
  const { storage } = await sql.setup(context);
  t.deepEqual(await storage.migrate(), { from: 0, to: MIGRATIONS.length, backup: null });
  await storage.users.insert(user('anna'));
  t.true((await readdir(dataDir)).includes('earshot.db'));
  for (const step of undo.reverse()) await step();
  await t.throwsAsync(storage.users.list());
  t.deepEqual(await readdir(dataDir), ['earshot.db'], 'the write-ahead log is folded in');
});

test('no other user of the system may read the database, its log or its backups', async t => {
  const file = join(await directoryFor(t), 'data', 'earshot.db');
  const first = await open(t, file);
  await first.storage.migrate();
  await first.storage.users.insert(user('anna'));
  t.is(await modeOf(file), '600');
  t.is(await modeOf(`${file}-wal`), '600');
  await first.close();
  const second = await open(t, file, { migrations: [...MIGRATIONS, noteMigration] });
  const { backup } = await second.storage.migrate();
  t.is(await modeOf(backup ?? ''), '600');
});

test('required settings are active: write-ahead log, no sync by SQLite at a commit, foreign keys', async t => {
  const { dialect } = await open(t, join(await directoryFor(t), 'earshot.db'));
  const pragma = async (name: string) => Object.values((await dialect.writer.raw(`pragma ${name}`))[0])[0];
  t.is(await pragma('journal_mode'), 'wal');
  t.is(await pragma('synchronous'), 1);
  t.is(await pragma('foreign_keys'), 1);
  await t.throwsAsync(async () => await dialect.reader.raw('create table t (x)'), {
    code: 'SQLITE_READONLY',
  });
});

test('a file that is not a database is rejected by name', async t => {
  const file = join(await directoryFor(t), 'earshot.db');
  await writeFile(file, 'not a database, but long enough to be looked at '.repeat(200));
  const refusal = await t.throwsAsync<AppError>(open(t, file), { code: 'config_error' });
  t.true(refusal?.message.includes(file));
  t.true((await readFile(file, 'utf8')).startsWith('not a database'), 'and left as it is');
});

test('an overwritten page is reported with the name of the file', async t => {
  const { storage, file, close } = await temporaryStorage();
  t.teardown(close);
  await storage.users.insert(user('anna'));
  const talk = conversation('c1', 'anna');
  await storage.conversations.insert(talk);
  await storage.segments.upsert(Array.from({ length: 500 }, (_, n) => segment(`s${n}`, talk, { start: n })));
  const copy = join(await directoryFor(t), 'copy.db');
  const source = await open(t, file);
  await source.dialect.writer.raw('vacuum into ?', [copy]);
  const bytes = await readFile(copy);
  await writeFile(copy, bytes.fill(0xff, 4096 * 2)); // the schema stays readable, tables do not
  const damaged = await open(t, copy).catch((error: AppError) => error);
  const failure =
    'code' in damaged
      ? damaged
      : await t.throwsAsync<AppError>(damaged.storage.segments.list('anna', ['c1']));
  t.is(failure?.code, 'config_error');
  t.true(failure?.message.includes(copy));
});

test('an unwritable path is rejected by name', async t => {
  const directory = await directoryFor(t);
  await writeFile(join(directory, 'taken'), '');
  const file = join(directory, 'taken', 'earshot.db');
  const refusal = await t.throwsAsync<AppError>(open(t, file), { code: 'config_error' });
  t.true(refusal?.message.includes(file));
});

test('an uninitialised database is reported as such', async t => {
  const { storage } = await open(t, join(await directoryFor(t), 'earshot.db'));
  const refusal = await t.throwsAsync<AppError>(storage.users.list(), { code: 'unavailable' });
  t.regex(refusal?.message ?? '', /has not been set up/);
});

// ── migrations ──────────────────────────────────────────────────────────────────────────────────────────────────

const noteMigration: Migration = {
  name: '9001-notes',
  async up(db) {
    await db.schema.createTable('notes', table => {
      table.text('text');
    });
  },
};
const brokenMigration: Migration = {
  name: '9002-broken',
  async up(db) {
    await db.schema.createTable('half', table => {
      table.text('text');
    });
    await db.raw('this is not SQL');
  },
};

test('positions of conversations from before there were places are found', async t => {
  const file = join(await directoryFor(t), 'earshot.db');
  const beforePlaces = MIGRATIONS.findIndex(({ name }) => name === '0059-places');
  const before = await open(t, file, { migrations: MIGRATIONS.slice(0, beforePlaces) });
  await before.storage.migrate();
  await before.storage.users.insert(user('anna'));
  const geolocation = { latitude: 52.52, longitude: 13.405, address: null };
  const { structured, ...row } = conversation('c1', 'anna');
  const columns = snakeCaseMappers().format({ ...row, geolocation: JSON.stringify(geolocation) });
  await before.dialect.writer('conversations').insert([
    { ...columns, structured: JSON.stringify(structured), category: 'other' },
    { ...columns, id: 'c2', geolocation: null, structured: JSON.stringify(structured), category: 'other' },
  ]);
  await before.close();
  const { storage } = await open(t, file);
  await storage.migrate();
  const near = { latitude: 52.52, longitude: 13.405, radiusM: 1 };
  const found = await storage.conversations.list('anna', { near, limit: 10, offset: 0 });
  t.deepEqual(
    found.map(({ id }) => id),
    ['c1'],
  );
});

test('a migration first makes a backup, and the backup opens', async t => {
  const file = join(await directoryFor(t), 'earshot.db');
  const before = await open(t, file);
  await before.storage.migrate();
  await before.storage.users.insert(user('anna'));
  await before.close();

  const after = await open(t, file, { migrations: [...MIGRATIONS, noteMigration] });
  const { from, to, backup } = await after.storage.migrate();
  t.deepEqual([from, to], [MIGRATIONS.length, MIGRATIONS.length + 1]);
  t.deepEqual(idsOf(await after.storage.users.list()), ['anna']);
  t.true(await after.dialect.reader.schema.hasTable('notes'));

  const old = await open(t, backup ?? '');
  t.deepEqual(idsOf(await old.storage.users.list()), ['anna']);
  t.false(await old.dialect.reader.schema.hasTable('notes'));
});

test('no backup is made without data or without a migration', async t => {
  const directory = await directoryFor(t);
  const empty = await open(t, join(directory, 'earshot.db'));
  await empty.storage.migrate();
  t.is((await empty.storage.migrate()).backup, null);
  const further = await open(t, join(directory, 'earshot.db'), {
    migrations: [...MIGRATIONS, noteMigration],
  });
  t.is((await further.storage.migrate()).backup, null);
  t.false((await readdir(directory)).includes('backups'));
});

test('the latest three backups are kept', async t => {
  const directory = await directoryFor(t);
  const file = join(directory, 'earshot.db');
  const migrations = [...MIGRATIONS];
  let now = Date.UTC(2026, 0, 1);
  const clock = { ...storageContext().clock, now: () => now };
  const first = await open(t, file, { clock });
  await first.storage.migrate();
  await first.storage.users.insert(user('anna'));
  const backups: (string | null)[] = [];
  for (const number of [1, 2, 3, 4, 5]) {
    migrations.push({ name: `900${number}-step`, up: async () => {} });
    const step = await open(t, file, { migrations, clock });
    backups.push((await step.storage.migrate()).backup);
    await step.close();
    now += 1000;
  }
  const kept = (await readdir(join(directory, 'backups'))).map(name => join(directory, 'backups', name));
  t.deepEqual(kept.sort(), backups.slice(-3));
});

test('a failed migration leaves the database as it was, ready for a retry', async t => {
  const file = join(await directoryFor(t), 'earshot.db');
  const sound = await open(t, file);
  await sound.storage.migrate();
  await sound.storage.users.insert(user('anna'));
  await sound.close();
  const failing = await open(t, file, { migrations: [...MIGRATIONS, noteMigration, brokenMigration] });
  await t.throwsAsync(failing.storage.migrate(), { message: /migrate: .*syntax error/ });
  t.false(await failing.dialect.reader.schema.hasTable('notes'));
  t.false(await failing.dialect.reader.schema.hasTable('half'));
  await failing.close();
  const repaired = await open(t, file, { migrations: [...MIGRATIONS, noteMigration] });
  t.is((await repaired.storage.migrate()).to, MIGRATIONS.length + 1);
  t.deepEqual(idsOf(await repaired.storage.users.list()), ['anna']);
});

test('two processes that migrate at the same time do it once', async t => {
  const file = join(await directoryFor(t), 'earshot.db');
  const both = await Promise.all([open(t, file), open(t, file)]);
  await t.notThrowsAsync(Promise.all(both.map(({ storage }) => storage.migrate())));
  await both[0].storage.users.insert(user('anna'));
  t.deepEqual(idsOf(await both[1].storage.users.list()), ['anna']);
});

test('a database of a newer version is rejected, and not modified', async t => {
  const file = join(await directoryFor(t), 'earshot.db');
  const newer = await open(t, file, { migrations: [...MIGRATIONS, noteMigration] });
  await newer.storage.migrate();
  await newer.close();
  const before = await readFile(file);
  const refusal = await t.throwsAsync<AppError>(open(t, file), { code: 'config_error' });
  t.true(refusal?.message.includes(file));
  t.regex(refusal?.message ?? '', /newer Earshot .*9001-notes.*Update/);
  t.deepEqual(await readFile(file), before);
});

// ── processes and locks ─────────────────────────────────────────────────────────────────────────────────────────

test('a process killed in a transaction loses only that transaction', async t => {
  const { storage, file, close } = await temporaryStorage();
  t.teardown(close);
  const script = join(import.meta.dirname, 'interrupted-writer.ts');
  const writer = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(writer, 'exit');
  const [said] = await once(writer.stdout, 'data');
  t.is(String(said), 'writing\n');
  t.deepEqual(idsOf(await storage.users.list()), ['committed']);
  writer.kill('SIGKILL');
  await exited;
  await storage.users.insert(user('after'));
  t.deepEqual(idsOf(await storage.users.list()).sort(), ['after', 'committed']);
});

test('a failed commit is rolled back, and the next write is not part of it', async t => {
  const { storage, dialect, close } = await open(t, join(await directoryFor(t), 'earshot.db'));
  await storage.migrate();
  const orphan = segment('s1', conversation('none', 'nobody'));
  const doomed = dialect.writer.transaction(async db => {
    await db.raw('pragma defer_foreign_keys = on'); // so that COMMIT itself is what fails
    await db('segments').insert(Segments.fromJson(orphan).$toDatabaseJson());
  });
  await t.throwsAsync(doomed, { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' });
  await storage.users.insert(user('anna'));
  await close();
  const again = await open(t, dialect.place.replace('database ', ''));
  t.deepEqual(idsOf(await again.storage.users.list()), ['anna']);
  t.is(await again.storage.segments.count('nobody', 'none'), 0);
});

/** Holds the write lock of the file until `release`. */
async function holdLock(storage: Storage): Promise<{ release(): Promise<void> }> {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const lock = storage.transaction('lock', async () => {
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return {
    async release() {
      released.resolve();
      await lock;
    },
  };
}

test("a writer waits for another process's lock without blocking the event loop", async t => {
  const { storage, file, close } = await temporaryStorage();
  t.teardown(close);
  const waiting = await open(t, file);
  const lock = await holdLock(storage);
  let written = false;
  const write = waiting.storage.transaction('waits', async tx => {
    await tx.users.insert(user('anna'));
    written = true;
  });
  t.deepEqual(await waiting.storage.users.list(), []);
  t.false(written);
  await lock.release();
  await write;
  t.deepEqual(idsOf(await storage.users.list()), ['anna']);
});

test('a lock that is not released in time is reported as unavailable', async t => {
  const { storage, file, close } = await temporaryStorage();
  t.teardown(close);
  const waiting = await open(t, file, { busyMs: 30 });
  const lock = await holdLock(storage);
  const refusals = [
    () => waiting.storage.users.insert(user('anna')),
    () => waiting.storage.transaction('waits', tx => tx.users.insert(user('anna'))),
    () => waiting.storage.jobs.claim(['finish'], 1, 1, 1),
  ];
  for (const refused of refusals) {
    const refusal = await t.throwsAsync<AppError>(refused, { code: 'unavailable' });
    t.true(refusal?.message.includes(file));
  }
  await lock.release();
  await t.notThrowsAsync(waiting.storage.users.insert(user('anna')));
});

test('transactions run one after the other, in the order of their calls', async t => {
  const { storage, close } = await temporaryStorage();
  t.teardown(close);
  const order: number[] = [];
  const count = async (number: number) =>
    await storage.transaction(`number ${number}`, async tx => {
      const seen = await tx.pluginState.get('test', 'count');
      await tx.jobs.enqueue(job('between', number));
      await tx.pluginState.compareAndSet('test', 'count', seen?.version ?? 0, number);
      order.push(number);
    });
  const numbers = Array.from({ length: 20 }, (_, index) => index);
  await Promise.all(numbers.map(count));
  t.deepEqual(order, numbers);
  t.deepEqual(await storage.pluginState.get('test', 'count'), { value: 19, version: 20 });
});

test('transactions that share a commit are all stored, except a failed one', async t => {
  const { storage, file, close } = await temporaryStorage();
  t.teardown(close);
  const other = await open(t, file);
  await storage.users.insert(user('anna'));
  const names = Array.from({ length: 100 }, (_, index) => (index === 7 ? 'anna' : `user ${index}`));
  const done = await Promise.allSettled(
    names.map(async name => {
      await storage.transaction(`add ${name}`, async tx => {
        await tx.jobs.enqueue(job(name, 1));
        await tx.users.insert(user(name));
      });
      t.is((await other.storage.users.get(name))?.id, name, 'whoever is told of it finds it');
    }),
  );
  t.deepEqual(
    done.flatMap(({ status }, index) => (status === 'rejected' ? [index] : [])),
    [7],
  );
  t.is((await storage.users.list()).length, 100);
  t.deepEqual(await storage.jobs.counts(0), [{ kind: 'finish', state: 'waiting', count: 99 }]);
});

test('statements that a transaction did not await are finished before the next one starts', async t => {
  const { storage, close } = await temporaryStorage();
  t.teardown(close);
  const careless = storage.transaction('careless', async tx => {
    void tx.users.insert(user('anna')).catch(() => {});
    void tx.people.list('anna').catch(() => {});
    throw new RangeError('of my own');
  });
  await t.throwsAsync(careless, { instanceOf: RangeError });
  await storage.transaction('next', tx => tx.users.insert(user('ben')));
  t.deepEqual(idsOf(await storage.users.list()), ['ben']);
});

test('a slow transaction is logged with its name, a fast one is not', async t => {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  let now = 0;
  const clock = { ...storageContext().clock, now: () => now };
  const { storage, close } = await temporaryStorage({ clock, log: pino({ level: 'warn' }, sink) });
  t.teardown(close);
  await storage.transaction('brief', async () => {
    now += 50;
  });
  await storage.transaction('endless', async () => {
    now += 51;
  });
  t.deepEqual(
    lines.map(line => JSON.parse(line)).map(({ transaction, ms, msg }) => [transaction, ms, msg]),
    [['endless', 51, 'slow transaction']],
  );
});

test('a database error does not quote the values to be stored', async t => {
  const { storage, close } = await temporaryStorage();
  t.teardown(close);
  await storage.users.insert(user('anna'));
  const secret = segment('s1', conversation('none', 'anna'), { text: 'nobody may read this' });
  const failure = await t.throwsAsync<AppError>(storage.segments.upsert([secret]));
  t.false(`${failure?.message} ${failure?.cause}`.includes(secret.text));
});

test('a text is normalised up to a limit, as thousands of combining marks take quadratic time', t => {
  const marks = '\u0327\u0301'.repeat(60_000);
  t.deepEqual(wordsOf(`cafe${marks} tail`), ['cafe']);
  t.deepEqual(wordsOf(`${'é '.repeat(2499)}en${'d'.repeat(9)}`).slice(2498), ['e', 'en']);
});

test('texts are divided into passages while these are written, not all of them before', async t => {
  let read = 0;
  const texts = Array<string>(400).fill('x'.repeat(20_000));
  texts[Symbol.iterator] = function* () {
    for (const text of this.values()) {
      read += 1;
      yield text;
    }
    return undefined;
  };
  const readAtWrites: number[] = [];
  const write = async () => {
    readAtWrites.push(read);
    return { changes: 0 } as never;
  };
  await putPassages(write, { userId: 'anna', conversationId: 'c1', texts });
  t.is(readAtWrites[1], 1); // the first one deletes what was there
  t.is(readAtWrites.length, 1 + (400 * 20_000) / 500 / 25);
});
