/** One way to search, in a process of its own: the embedded index, or the floor, which compares with every vector. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../../../core/errors.ts';
import { createLog } from '../../../core/log.ts';
import type { PluginContext, VectorItem } from '../../../core/plugin.ts';
import sqliteVectors from '../../../plugins/vectors/sqlite-vectors.ts';
import { CORPORA, type Corpus } from './corpora.ts';

export interface SearchPlan {
  kind: 'exact' | 'index';
  /** Else the vectors are there already. */
  fills: boolean;
  corpus: keyof typeof CORPORA;
  dataDir: string;
  /** Of the one user who searches. */
  memories: number;
  /** Of each other one. */
  others: number;
  users: number;
  queries: number;
  limit: number;
}

export interface Filled {
  event: 'filled';
  perSecond: number;
  fileMb: number;
}

/** All queries once. */
export interface Searched {
  event: 'searched';
  ms: number[];
  cpuMs: number;
  found: string[][];
}

const BATCH = 256;
const OWNER = 'user-0';

interface Subject {
  put(items: VectorItem[]): Promise<void>;
  search(query: Float32Array, limit: number): Promise<string[]>;
}

process.on('message', async (message: SearchPlan | 'search') => {
  if (message === 'search') return say(await searchAll());
  plan = message;
  const corpus = CORPORA[plan.corpus]();
  subject = plan.kind === 'exact' ? exact(corpus, plan.memories) : await index(corpus, plan.dataDir);
  queries = await corpus.queries(plan.queries, 1000);
  say(await fill(corpus, subject, plan));
});

let plan: SearchPlan;
let subject: Subject;
let queries: Float32Array[] = [];

function say(message: Filled | Searched): void {
  process.send?.(message);
}

async function fill(
  corpus: Corpus,
  { put }: Subject,
  { kind, dataDir, ...many }: SearchPlan,
): Promise<Filled> {
  const users = many.fills ? (kind === 'exact' ? 1 : many.users) : 0;
  let ms = 0;
  let count = 0;
  for (let user = 0; user < users; user++) {
    let batch: VectorItem[] = [];
    const flush = async () => {
      const startedAt = performance.now();
      await put(batch);
      ms += performance.now() - startedAt;
      count += batch.length;
      batch = [];
    };
    let at = 0;
    for await (const vector of corpus.memories(user === 0 ? many.memories : many.others, user + 1)) {
      batch.push({ userId: `user-${user}`, id: `memory-${at++}`, vector, updatedAt: at });
      if (batch.length === BATCH) await flush();
    }
    await flush();
  }
  return { event: 'filled', perSecond: (1000 * count) / ms, fileMb: await sizeOf(dataDir) };
}

/** In MB. */
async function sizeOf(directory: string): Promise<number> {
  const files = await readdir(directory);
  const sizes = await Promise.all(files.map(async file => (await stat(join(directory, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0) / 1e6;
}

async function searchAll(): Promise<Searched> {
  const ms: number[] = [];
  const found: string[][] = [];
  const before = process.cpuUsage();
  for (const query of queries) {
    const startedAt = performance.now();
    found.push(await subject.search(query, plan.limit));
    ms.push(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(before);
  return { event: 'searched', ms, cpuMs: (user + system) / 1000 / queries.length, found };
}

async function index({ dimensions }: Corpus, dataDir: string): Promise<Subject> {
  const context: Partial<PluginContext<unknown>> = {
    dataDir,
    log: createLog({ level: 'warn', format: 'json' }),
    clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
    onStop: () => {},
    error: (code, message, details) => new AppError(code, message, details),
    fail: error => {
      throw error;
    },
  };
  const options = sqliteVectors.options(z).parse({});
  const setUp = sqliteVectors.setup as (given: unknown) => ReturnType<typeof sqliteVectors.setup>; // it uses no more
  const { vectors } = await setUp({ ...context, options });
  const space = { name: 'memories.bench', dimensions };
  const signal = new AbortController().signal;
  return {
    put: items => vectors.upsert(space, items),
    search: async (query, limit) =>
      (await vectors.search(space, OWNER, query, limit, signal)).map(({ id }) => id),
  };
}

/** All in one array of floats, and nothing else in the way. */
function exact({ dimensions }: Corpus, count: number): Subject {
  const all = new Float32Array(count * dimensions);
  const scores = new Float32Array(count);
  let held = 0;
  return {
    async put(items) {
      for (const { vector } of items) all.set(vector, held++ * dimensions);
    },
    async search(query, limit) {
      for (let row = 0, at = 0; row < held; row++) {
        let sum = 0;
        for (let i = 0; i < dimensions; i++, at++) sum += (all[at] ?? 0) * (query[i] ?? 0);
        scores[row] = sum;
      }
      const best: number[] = [];
      for (let row = 0; row < held; row++) {
        if (best.length === limit && (scores[row] ?? 0) <= (scores[best.at(-1) ?? 0] ?? 0)) continue;
        const place = best.findIndex(other => (scores[other] ?? 0) < (scores[row] ?? 0));
        best.splice(place === -1 ? best.length : place, 0, row);
        best.length = Math.min(best.length, limit);
      }
      return best.map(row => `memory-${row}`);
    },
  };
}
