/**
 * Vectors of memories, which are made in the background: each change is recorded in its own transaction, and a job for each
 * user processes them. Records survive a restart of the server, and failures of the index or the embedder.
 */
import { z } from 'zod';
import type { Clock, Memory } from '../../contract/model.ts';
import type { Embedder, Storage, Stores, VectorIndex, VectorSpace } from '../../contract/plugin.ts';
import type { JobHandler } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { pagesById } from '../pages.ts';

/** Job that brings one user's vectors up to date. */
export const EMBED_JOB = 'embed';
/** Job that finds users whose vectors are out of date: another embedder was configured, or an index was lost. */
export const EMBED_CHECK_JOB = 'embed-check';

const KIND = 'memories.';
const CHECK_MS = 5 * 60_000;
/** Memories per batch, which embedders and indexes must accept. */
const BATCH = 256;
/** Number of batches after which other jobs run. */
const MAX_BATCHES = 20;
const USERS_AT_ONCE = 500;
/** Maximum items in one call of an index. */
const REMOVED_AT_ONCE = 1000;
const MAX_CHANGES = 1_000_000;

/** Ids of items that had vectors, in the job of a removed account. */
const Gone = z.array(z.string());

/** Name of the vector space of an embedder. */
export function spaceOf({ id, dimensions }: Pick<Embedder, 'id' | 'dimensions'>): VectorSpace {
  return { name: KIND + id, dimensions };
}

/** Records what was created, changed or removed, as of its `updatedAt`, in the transaction of the change. */
export async function noteIn(
  tx: Stores,
  userId: string,
  changed: readonly Pick<Memory, 'id' | 'updatedAt'>[],
  now: number,
): Promise<void> {
  await tx.embeddings.note(changed.map(({ id, updatedAt }) => ({ userId, id, changedAt: updatedAt })));
  await enqueue(tx, userId, now);
}

async function enqueue(stores: Pick<Stores, 'jobs'>, userId: string, now: number): Promise<void> {
  await stores.jobs.enqueue({ kind: EMBED_JOB, key: userId, runAt: now, payload: { userId } });
}

export type Embedding = ReturnType<typeof createEmbedding>;

