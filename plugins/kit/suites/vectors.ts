/**
 * Requirements for every vector index, as plain checks that throw. Each check creates spaces of its own and drops them,
 * so that an index in use may be checked.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { VectorIndex, VectorItem, VectorSpace } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface VectorsSubject {
  index: VectorIndex;
  /** Stops the index and starts it again on its stored data. */
  restart(): Promise<VectorIndex>;
}

export type VectorsCheck = SuiteCheck<VectorsSubject>;

export const vectorsChecks: readonly VectorsCheck[] = [
  {
    title: 'finds the nearest, best first, with the cosine as score',
    isBasis: true,
    run: inSpace(findsNearest),
  },
  { title: 'compares the direction of vectors, not their length', run: inSpace(ignoresLength) },
  { title: 'separates users, also where their ids are the same', run: inSpace(keepsUsersApart) },
  { title: 'accepts ids of any characters', run: inSpace(keepsOddIds) },
  { title: 'replaces an item of the same id', run: inSpace(replaces) },
  { title: 'ignores an item that is older than the one held', run: inSpace(ignoresOlder) },
  { title: 'keeps the newest of writes that overlap', run: inSpace(keepsNewest) },
  { title: 'removes the named items, and nothing else', run: inSpace(removes) },
  {
    title: 'returns at most as many as requested, and accepts the largest batch',
    run: inSpace(holdsLimits),
  },
  { title: 'treats a missing space as empty', run: inSpace(knowsNoSpace) },
  { title: 'lists existing spaces, also empty ones', run: inSpace(listsSpaces) },
  { title: 'drops one space alone; created again, it has another id', run: inSpace(drops) },
  { title: 'never finds a vector of zeros, and nothing for one', run: inSpace(ignoresZeros) },
  { title: 'refuses vectors of other dimensions, and changes nothing', run: inSpace(refusesDimensions) },
  { title: 'refuses a vector with values that are not numbers', run: inSpace(refusesNonsense) },
  { title: 'rejects an aborted search, and serves the next one', run: inSpace(aborts) },
  { title: 'still has 10,000 items after a restart', run: inSpace(survives) },
];

const DIMENSIONS = 24;
const ANNA = '0190c9f2-1111-7000-8000-000000000001';
const BEN = '0190c9f2-1111-7000-8000-000000000002';
/** Accepted error of a score, since float32 and servers round. */
const TOLERANCE = 0.001;
/** Upserts and removals per batch. */
const BATCH = 256;
const MOST = 1000;

interface Place extends VectorsSubject {
  space: VectorSpace;
  /** A second space. */
  other: VectorSpace;
}

function inSpace(check: (place: Place) => Promise<void>): VectorsCheck['run'] {
  return async subject => {
    const make = (): VectorSpace => ({ name: `conformance.${randomUUID()}`, dimensions: DIMENSIONS });
    const place = { ...subject, space: make(), other: make() };
    let { index } = subject;
    const restart = async () => {
      index = await subject.restart();
      return index;
    };
    try {
      await check({ ...place, restart });
    } finally {
      for (const { name } of [place.space, place.other]) await index.drop(name);
    }
  };
}

// ── finding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

async function findsNearest({ index, space }: Place): Promise<void> {
  const items = itemsOf(ANNA, vectors(500, 1));
  await put(index, space, items);
  for (const query of vectors(20, 2)) {
    const hits = await find(index, space, ANNA, query, 10);
    assertHits(hits, items, query);
    const best = items.map(item => cosine(item.vector, query)).sort((a, b) => b - a);
    const tenth = best[9] ?? 1;
    assert.equal(hits.length, 10);
    const missed = hits.filter(({ score }) => score < tenth - TOLERANCE);
    assert.ok(missed.length <= 1, `${missed.length} of 10 are not among the nearest`);
  }
}

async function ignoresLength({ index, space }: Place): Promise<void> {
  const [near, far] = vectors(2, 3) as [Float32Array, Float32Array];
  await index.upsert(space, itemsOf(ANNA, [near.map(value => value * 0.01), far.map(value => value * 100)]));
  const [first] = await find(
    index,
    space,
    ANNA,
    near.map(value => value * 7),
    2,
  );
  assert.equal(first?.id, 'item-0');
  assert.ok(Math.abs((first?.score ?? 0) - 1) < TOLERANCE, `the same direction gets ${first?.score}`);
}

