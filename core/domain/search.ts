import type { Log } from '../log.ts';
import type { Memory } from '../model.ts';
import type { Embedder, Storage, VectorIndex } from '../plugin.ts';
import type { Principal } from './credentials.ts';
import { spaceOf } from './embedding.ts';
import { requireGrant } from './grants.ts';
import { requireMemoryAccess } from './memories.ts';

/** After this, what is like it in meaning is left out. */
const MEANING_MS = 2000;
/** Places that each list has beside those that are asked for: hits may be gone, locked, or in one list alone. */
const SPARE = 50;
/** How much the first places of a list are ahead of the later ones; 60 is what is used everywhere. */
const FUSION = 60;

export interface Hit {
  memory: Memory;
  /**
   * 1: the first of both lists, by words and by meaning; 0.5: the first of one, and not in the other; less further
   * down. Where there is only the list by words, its first is 1.
   */
  relevance: number;
}

export type Search = ReturnType<typeof createSearch>;

/** Finds memories by what they mean and by the words they have. */
export function createSearch({
  storage,
  log,
  embedder,
  vectors,
}: {
  storage: Storage;
  log: Log;
  /** Asked late, and each time: they are plugins, which come and go. Both throw while there is none. */
  embedder: () => Embedder;
  vectors: () => VectorIndex;
}) {
  let isAway = false;

  /**
   * The most relevant first, at most `limit`; each as it is in the store now. While the embedder or the index is away
   * it answers by words alone. While a new embedder's vectors are made, by those that there are.
   */
  async function search(userId: string, text: string, limit: number): Promise<Hit[]> {
    const places = limit + SPARE;
    const [byWords, byMeaning] = await Promise.all([
      storage.memories.match(userId, text, places),
      likeIt(userId, text, places),
    ]);
    const lists = byMeaning === null ? [byWords] : [byWords, byMeaning];
    const relevances = fuse(lists);
    const memories = await storage.memories.some(userId, [...relevances.keys()]);
    return memories
      .filter(({ locked }) => !locked)
      .map(memory => ({ memory, relevance: relevances.get(memory.id) ?? 0 }))
      .sort((a, b) => b.relevance - a.relevance || (a.memory.id < b.memory.id ? -1 : 1))
      .slice(0, limit);
  }

  /** Ids by meaning, the nearest first; null while that cannot be told. */
  async function likeIt(userId: string, text: string, limit: number): Promise<string[] | null> {
    try {
      const found = await inTime(signal => nearest({ userId, text, limit }, signal));
      if (isAway) log.info('memories are searched by meaning again');
      isAway = false;
      return found;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, 'memories are searched by their words alone');
      isAway = true;
      return null;
    }
  }

  async function nearest(
    { userId, text, limit }: { userId: string; text: string; limit: number },
    signal: AbortSignal,
  ): Promise<string[]> {
    const maker = embedder();
    const index = vectors();
    const [vector] = await maker.embed([text], signal);
    if (!vector?.some(part => part !== 0)) return []; // it says nothing to the embedder
    const found = await index.search(spaceOf(maker), userId, vector, limit, signal);
    return found.filter(({ score }) => score > 0).map(({ id }) => id);
  }

  return {
    search,
    /** `forbidden`, with the reason as an object: the grant that a key lacks, or the account is not ready. */
    async permit(principal: Principal): Promise<void> {
      await requireGrant(storage, principal, 'memories:read');
      requireMemoryAccess(principal.user);
    },
  };
}

/** Reciprocal rank fusion: what is far up in several lists comes first. From 0 to 1. */
function fuse(lists: readonly (readonly string[])[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const ids of lists)
    for (const [place, id] of ids.entries())
      sums.set(id, (sums.get(id) ?? 0) + (FUSION + 1) / (FUSION + 1 + place) / lists.length);
  return sums;
}

/** Rejects when it takes too long, also where nobody heeds the signal. */
async function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = AbortSignal.timeout(MEANING_MS);
  const { promise, reject } = Promise.withResolvers<never>();
  late.addEventListener('abort', () => reject(late.reason));
  promise.catch(() => {}); // it may come when nobody waits any more
  return await Promise.race([work(late), promise]);
}
