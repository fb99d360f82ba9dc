/**
 * One way to search, in a separate process: the embedded index, or the floor, which compares every vector.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { VectorItem } from '../../../core/contract/plugin.ts';
import { CORPORA, type Corpus } from './corpora.ts';
import { exact, index, type Subject } from './subjects.ts';

export interface SearchPlan {
  kind: 'exact' | 'index';
  /** False: the vectors already exist. */
  fills: boolean;
  corpus: keyof typeof CORPORA;
  dataDir: string;
  /** Memories of the user who searches. */
  memories: number;
  /** Memories of each other user. */
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

/** All queries, once. */
export interface Searched {
  event: 'searched';
  ms: number[];
  cpuMs: number;
  found: string[][];
}

const BATCH = 256;

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
    const hits = await subject.search(query, plan.limit);
    ms.push(performance.now() - startedAt);
    found.push(hits.map(({ id }) => id));
  }
  const { user, system } = process.cpuUsage(before);
  return { event: 'searched', ms, cpuMs: (user + system) / 1000 / queries.length, found };
}