export function createEmbedding({
  storage,
  clock,
  log,
  embedder,
  vectors,
}: {
  storage: Storage;
  clock: Clock;
  log: Log;
  /** Called at each use, because plugins may be restarted. Both throw while none is available. */
  embedder: () => Embedder;
  vectors: () => VectorIndex;
}) {
  let isAway = false;

  /** The handler of `EMBED_JOB`. Rejects, to be retried, while the embedder or the index is not available. */
  const embed: JobHandler = async ({ payload }, signal) => {
    const userId = String(payload.userId);
    const gone = Gone.safeParse(payload.gone);
    if (gone.success) return forget(userId, gone.data);
    const tools = { embedder: embedder(), vectors: vectors() };
    for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
      if ((await fillSome(userId, tools, signal)) && (await catchUp(userId, tools, signal))) return;
      signal.throwIfAborted();
    }
    return { again: clock.now() };
  };

  /** Adds a page of memories to the embedder's space. Resolves to whether all are in it already. */
  async function fillSome(userId: string, tools: Tools, signal: AbortSignal): Promise<boolean> {
    const known = await storage.embeddings.get(userId);
    const cursor = known?.space === (await fillingOf(tools)) ? known.cursor : START;
    if (cursor === null) return true;
    const memories = await storage.memories.page(userId, cursor === START ? null : cursor, BATCH);
    await put(userId, memories, tools, signal);
    const space = await fillingOf(tools); // the first vector creates it
    await storage.embeddings.put({ userId, space, cursor: memories.at(-1)?.id ?? null });
    return false;
  }

  /** Processes the oldest changes. Resolves to whether there were none. */
  async function catchUp(userId: string, tools: Tools, signal: AbortSignal): Promise<boolean> {
    const changes = await storage.embeddings.changes(userId, BATCH);
    if (changes.length === 0) return true;
    const ids = changes.map(({ id }) => id);
    const memories = await storage.memories.some(userId, ids);
    const there = new Set(memories.map(({ id }) => id));
    await put(userId, memories, tools, signal);
    const gone = ids.filter(id => !there.has(id));
    if (gone.length > 0) await tools.vectors.remove(spaceOf(tools.embedder), userId, gone);
    await storage.embeddings.settle(changes);
    return false;
  }

  /** The handler of `EMBED_CHECK_JOB`, which repeats by itself in any case. */
  const check: JobHandler = async () => {
    try {
      await lookAround();
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, 'memories cannot be embedded now; changes wait');
      isAway = true;
    }
    return { again: clock.now() + CHECK_MS };
  };

  async function lookAround(): Promise<void> {
    const tools = { embedder: embedder(), vectors: vectors() };
    const behind = await enqueueBehind(await fillingOf(tools));
    if (behind > 0) return;
    const { name: current } = spaceOf(tools.embedder);
    for (const { name } of await tools.vectors.spaces())
      if (name.startsWith(KIND) && name !== current) await tools.vectors.drop(name);
  }

  /** Resolves to their number. */
  async function enqueueBehind(space: string): Promise<number> {
    let [count, after] = [0, null as string | null];
    for (;;) {
      const users = await storage.embeddings.behind(space, after, USERS_AT_ONCE);
      for (const userId of users) await enqueue(storage, userId, clock.now());
      count += users.length;
      after = users.at(-1) ?? null;
      if (users.length < USERS_AT_ONCE) return count;
    }
  }

  /** Removes the vectors of a deleted account. Rejects while the embedder or the index is not available. */
  async function forget(userId: string, ids: readonly string[]): Promise<void> {
    const space = spaceOf(embedder());
    for (let at = 0; at < ids.length; at += REMOVED_AT_ONCE)
      await vectors().remove(space, userId, ids.slice(at, at + REMOVED_AT_ONCE));
  }

  /**
   * Schedules the removal of an account's vectors within the transaction that removes the account; a running job for them
   * ends first. Resolves to the ids of all memories that may have one.
   */
  async function forgetIn(tx: Stores, userId: string): Promise<string[]> {
    const ids = (await tx.embeddings.changes(userId, MAX_CHANGES)).map(({ id }) => id);
    const pages = pagesById((after, limit) => tx.memories.page(userId, after, limit), BATCH);
    for await (const page of pages) ids.push(...page.map(({ id }) => id));
    const payload = { userId, gone: ids };
    await tx.jobs.enqueue({ kind: EMBED_JOB, key: userId, runAt: clock.now(), payload });
    return ids;
  }

  return {
    embed,
    check,
    forget,
    forgetIn,
    /** Enqueues the check, as every start does. */
    begin: (): Promise<void> =>
      storage.jobs.enqueue({ kind: EMBED_CHECK_JOB, key: 'all', runAt: clock.now(), payload: {} }),
  };
}

interface Tools {
  embedder: Embedder;
  vectors: VectorIndex;
}

/** Before the first id. */
const START = '';

/** Returns name and id of the space: one that was lost and created again has another id, and has to be filled again. */
async function fillingOf({ embedder, vectors }: Tools): Promise<string> {
  const { name } = spaceOf(embedder);
  const made = (await vectors.spaces()).find(space => space.name === name);
  return `${name} ${made?.id ?? ''}`;
}

/** Stores the vectors of memories of one user; texts without a meaning for the embedder get none. */
async function put(
  userId: string,
  memories: readonly Memory[],
  { embedder, vectors }: Tools,
  signal: AbortSignal,
): Promise<void> {
  if (memories.length === 0) return;
  const made = await embedder.embed(
    memories.map(({ content }) => content),
    signal,
  );
  const items = memories.flatMap(({ id, updatedAt }, at) => {
    const vector = made[at];
    return vector?.some(part => part !== 0) ? [{ userId, id, updatedAt, vector }] : [];
  });
  if (items.length > 0) await vectors.upsert(spaceOf(embedder), items);
  const embedded = new Set(items.map(({ id }) => id));
  const others = memories.map(({ id }) => id).filter(id => !embedded.has(id));
  if (others.length > 0) await vectors.remove(spaceOf(embedder), userId, others);
}
