import { chmod, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { VectorIndex, VectorItem } from '../../../core/contract/plugin.ts';
import { vectorsChecks } from '../../../plugins/kit/suites/vectors.ts';
import sqliteVectors from '../../../plugins/vectors/sqlite-vectors/index.ts';
import { openVectorsFile } from '../../../plugins/vectors/sqlite-vectors/vectors-file.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { startIndex } from './context.ts';

const SQLite = createRequire(import.meta.url)('better-sqlite3');
const SIGNAL = new AbortController().signal;

for (const check of vectorsChecks)
  test(`an index in a file: ${check.title}`, async t => {
    const dataDir = await temporaryDirectory(t);
    let running = await start(t, dataDir);
    const restart = async () => {
      await running.stop();
      running = await start(t, dataDir);
      return running.index;
    };
    await t.notThrowsAsync(check.run({ index: running.index, restart }));
  });

async function start(t: ExecutionContext, dataDir: string, options = {}) {
  const running = await startIndex(sqliteVectors, dataDir, options);
  t.teardown(() => running.stop());
  return running;
}

const SPACE = { name: 'memories.words-en-1', dimensions: 400 };

/** Creates vectors of one user in many directions; the same each time. */
function itemsOf(userId: string, count: number): VectorItem[] {
  let state = userId.length;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
  return Array.from({ length: count }, (_, at) => ({
    userId,
    id: `${userId}-${at}`,
    vector: Float32Array.from({ length: SPACE.dimensions }, next),
    updatedAt: 1,
  }));
}

async function put(index: VectorIndex, items: readonly VectorItem[]): Promise<void> {
  for (let at = 0; at < items.length; at += 256) await index.upsert(SPACE, items.slice(at, at + 256));
}

/** The result of comparing every vector. */
function nearest(items: readonly VectorItem[], query: Float32Array, limit: number): string[] {
  const dot = (a: Float32Array, b: Float32Array) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
  const scored = items.map(({ id, vector }) => ({
    id,
    score: dot(vector, query) / Math.sqrt(dot(vector, vector)),
  }));
  return scored
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ id }) => id);
}

// ── memory ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test('vectors that exceed the memory are found, before and after changes, by users in turn', async t => {
  const { index } = await start(t, await temporaryDirectory(t), { memoryMb: 1 }); // some 650 vectors
  let anna = itemsOf('anna', 4000);
  const ben = itemsOf('ben', 1500);
  await put(index, [...anna, ...ben]);
  const [query] = itemsOf('somebody', 1);
  const found = async (user: string) =>
    (await index.search(SPACE, user, query?.vector ?? new Float32Array(), 10, SIGNAL)).map(({ id }) => id);
  const check = async () => {
    for (const [user, items] of [
      ['anna', anna],
      ['ben', ben],
      ['anna', anna],
      ['ben', ben],
    ] as const)
      t.deepEqual(await found(user), nearest(items, query?.vector ?? new Float32Array(), 10));
  };
  await check();
  const gone = await found('anna');
  await index.remove(SPACE, 'anna', gone);
  anna = anna.filter(({ id }) => !gone.includes(id));
  const more = itemsOf('anna and more', 600).map(item => ({ ...item, userId: 'anna' }));
  await put(index, more);
  anna = [...anna, ...more];
  await check();
});

test('a search after a change reflects it, among many vectors', async t => {
  const { index } = await start(t, await temporaryDirectory(t));
  const items = itemsOf('anna', 1000);
  await put(index, items);
  const [query] = itemsOf('somebody', 1);
  const vector = query?.vector ?? new Float32Array();
  const found = async () => (await index.search(SPACE, 'anna', vector, 10, SIGNAL)).map(({ id }) => id);
  const order = nearest(items, vector, items.length);
  t.deepEqual(await found(), order.slice(0, 10));
  // More than the exact comparison covers.
  await index.remove(SPACE, 'anna', order.slice(0, 500));
  t.deepEqual(await found(), order.slice(500, 510));
  const last = items.find(({ id }) => id === order.at(-1));
  await index.upsert(SPACE, last ? [{ ...last, vector }] : []);
  t.deepEqual(await found(), [order.at(-1), ...order.slice(500, 509)]);
});

