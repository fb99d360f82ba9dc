import type { Memory } from '../../contract/model.ts';
import type { Embedder, Storage, VectorIndex } from '../../contract/plugin.ts';
import { deadline } from '../../runtime/deadline.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import type { Principal } from '../accounts/credentials.ts';
import { requireGrant } from '../accounts/grants.ts';
import { requireMemoryAccess } from '../memories/memories.ts';
import { spaceOf } from './embedding.ts';
import { wordShares } from './word-share.ts';

/** Time limit for the search by meaning, which is then left out. */
const MEANING_MS = 2000;
/** Additional hits in each list: some may be deleted, locked, or in one list only. */
const SPARE = 50;

export interface Hit {
  memory: Memory;
  /**
   * 0 to 1, half by meaning and half by words: 1 is the most similar in meaning with every word of the query. While the
   * search by meaning is unavailable, by words alone.
   */
  relevance: number;
}

export type Search = ReturnType<typeof createSearch>;

/** Finds memories by meaning and by words. */
export function createSearch({
  storage,
  log,
  embedder,
  vectors,
}: {
  storage: Storage;
  log: Log;
  /** Called at each use, because plugins may be restarted. Both throw while none is available. */
  embedder: () => Embedder;
  vectors: () => VectorIndex;
}) {
  let isAway = false;

  /**
   * Returns at most `limit` memories, the most relevant first, each as it is stored now. While the embedder or the index is
   * unavailable, only words count. While the vectors of a new embedder are made, only existing ones count.
   */
  async function search(userId: string, text: string, limit: number): Promise<Hit[]> {
    const places = limit + SPARE;
    const [byWords, byMeaning] = await Promise.all([
      storage.memories.match(userId, text, places),
      likeIt(userId, text, places),
    ]);
    const ids = new Set([...byWords, ...(byMeaning ?? []).map(({ id }) => id)]);
    const memories = (await storage.memories.some(userId, [...ids])).filter(({ locked }) => !locked);
    const shares = wordShares(
      text,
      memories.map(({ content }) => content),
    );
    const nearness = byMeaning && nearnessOf(byMeaning, places);
    const placeOf = new Map(byWords.map((id, place) => [id, place]));
    const place = ({ memory: { id } }: Hit) => placeOf.get(id) ?? places;
    return memories
      .map((memory, at): Hit => {
        const share = shares[at] ?? 0;
        return { memory, relevance: nearness ? ((nearness.get(memory.id) ?? 0) + share) / 2 : share };
      })
      .sort(
        (a, b) => b.relevance - a.relevance || place(a) - place(b) || (a.memory.id < b.memory.id ? -1 : 1),
      )
      .slice(0, limit);
  }

  /** Searches by meaning, nearest first; null while that is not available. */
  async function likeIt(userId: string, text: string, limit: number): Promise<Near[] | null> {
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
  ): Promise<Near[]> {
    const maker = embedder();
    const index = vectors();
    const [vector] = await maker.embed([text], signal);
    if (!vector?.some(part => part !== 0)) return []; // the text has no meaning to the embedder
    const found = await index.search(spaceOf(maker), userId, vector, limit, signal);
    return found.filter(({ score }) => score > 0);
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

interface Near {
  id: string;
  /** Cosine. */
  score: number;
}

/**
 * Scales similarities: 1 for the most similar, 0 for the best one that was left out, because the range of similarities depends
 * on the embedder. Ranks would not suffice: the best match by words may share only `his`.
 */
function nearnessOf(found: readonly Near[], places: number): Map<string, number> {
  const [top = 0, last = 0] = [found[0]?.score, found.at(-1)?.score];
  const least = found.length < places ? 0 : last;
  return new Map(found.map(({ id, score }) => [id, top === least ? 1 : (score - least) / (top - least)]));
}

/** Rejects after the time limit, even if the signal is ignored. */
function inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = () => new AppError('timeout', `no vectors within ${MEANING_MS} ms`);
  return deadline({ limitMs: MEANING_MS, late }, work);
}