async function keepsUsersApart({ index, space }: Place): Promise<void> {
  const [one, two] = vectors(2, 4) as [Float32Array, Float32Array];
  await index.upsert(space, [...itemsOf(ANNA, [one]), ...itemsOf(BEN, [two])]);
  for (const [user, vector] of [
    [ANNA, one],
    [BEN, two],
  ] as const) {
    const hits = await find(index, space, user, vector, 10);
    assert.deepEqual(
      hits.map(({ id }) => id),
      ['item-0'],
    );
    assertScore(hits[0]?.score, 1);
  }
  assert.deepEqual(await find(index, space, `${ANNA}0`, one, 10), []);
  await index.remove(space, BEN, ['item-0']);
  assert.equal((await find(index, space, ANNA, one, 10)).length, 1, "one user's removal took another's item");
}

async function keepsOddIds({ index, space }: Place): Promise<void> {
  const ids = ["o'hara", 'a/b?c=d&e', 'Þórr "雷"', '%00', 'x'.repeat(200), `${'x'.repeat(199)}y`, '17'];
  const all = vectors(ids.length, 5);
  await index.upsert(
    space,
    ids.map((id, at) => ({ ...itemOf(ANNA, at, all[at]), id })),
  );
  for (const [at, id] of ids.entries()) {
    const hits = await find(index, space, ANNA, all[at] ?? new Float32Array(), 1);
    assert.deepEqual(
      hits.map(hit => hit.id),
      [id],
    );
  }
}

// ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────────

async function replaces({ index, space }: Place): Promise<void> {
  const [before, after] = vectors(2, 6) as [Float32Array, Float32Array];
  await index.upsert(space, [{ ...itemOf(ANNA, 0, before), updatedAt: 1 }]);
  await find(index, space, ANNA, before, 1); // after a search, so that cached items are replaced too
  for (const updatedAt of [2, 2]) {
    await index.upsert(space, [{ ...itemOf(ANNA, 0, after), updatedAt }]);
    const hits = await find(index, space, ANNA, after, 10);
    assert.equal(hits.length, 1);
    assertScore(hits[0]?.score, 1);
  }
}

async function ignoresOlder({ index, space }: Place): Promise<void> {
  const [newer, older] = vectors(2, 7) as [Float32Array, Float32Array];
  await index.upsert(space, [{ ...itemOf(ANNA, 0, newer), updatedAt: 2000 }]);
  const others = itemsOf(ANNA, vectors(3, 8)).map(item => ({ ...item, id: `other-${item.id}` }));
  await index.upsert(space, [{ ...itemOf(ANNA, 0, older), updatedAt: 1999 }, ...others]);
  const hits = await find(index, space, ANNA, newer, 10);
  assert.equal(hits[0]?.id, 'item-0');
  assertScore(hits[0]?.score, 1);
  assert.equal(hits.length, 4, 'items added together with the older one are missing');
}

async function keepsNewest({ index, space }: Place): Promise<void> {
  const ages = [7, 3, 12, 1, 20, 5, 19, 2, 11, 4];
  const all = vectors(21, 9);
  await index.upsert(space, []);
  await Promise.all(
    ages.map(updatedAt => index.upsert(space, [{ ...itemOf(ANNA, 0, all[updatedAt]), updatedAt }])),
  );
  const hits = await find(index, space, ANNA, all[20] ?? new Float32Array(), 10);
  assert.equal(hits.length, 1);
  assertScore(hits[0]?.score, 1);
}

async function removes({ index, space }: Place): Promise<void> {
  const items = itemsOf(ANNA, vectors(10, 10));
  await index.upsert(space, items);
  const query = items[3]?.vector ?? new Float32Array();
  await find(index, space, ANNA, query, 10); // after a search, so that cached items are removed too
  await index.remove(space, ANNA, ['item-3', 'item-7', 'never-there']);
  const left = (await find(index, space, ANNA, query, 10)).map(({ id }) => id);
  assert.deepEqual(
    left.toSorted(),
    [0, 1, 2, 4, 5, 6, 8, 9].map(at => `item-${at}`),
  );
  await index.upsert(space, [items[3] ?? itemOf(ANNA, 3)]);
  assert.equal(
    (await find(index, space, ANNA, query, 1))[0]?.id,
    'item-3',
    'an item that was removed cannot be added again',
  );
}

