/** Search of memories as in the API: by words and by meaning, in a separate process. */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Embedder, Storage, VectorIndex } from '../../../core/contract/plugin.ts';
import { createSearch } from '../../../core/domain/search/search.ts';
import { memory, user } from '../../../plugins/kit/suites/storage/rows.ts';
import { openSqlite } from '../../../plugins/storage/sql/sqlite.ts';
import { createStorage } from '../../../plugins/storage/sql/storage.ts';
import { storageContext } from '../../helpers/storage.ts';
import { embedderOf, questions, sentences } from './corpora.ts';
import { exact, index, OWNER, type Subject } from './subjects.ts';

export interface WholePlan {
  dataDir: string;
  /** Memories of the user who searches. */
  memories: number;
  /** Memories of each other user. */
  others: number;
  users: number;
  queries: number;
  limit: number;
}

export interface WholeFilled {
  event: 'filled';
  /** Number of memories. */
  count: number;
}

/** All queries, once. */
export interface WholeSearched {
  event: 'searched';
  ms: number[];
  /** Processor time of the whole process, per question. */
  cpuMs: number;
  /** Time of the thread with the sockets, per query. */
  mainMs: number;
  /** Longest time for which that thread was blocked. */
  heldMs: number;
  found: string[][];
}

type Kind = 'exact' | 'index';
const searches = new Map<Kind, ReturnType<typeof createSearch>>();
let asked: string[] = [];
let limit = 0;

process.on('message', async (message: WholePlan | Kind) => {
  if (typeof message === 'string') return process.send?.(await searchAll(message));
  asked = questions(message.queries, 1000);
  limit = message.limit;
  process.send?.({ event: 'filled', count: await fill(message) });
});

/** Resolves to the number of memories. */
async function fill({ dataDir, memories, others, users }: WholePlan): Promise<number> {
  let count = 0;
  const context = storageContext();
  const storage = await createStorage(openSqlite(join(dataDir, 'earshot.db'), context), context);
  await storage.migrate();
  const embedder = await embedderOf();
  const ways = { exact: exact(embedder, memories), index: await index(embedder, dataDir) };
  for (let number = 0; number < users; number++) {
    const owner = number === 0 ? OWNER : `user-${number}`;
    await storage.users.insert(user(owner));
    const of = number === 0 ? [ways.exact, ways.index] : [ways.index];
    count += await addMemories(
      { storage, embedder, of },
      owner,
      sentences(number === 0 ? memories : others, number + 1),
    );
  }
  for (const [kind, way] of Object.entries(ways))
    searches.set(
      kind as Kind, // as they are named above
      createSearch({ storage, log: context.log, embedder: () => embedder, vectors: () => indexOf(way) }),
    );
  return count;
}

async function addMemories(
  { storage, embedder, of }: { storage: Storage; embedder: Embedder; of: Subject[] },
  userId: string,
  texts: Generator<string[]>,
): Promise<number> {
  const signal = new AbortController().signal;
  let count = 0;
  for (const some of texts) {
    const rows = some.map(content => memory(`${userId} ${count++}`, userId, { content }));
    await storage.memories.insert(rows);
    const vectors = await embedder.embed(some, signal);
    const items = rows.map(({ id, updatedAt }, at) => ({
      ...{ userId, id, updatedAt },
      vector: vectors[at] ?? new Float32Array(),
    }));
    for (const each of of) await each.put(items);
  }
  return count;
}

/** All that a search uses of it. */
function indexOf({ search }: Subject): VectorIndex {
  const found: Partial<VectorIndex> = { search: (_space, _userId, vector, limit) => search(vector, limit) };
  return found as VectorIndex;
}

async function searchAll(kind: Kind): Promise<WholeSearched> {
  const ms: number[] = [];
  const found: string[][] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const [before, mainBefore] = [process.cpuUsage(), process.threadCpuUsage()];
  for (const text of asked) {
    const startedAt = performance.now();
    const hits = (await searches.get(kind)?.search(OWNER, text, limit)) ?? [];
    ms.push(performance.now() - startedAt);
    found.push(hits.map(({ memory }) => memory.id));
  }
  const [used, mainUsed] = [process.cpuUsage(before), process.threadCpuUsage(mainBefore)];
  delay.disable();
  const each = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1000 / asked.length;
  return { event: 'searched', ms, cpuMs: each(used), mainMs: each(mainUsed), heldMs: delay.max / 1e6, found };
}
