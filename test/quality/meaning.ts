/**
 * Measures search and memories without a language model: paraphrases found, memories distinguished, and
 * processor time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Embedder } from '../../core/contract/plugin.ts';
import { createCategorise } from '../../core/domain/memories/memory-category.ts';
import words from '../../plugins/embedder/words/index.ts';
import type { Cell, Table } from '../bench/benchmark.ts';
import { DISTRACTORS, PAIRS, recallOf, recallOfSearch, rightCategories } from '../helpers/recall.ts';
import { contextOf } from '../plugins/stt/context.ts';

const TEXTS = DISTRACTORS.slice(0, 256);
const ROUNDS = 20;
const never = new AbortController().signal;

export async function meaning(): Promise<Table[]> {
  const { context } = contextOf();
  const { embedder } = words.setup({ ...context, options: {} as never, dataDir: '' });
  const cost = await costOf(embedder); // first, because it loads the table
  return [await search(embedder), await categories(embedder), cost];
}

async function search(embedder: Embedder): Promise<Table> {
  const rows: Cell[][] = [];
  for (const [among, others] of [
    ['each other', []],
    ['300 more', DISTRACTORS],
  ] as const) {
    for (const half of ['test', 'tune', 'names'] as const) {
      const alone = await recallOf(embedder, PAIRS[half], others);
      const fused = await undone(t => recallOfSearch(t, embedder, PAIRS[half], others));
      for (const [how, { at1, at5, at10 }] of Object.entries({
        'vectors alone': alone,
        'whole search': fused,
      }))
        rows.push([`${half}, among ${among}, ${how}`, ...[at1, at5, at10].map(percent)]);
    }
  }
  return {
    title: `Paraphrases found (${embedder.id}), %`,
    columns: ['pairs', 'first', 'best 5', 'best 10'],
    rows,
    notes: [
      'Test and tune are 60 each, and hardly a word is common to memory and question; options were chosen by tune alone. Names are 15.',
    ],
  };
}

/** Runs work with the teardown that a test offers. */
async function undone<T>(work: (t: { teardown(undo: () => unknown): void }) => Promise<T>): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    return await work({ teardown: step => void undo.push(step) });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function categories(embedder: Embedder): Promise<Table> {
  const categorise = createCategorise({
    models: () => [],
    embedder: () => embedder,
    clock: {
      now: () => performance.now(),
      sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}),
    },
    log: contextOf().context.log,
  });
  const rows = await Promise.all(
    (['test', 'tune'] as const).map(async half => [half, percent(await rightCategories(categorise, half))]),
  );
  return { title: 'Categories of memories as people assigned them, %', columns: ['half', 'right'], rows };
}

/** In processor time, which other processes do not affect. */
async function costOf(embedder: Embedder): Promise<Table> {
  const before = { cpu: process.cpuUsage(), rss: process.memoryUsage().rss };
  await embedder.embed(['hello'], never);
  const loaded = { cpu: process.cpuUsage(), rss: process.memoryUsage().rss };
  for (let round = 0; round < ROUNDS; round += 1) await embedder.embed(TEXTS, never);
  const spent = (from: NodeJS.CpuUsage) => {
    const { user, system } = process.cpuUsage(from);
    return user + system;
  };
  const all = spent(loaded.cpu);
  const row = [
    embedder.id,
    (spent(before.cpu) - all) / 1000,
    (loaded.rss - before.rss) / 2 ** 20,
    all / (ROUNDS * TEXTS.length),
  ];
  return {
    title: 'Cost of vectors',
    columns: ['embedder', 'to load, ms', 'memory, MiB', 'a text, µs'],
    rows: [row],
  };
}

function percent(share: number): number {
  return Math.round(share * 100);
}