async function holdsLimits({ index, space }: Place): Promise<void> {
  const all = vectors(MOST + 100, 11);
  await put(index, space, itemsOf(ANNA, all));
  const [query = new Float32Array()] = all;
  for (const limit of [1, 10, MOST]) {
    const hits = await find(index, space, ANNA, query, limit);
    assert.equal(hits.length, limit);
    assert.equal(new Set(hits.map(({ id }) => id)).size, limit, 'an item is returned twice');
  }
  await index.remove(
    space,
    ANNA,
    Array.from({ length: MOST }, (_, at) => `item-${at}`),
  );
  assert.equal((await find(index, space, ANNA, query, MOST)).length, 100);
}

// ── spaces ──────────────────────────────────────────────────────────────────────────────────────────────────────────

async function knowsNoSpace({ index, space }: Place): Promise<void> {
  assert.deepEqual(await find(index, space, ANNA, vectors(1, 12)[0] ?? new Float32Array(), 10), []);
  await index.remove(space, ANNA, ['item-0']);
  await index.drop(space.name);
  assert.equal(await idOf(index, space), undefined, 'it created a space without any items');
}

async function listsSpaces({ index, space, other }: Place): Promise<void> {
  await index.upsert(space, []);
  await index.upsert(other, itemsOf(ANNA, vectors(1, 13)));
  const ids = [await idOf(index, space), await idOf(index, other)];
  assert.ok(
    ids.every(id => id),
    'a space has no id',
  );
  assert.notEqual(ids[0], ids[1]);
  await index.upsert(space, itemsOf(ANNA, vectors(1, 13)));
  assert.equal(await idOf(index, space), ids[0], 'the id of an existing space changed');
}

async function drops({ index, space, other }: Place): Promise<void> {
  const items = itemsOf(ANNA, vectors(300, 14));
  const query = items[0]?.vector ?? new Float32Array();
  for (const each of [space, other]) await put(index, each, items);
  const id = await idOf(index, space);
  await index.drop(space.name);
  assert.equal(await idOf(index, space), undefined);
  assert.deepEqual(await find(index, space, ANNA, query, 10), []);
  assert.equal((await find(index, other, ANNA, query, 10)).length, 10, 'another space lost its items');
  await index.upsert(space, []);
  assert.deepEqual(await find(index, space, ANNA, query, 10), [], 'items of a dropped space are found again');
  assert.notEqual(await idOf(index, space), id, 'the new space has the id of the old one');
}

// ── what does not fit ───────────────────────────────────────────────────────────────────────────────────────────────

async function ignoresZeros({ index, space }: Place): Promise<void> {
  const zeros = new Float32Array(DIMENSIONS);
  const [vector = zeros, other = zeros] = vectors(2, 15);
  await index.upsert(space, itemsOf(ANNA, [vector, zeros, other]));
  const found = async () => (await find(index, space, ANNA, vector, 10)).map(({ id }) => id);
  assert.deepEqual((await found()).toSorted(), ['item-0', 'item-2']);
  assert.deepEqual(await find(index, space, ANNA, zeros, 10), []);
  await index.upsert(space, [{ ...itemOf(ANNA, 0, zeros), updatedAt: 9e12 }]);
  assert.deepEqual(await found(), ['item-2'], 'an item whose vector became zeros is still found');
}

async function refusesDimensions({ index, space }: Place): Promise<void> {
  const [vector = new Float32Array()] = vectors(1, 16);
  await index.upsert(space, [itemOf(ANNA, 0, vector)]);
  const longer = { ...space, dimensions: DIMENSIONS + 1 };
  const long = new Float32Array(DIMENSIONS + 1).fill(1);
  const good = itemOf(ANNA, 1, vector);
  await refuses(index.upsert(space, [good, itemOf(ANNA, 2, long)]), 'an item that is too long');
  await refuses(index.upsert(space, [good, itemOf(ANNA, 2, vector.slice(1))]), 'an item that is too short');
  await refuses(index.upsert(longer, [itemOf(ANNA, 2, long)]), 'a space that has other dimensions');
  await refuses(find(index, space, ANNA, long, 10), 'a question that is too long');
  assert.deepEqual(
    (await find(index, space, ANNA, vector, 10)).map(({ id }) => id),
    ['item-0'],
  );
}