test('spaces of different dimensions, written and searched in turn, do not affect each other', async t => {
  const { index } = await start(t, await temporaryDirectory(t));
  const [wide, narrow] = [
    { name: 'wide', dimensions: 16 },
    { name: 'narrow', dimensions: 8 },
  ];
  const items = itemsOf('anna', 300).map(item => ({ ...item, vector: item.vector.slice(0, 8) }));
  const [query] = itemsOf('somebody', 1);
  const vector = query?.vector.slice(0, 8) ?? new Float32Array();
  const [best = ''] = nearest(items, vector, 1);
  /**
   * Stale values beyond the eighth dimension would count against the best vector, and for half of the others.
   */
  const against = (at: number) => {
    const speaksFor = at % 2 !== Number(best.split('-')[1]) % 2;
    return new Float32Array(16).fill(speaksFor ? 1 : -1, 8);
  };
  const search = (space: typeof wide, by: Float32Array) => index.search(space, 'anna', by, 1, SIGNAL);
  for (const [at, item] of items.entries()) {
    await index.upsert(wide, [{ ...item, vector: against(at) }]);
    await index.upsert(narrow, [item]);
    if (at > 0) continue;
    await search(wide, against(0)); // in memory from here on
    await search(narrow, vector);
  }
  await search(wide, new Float32Array(16).fill(1));
  t.is((await search(narrow, vector))[0]?.id, best);
});

test('a space has at most 4096 dimensions', async t => {
  const { index } = await start(t, await temporaryDirectory(t));
  const space = { name: 'wide', dimensions: 4096 };
  const vector = new Float32Array(4096).fill(-1, 4000);
  await index.upsert(space, [{ userId: 'anna', id: 'a', vector, updatedAt: 1 }]);
  t.is((await index.search(space, 'anna', vector, 1, SIGNAL))[0]?.id, 'a');
  await t.throwsAsync(index.upsert({ name: 'wider', dimensions: 4097 }, []), {
    code: 'invalid_input',
    message: /wider has 4097 dimensions; there may be 1 to 4096/,
  });
  t.deepEqual(
    (await index.spaces()).map(({ name }) => name),
    ['wide'],
  );
});

test('the file of an earlier version, and its log, become private', async t => {
  const dataDir = await temporaryDirectory(t);
  const file = join(dataDir, 'vectors.db');
  const before = await start(t, dataDir);
  await put(before.index, itemsOf('anna', 3));
  await before.stop();
  await chmod(file, 0o644);
  const { index } = await start(t, dataDir);
  await put(index, itemsOf('anna', 4));
  for (const part of [file, `${file}-wal`]) t.is((await stat(part)).mode & 0o777, 0o600, part);
});

// ── damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An index that is filled and stopped; `damage` changes its file before the next start. */
async function damaged(t: ExecutionContext, damage: (file: string) => unknown) {
  const dataDir = await temporaryDirectory(t);
  const file = join(dataDir, 'vectors.db');
  const before = await start(t, dataDir);
  const items = itemsOf('anna', 300);
  await put(before.index, items);
  const [space] = await before.index.spaces();
  await before.stop();
  await damage(file);
  const { index, logged } = await start(t, dataDir);
  return { index, logged, file, items, space };
}

const DAMAGES: Record<string, (file: string) => unknown> = {
  'is no database': file => writeFile(file, 'nothing of the kind '.repeat(1000)),
  'is truncated': async file => {
    const handle = await open(file, 'r+');
    await handle.truncate(8192);
    await handle.close();
  },
  'has garbage after its first pages': async file => {
    const handle = await open(file, 'r+');
    const { size } = await handle.stat();
    await handle.write(Buffer.alloc(size - 8192, 0xff), 0, size - 8192, 8192);
    await handle.close();
  },
  'holds vectors of another size': file => {
    const database = new SQLite(file);
    database.exec("update vectors_1_vector_chunks00 set vectors = x'00112233'");
    database.close();
  },
  'has another version': file => {
    const database = new SQLite(file);
    database.pragma('user_version = 7');
    database.close();
  },
};

for (const [what, damage] of Object.entries(DAMAGES))
  test(`a file that ${what} is renamed; the index starts empty and reports it`, async t => {
    const { index, logged, file, items, space } = await damaged(t, damage);
    const [query] = items;
    const search = () => index.search(SPACE, 'anna', query?.vector ?? new Float32Array(), 5, SIGNAL);
    t.deepEqual(await search(), []);
    const told = logged.filter(({ level }) => level === 'error');
    t.is(told.length, 1);
    t.regex(told[0]?.message ?? '', /its file is damaged and was renamed; it begins anew, empty/);
    t.is(told[0]?.fields.movedTo, `${file}.damaged`);
    t.true((await stat(`${file}.damaged`)).size > 0);
    t.deepEqual(await index.spaces(), []);
    await put(index, items);
    t.is((await search())[0]?.id, query?.id);
    const [again] = await index.spaces();
    t.is(again?.name, space?.name);
    t.not(again?.id, space?.id);
  });

