import type { Memory } from '../../contract/model.ts';
import type { Embedder, Storage } from '../../contract/plugin.ts';
import type { Log } from '../../runtime/log.ts';
import type { Search } from '../search/search.ts';
import type { HeardMemory } from './heard-memories.ts';
import type { Categorise } from './memories.ts';
import { cosineOf, gistOf, saysTheSame } from './memory-likeness.ts';

/** A memory found in a conversation. `replaces`: content of a memory that it supersedes. */
export type FoundMemory = Pick<HeardMemory, 'content' | 'topic' | 'segmentIds' | 'saidAt' | 'replaces'>;

/** Similar memories that each is compared with. */
const MAX_NEAR = 20;
/** Maximum number of memories without a vector that are compared by words. */
const MAX_FRESH = 100;

/**
 * Compares memories found in a conversation with the stored ones: which ones say the same, which ones they supersede, and
 * which category each has. Runs before the transaction that stores them, because that blocks other writers. While the
 * embedder is unavailable, only words are compared.
 */
export function createCompareMemories({
  storage,
  search,
  embedder,
  categorise,
  log,
}: {
  storage: Storage;
  search: Pick<Search, 'search'>;
  /** Throws while none is available. */
  embedder: () => Embedder;
  categorise: Categorise;
  log: Log;
}) {
  return async (
    userId: string,
    found: readonly FoundMemory[],
    signal: AbortSignal,
  ): Promise<HeardMemory[]> => {
    if (found.length === 0) return [];
    const near = await nearTo(userId, found);
    const alike = await cosines(found, near, signal);
    const heard: HeardMemory[] = [];
    for (const [at, each] of found.entries()) {
      const gist = gistOf(each.content);
      const isSame = ({ content }: Pick<Memory, 'content'>) =>
        saysTheSame(gist, gistOf(content), alike(at, content));
      if (heard.some(isSame)) continue;
      const replaced = near.find(({ content }) => content === each.replaces);
      heard.push({
        ...each,
        replaces: replaced?.id ?? null,
        same: new Map(near.filter(isSame).map(({ id, content }) => [id, content])),
        category: await categorise(each.content, signal),
      });
    }
    return heard;
  };

  async function nearTo(userId: string, found: readonly FoundMemory[]): Promise<Memory[]> {
    const texts = found.flatMap(({ content, replaces }) =>
      replaces === null ? [content] : [content, replaces],
    );
    const hits = await Promise.all(texts.map(text => search.search(userId, text, MAX_NEAR)));
    const fresh = await storage.embeddings.changes(userId, MAX_FRESH);
    const memories = await storage.memories.some(
      userId,
      fresh.map(({ id }) => id),
    );
    const all = [...hits.flat().map(({ memory }) => memory), ...memories.filter(({ locked }) => !locked)];
    return [...new Map(all.map(memory => [memory.id, memory])).values()];
  }

  /** Compares each of these texts with a memory's content. */
  async function cosines(
    found: readonly FoundMemory[],
    near: readonly Memory[],
    signal: AbortSignal,
  ): Promise<(at: number, content: string) => number> {
    const texts = [...new Set([...found, ...near].map(({ content }) => content))];
    try {
      const vectors = await embedder().embed(texts.slice(0, MAX_EMBEDDED), signal);
      const vectorOf = new Map(texts.map((text, at) => [text, vectors[at]]));
      return (at, content) => {
        const [one, other] = [vectorOf.get(found[at]?.content ?? ''), vectorOf.get(content)];
        return one && other ? cosineOf(one, other) : 0;
      };
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: error }, 'memories are compared by their words alone');
      return () => 0;
    }
  }
}

/** Maximum texts in one call of an embedder. */
const MAX_EMBEDDED = 256;

export type CompareMemories = ReturnType<typeof createCompareMemories>;