async function refusesNonsense({ index, space }: Place): Promise<void> {
  await index.upsert(space, []);
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY]) {
    const [vector = new Float32Array()] = vectors(1, 17);
    vector[3] = value;
    await refuses(index.upsert(space, [itemOf(ANNA, 0, vector)]), `an item with ${value}`);
    await refuses(find(index, space, ANNA, vector, 10), `a question with ${value}`);
  }
}

async function refuses(promise: Promise<unknown>, what: string): Promise<void> {
  await assert.rejects(promise, { code: 'invalid_input' }, what);
}

// ── life ────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function aborts({ index, space }: Place): Promise<void> {
  const items = itemsOf(ANNA, vectors(BATCH, 18));
  await index.upsert(space, items);
  const query = items[0]?.vector ?? new Float32Array();
  const reason = new Error('left');
  await assert.rejects(index.search(space, ANNA, query, 10, AbortSignal.abort(reason)), reason);
  const leaving = new AbortController();
  const asked = Array.from({ length: 50 }, () => index.search(space, ANNA, query, 10, leaving.signal));
  const outcomes = Promise.allSettled(asked);
  leaving.abort(reason);
  for (const outcome of await outcomes) {
    assert.equal(outcome.status, 'rejected', 'an aborted search was answered');
    assert.equal(outcome.reason, reason);
  }
  assert.equal((await find(index, space, ANNA, query, 10)).length, 10);
}

async function survives({ index, space, restart }: Place): Promise<void> {
  const items = itemsOf(ANNA, vectors(10_000, 19));
  await put(index, space, items);
  await index.remove(space, ANNA, ['item-1']);
  const id = await idOf(index, space);
  const again = await restart();
  assert.equal(await idOf(again, space), id);
  const kept = items.filter(item => item.id !== 'item-1');
  for (const item of [items[0], items[5000], items[9999]]) {
    const hits = await find(again, space, ANNA, item?.vector ?? new Float32Array(), 10);
    assert.equal(hits[0]?.id, item?.id);
    assertHits(hits, kept, item?.vector ?? new Float32Array());
  }
}

// ── tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Hit {
  id: string;
  score: number;
}

function find(index: VectorIndex, space: VectorSpace, user: string, vector: Float32Array, limit: number) {
  return index.search(space, user, vector, limit, new AbortController().signal);
}

async function put(index: VectorIndex, space: VectorSpace, items: readonly VectorItem[]): Promise<void> {
  for (let at = 0; at < items.length; at += BATCH) await index.upsert(space, items.slice(at, at + BATCH));
}

async function idOf(index: VectorIndex, { name }: VectorSpace): Promise<string | undefined> {
  return (await index.spaces()).find(space => space.name === name)?.id;
}

function itemsOf(userId: string, all: readonly Float32Array[]): VectorItem[] {
  return all.map((vector, at) => itemOf(userId, at, vector));
}

function itemOf(userId: string, at: number, vector: Float32Array = new Float32Array()): VectorItem {
  return { userId, id: `item-${at}`, vector, updatedAt: 1_700_000_000_000 + at };
}

/** Checks that each hit exists and has its own cosine, and that hits are sorted. */
function assertHits(hits: readonly Hit[], items: readonly VectorItem[], query: Float32Array): void {
  let last = 1 + TOLERANCE;
  for (const { id, score } of hits) {
    const item = items.find(each => each.id === id);
    assert.ok(item, `${id} is missing`);
    assertScore(score, cosine(item.vector, query));
    assert.ok(score <= last, `${score} comes after ${last}`);
    last = score;
  }
}

function assertScore(got: number | undefined, want: number): void {
  assert.ok(got !== undefined && Math.abs(got - want) < TOLERANCE, `the score is ${got}, not ${want}`);
}

function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** Returns vectors of various lengths, always the same for a seed. */
function vectors(count: number, seed: number): Float32Array[] {
  let state = seed * 2_654_435_761;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
  return Array.from({ length: count }, () => Float32Array.from({ length: DIMENSIONS }, next));
}