test('a file that cannot be opened degrades the plugin, and stays in place', async t => {
  const dataDir = await temporaryDirectory(t);
  await mkdir(join(dataDir, 'vectors.db'));
  await t.throwsAsync(start(t, dataDir), {
    code: 'config_error',
    message: /vectors\.db cannot be used: .*; let/,
  });
  t.true((await stat(join(dataDir, 'vectors.db'))).isDirectory());
});

test('a file in use by another index is not touched', async t => {
  const dataDir = await temporaryDirectory(t);
  const { index } = await start(t, dataDir);
  await put(index, itemsOf('anna', 3));
  await t.throwsAsync(start(t, dataDir), {
    code: 'config_error',
    message: /locked; let .* no other one use it/,
  });
  t.is((await index.spaces()).length, 1);
});

// ── order ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a search does not wait for pending writes', async t => {
  const { index } = await start(t, await temporaryDirectory(t));
  const items = itemsOf('anna', 50);
  await index.upsert(SPACE, items);
  const order: string[] = [];
  const writes = items.map(item => index.upsert(SPACE, [item]).then(() => order.push('written')));
  const [query] = items;
  const search = index.search(SPACE, 'anna', query?.vector ?? new Float32Array(), 1, SIGNAL);
  await Promise.all([...writes, search.then(() => order.push('found'))]);
  t.is(order.indexOf('found'), 1, 'one was being written already');
});

test('dropped and removed vectors leave nothing in the file once its log is checkpointed', async t => {
  const file = join(await temporaryDirectory(t), 'vectors.db');
  const vectors = openVectorsFile(file, 1024);
  const items = itemsOf('anna', 600);
  vectors.upsert(SPACE, items);
  vectors.upsert({ ...SPACE, name: 'dropped' }, itemsOf('carl and others', 300));
  const kept = itemsOf('ben', 7);
  vectors.upsert(SPACE, kept);
  vectors.remove(
    SPACE,
    'anna',
    items.map(({ id }) => id),
  );
  vectors.drop('dropped');
  vectors.emptyLog();
  const bytes = await readFile(file);
  const holds = (item: VectorItem | undefined) =>
    item !== undefined && bytes.includes(Buffer.from(storedBytes(item)));
  t.true(kept.every(holds));
  for (const item of [...items, ...itemsOf('carl and others', 300)]) t.false(holds(item), item.id);
  vectors.close();
});

/** The beginning of the vector as stored: normalised to length 1. */
function storedBytes({ vector }: VectorItem): Uint8Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return new Uint8Array(vector.map(value => value / length).slice(0, 16).buffer);
}

test('an index of an earlier version is emptied, and filled again from the stored memories', async t => {
  const dataDir = await temporaryDirectory(t);
  const file = join(dataDir, 'vectors.db');
  const database = new SQLite(file);
  database.exec(`
    create table spaces (key integer primary key autoincrement, name text, id text, dimensions integer) strict;
    create table owners (key integer primary key autoincrement, space integer, user_id text) strict;
    create table items (row integer primary key autoincrement, owner integer, id text, updated_at integer, vector blob);
    create index items_by_owner on items (owner);
    insert into spaces (name, id, dimensions) values ('${SPACE.name}', 'old', 400);
    insert into items (owner, id, updated_at, vector) values (1, 'anna-0', 9, zeroblob(1600));
    pragma user_version = 1;
  `);
  database.close();
  const { index, logged } = await start(t, dataDir);
  t.deepEqual(await index.spaces(), []);
  const items = itemsOf('anna', 20);
  await put(index, items);
  const [query] = items;
  const vector = query?.vector ?? new Float32Array();
  t.is((await index.search(SPACE, 'anna', vector, 1, SIGNAL))[0]?.id, 'anna-0');
  t.not((await index.spaces())[0]?.id, 'old');
  t.deepEqual(
    logged.filter(({ level }) => level === 'error'),
    [],
  );
});
