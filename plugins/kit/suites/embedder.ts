/** Requirements for every embedder, as plain checks that throw. */
import assert from 'node:assert/strict';
import type { Embedder } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface EmbedderSubject {
  embedder: Embedder;
}

export type EmbedderCheck = SuiteCheck<EmbedderSubject>;

export const embedderChecks: readonly EmbedderCheck[] = [
  { title: 'returns for each text a vector of its dimensions and of length 1', isBasis: true, run: measures },
  { title: 'answers in the order of the texts, in a batch as one by one', run: keepsOrder },
  { title: 'returns the same vector for the same text, and never changes one later', run: repeats },
  { title: 'finds texts of similar meaning more similar than others', run: tellsApart },
  { title: 'accepts texts without content, and an empty list', run: takesNothing },
  { title: 'accepts 256 texts at once', run: takesMany },
  { title: 'accepts a text of 200,000 characters, which it may cut', run: takesLong },
  { title: 'accepts any Unicode', run: takesOddities },
  { title: 'serves several calls at once', run: servesSideBySide },
  { title: 'rejects with the reason when it is aborted', run: stops },
];

const TEXTS = [
  'The dog barks at the postman',
  'She plays the violin in an orchestra',
  'Bread is baked from flour and water',
];
/** Texts, each with one of similar and one of different meaning. */
const LIKENESSES = [
  ['A puppy sleeps in its basket', 'The dog is having a nap', 'The bank raised its interest rate'],
  ['He repairs cars for a living', 'His job is fixing automobiles', 'Tomatoes grow well in the sun'],
  ['She is ill and stays in bed', 'A fever keeps her at home', 'The train to London leaves at noon'],
] as const;
const ODDITIES = [
  '\u0000',
  '\ud800 alone',
  'e\u0301\u0323',
  '🧑‍🚀🚀',
  'שלום עולם',
  '你好，世界',
  'a\u202eb',
  '\u{10ffff}',
];
/** Minimum cosine of two vectors of the same text: servers compute in batches, and round. */
const SAME = 0.999;

const never = new AbortController().signal;

async function measures({ embedder }: EmbedderSubject): Promise<void> {
  assertVectors(await embedder.embed(TEXTS, never), embedder, TEXTS.length);
}

async function keepsOrder({ embedder }: EmbedderSubject): Promise<void> {
  const together = await embedder.embed(TEXTS, never);
  for (const [index, text] of TEXTS.entries()) {
    const [alone] = await embedder.embed([text], never);
    assertSame(alone, together[index], text);
  }
}

async function repeats({ embedder }: EmbedderSubject): Promise<void> {
  const first = await embedder.embed(TEXTS, never);
  const kept = first.map(vector => vector.slice());
  await embedder.embed(TEXTS.toReversed(), never);
  assert.deepEqual(first, kept, 'it changed a vector that it had returned');
  const again = await embedder.embed(TEXTS, never);
  for (const [index, text] of TEXTS.entries()) assertSame(again[index], kept[index], text);
}

async function tellsApart({ embedder }: EmbedderSubject): Promise<void> {
  for (const texts of LIKENESSES) {
    const [one, like, unlike] = await embedder.embed(texts, never);
    const near = cosine(one, like);
    const far = cosine(one, unlike);
    assert.ok(
      near > far,
      `the similarity of "${texts[0]}" is ${near} to "${texts[1]}", and ${far} to "${texts[2]}"`,
    );
  }
}

async function takesNothing({ embedder }: EmbedderSubject): Promise<void> {
  assert.deepEqual(await embedder.embed([], never), []);
  const texts = ['', TEXTS[0] ?? '', ' \n'];
  const vectors = await embedder.embed(texts, never);
  assertVectors(vectors, embedder, texts.length);
  assertSame((await embedder.embed([TEXTS[0] ?? ''], never))[0], vectors[1], 'the one text among them');
}

async function takesMany({ embedder }: EmbedderSubject): Promise<void> {
  const texts = Array.from({ length: 256 }, (_, index) => `${TEXTS[index % TEXTS.length]}, ${index} times`);
  const vectors = await embedder.embed(texts, never);
  assertVectors(vectors, embedder, texts.length);
  assertSame((await embedder.embed(texts.slice(-1), never))[0], vectors.at(-1), 'the last text');
}

async function takesLong({ embedder }: EmbedderSubject): Promise<void> {
  const text = `${TEXTS.join('. ')}. `.repeat(2000).slice(0, 200_000);
  assertVectors(await embedder.embed([text], never), embedder, 1);
}

async function takesOddities({ embedder }: EmbedderSubject): Promise<void> {
  const vectors = await embedder.embed([...ODDITIES, ...TEXTS], never);
  assertVectors(vectors, embedder, ODDITIES.length + TEXTS.length);
  assertSame((await embedder.embed(TEXTS.slice(-1), never))[0], vectors.at(-1), 'the text after them');
}

async function servesSideBySide({ embedder }: EmbedderSubject): Promise<void> {
  const alone = await embedder.embed(TEXTS, never);
  const together = await Promise.all(TEXTS.map(text => embedder.embed([text], never)));
  for (const [index, text] of TEXTS.entries()) assertSame(together[index]?.[0], alone[index], text);
}

async function stops({ embedder }: EmbedderSubject): Promise<void> {
  const reason = new Error('nobody wants it any more');
  await assert.rejects(embedder.embed(TEXTS, AbortSignal.abort(reason)), thrown => thrown === reason);
  assertVectors(await embedder.embed(TEXTS, never), embedder, TEXTS.length);
}

/** Checks that each has length 1, or is zero. */
function assertVectors(vectors: readonly Float32Array[], { dimensions }: Embedder, count: number): void {
  assert.equal(vectors.length, count, `${vectors.length} vectors for ${count} texts`);
  for (const vector of vectors) {
    assert.ok(vector instanceof Float32Array, 'a vector is not a Float32Array');
    assert.equal(vector.length, dimensions, `${vector.length} numbers, not ${dimensions}`);
    const length = Math.sqrt(dot(vector, vector));
    assert.ok(Math.abs(length - 1) < 0.001 || length === 0, `a vector has the length ${length}`);
  }
}

function assertSame(got: Float32Array | undefined, want: Float32Array | undefined, what: string): void {
  const likeness = cosine(got, want);
  assert.ok(likeness >= SAME, `${what}: another vector, with a similarity of ${likeness} to the first`);
}

/** Computes the cosine of two vectors of length 1; 0 if one is empty. */
function cosine(one: Float32Array | undefined, other: Float32Array | undefined): number {
  assert.ok(one && other, 'a vector is missing');
  return dot(one, other);
}

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, number, index) => sum + number * (other[index] ?? 0), 0);
}
