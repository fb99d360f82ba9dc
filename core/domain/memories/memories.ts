import type { Clock, Memory, MemoryCategory, User } from '../../contract/model.ts';
import type { MemoryFilter, Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Change, EventBus } from '../../runtime/events.ts';
import { checkExpected } from '../expected.ts';
import { isId, newId } from '../ids.ts';
import { noteIn } from '../search/embedding.ts';
import { forgetIn, isForgotten, MAX_FORGOTTEN, recallIn } from './forgotten-memories.ts';
import { gistOf, saysTheSame } from './memory-likeness.ts';

/** Maximum earlier texts of a memory; the newest are kept. */
export const MAX_HISTORY = 50;
/** Memories with words of a new one that it is compared with. */
const MAX_COMPARED = 20;

/** Categories of memories, each with its boost in lists. */
const MEMORY_BOOST = {
  interesting: 1,
  system: 0,
  manual: 1,
  workflow: 2,
  core: 2,
  hobbies: 2,
  lifestyle: 2,
  interests: 2,
  habits: 2,
  work: 2,
  skills: 2,
  learnings: 2,
  other: 2,
} as const satisfies Record<MemoryCategory, number>;

export const MEMORY_CATEGORIES = Object.keys(MEMORY_BOOST) as [MemoryCategory, ...MemoryCategory[]]; // keys of the literal above

export function isMemoryCategory(text: string): text is MemoryCategory {
  return Object.hasOwn(MEMORY_BOOST, text);
}

/** `auto`: the service decides; it is never stored. */
type WantedCategory = MemoryCategory | 'auto';

export type MemoryDraft = Pick<Memory, 'content' | 'visibility' | 'tags'> & { category: WantedCategory };
/** Absent: unchanged. */
export type MemoryEdit = Partial<MemoryDraft> & {
  /** Values that the change is based on: `conflict` where they have changed. */
  expected?: { content?: string };
};

/** Returns the category of a text; never rejects. */
export type Categorise = (content: string, signal?: AbortSignal) => Promise<MemoryCategory>;

export type Memories = ReturnType<typeof createMemories>;

/**
 * The only writer of memories. A locked memory is left out of lists, not found, and not changed (`locked`). Every
 * change is recorded for the vectors in its transaction.
 */
export function createMemories({
  storage,
  clock,
  events,
  categorise,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  categorise: Categorise;
}) {
  /** By `scoring`, descending. */
  async function list(userId: string, filter: MemoryFilter): Promise<Memory[]> {
    return storage.memories.list(userId, filter);
  }

  /** `not_found`. */
  async function get(userId: string, id: string): Promise<Memory> {
    const found = await find(storage, userId, id);
    if (found.locked) throw notFound();
    return found;
  }

  /** Stores memories that somebody wrote down for this user. All or nothing, in the given order. */
  async function create(userId: string, drafts: readonly MemoryDraft[]): Promise<Memory[]> {
    const categories = await Promise.all(drafts.map(draft => categoryOf(draft.category, draft.content)));
    const now = clock.now();
    const memories = drafts.map((draft, at) =>
      memoryOf(userId, { ...draft, category: categories[at] ?? 'other' }, now),
    );
    await storage.transaction('create memories', async tx => {
      await recallIn(
        tx,
        userId,
        memories.map(({ content }) => content),
      );
      await tx.memories.insert(memories);
      await noteIn(tx, userId, memories, now);
    });
    for (const { id } of memories) tell(userId, id, 'created');
    return memories;
  }

  /** Stores memories that a program noted for this user. Repetitions of stored or deleted memories are left out. */
  async function note(userId: string, drafts: readonly MemoryDraft[]): Promise<void> {
    const categories = await Promise.all(drafts.map(draft => categoryOf(draft.category, draft.content)));
    const now = clock.now();
    await storage.transaction('note memories', async tx => {
      const forgotten = await tx.forgottenMemories.list(userId, MAX_FORGOTTEN);
      for (const [at, draft] of drafts.entries()) {
        if (forgotten.some(each => isForgotten(each, draft.content))) continue;
        if (await isKnown(tx, userId, draft.content)) continue;
        const memory = memoryOf(userId, { ...draft, category: categories[at] ?? 'other' }, now);
        await tx.memories.insert([memory]);
        await noteIn(tx, userId, [memory], now);
      }
    });
  }

  /** Changes a memory; of two simultaneous edits both apply. `not_found`, `locked`. */
  async function edit(userId: string, id: string, changes: MemoryEdit): Promise<Memory> {
    const { category: wanted, expected, ...rest } = changes;
    const judged = wanted === 'auto' ? (rest.content ?? (await get(userId, id)).content) : '';
    const category = wanted && (await categoryOf(wanted, judged));
    const now = clock.now();
    const edited = await storage.transaction('edit memory', async tx => {
      const before = await writable(tx, userId, id);
      const { content } = rest;
      checkExpected({ content: before.content }, expected, content === undefined ? {} : { content });
      const patch = {
        ...rest,
        ...(category && { category, scoring: scoringOf({ ...before, category }) }),
        ...CONFIRMED,
        asOf: now,
        updatedAt: Math.max(now, before.updatedAt + 1),
      };
      await tx.memories.update(userId, id, patch);
      const after = { ...before, ...patch };
      if (after.content !== before.content) await noteIn(tx, userId, [after], now);
      return after;
    });
    tell(userId, id, 'changed');
    return edited;
  }

  /** Confirms a memory on behalf of its user. `not_found`, `locked`. */
  async function accept(userId: string, id: string): Promise<Memory> {
    const now = clock.now();
    return storage.transaction('accept memory', async tx => {
      const before = await writable(tx, userId, id);
      const updatedAt = Math.max(now, before.updatedAt + 1);
      const patch = { reviewed: true, userReview: true, updatedAt };
      await tx.memories.update(userId, id, patch);
      return { ...before, ...patch };
    });
  }

  /**
   * Restores this version of a memory, null: the last one; the current text becomes history. Statements from before now no
   * longer change it. A memory without a history stays as it is. `not_found`, `locked`.
   */
  async function restore(userId: string, id: string, versionId: string | null): Promise<Memory> {
    const now = clock.now();
    const restored = await storage.transaction('restore memory', async tx => {
      const before = await writable(tx, userId, id);
      if (versionId === null && before.history.length === 0) return before;
      const version = before.history.findLast(({ id: each }) => versionId === null || each === versionId);
      if (!version) throw new AppError('not_found', 'Version not found');
      const others = before.history.filter(each => each !== version);
      const { content, sources } = version;
      const after = {
        ...supersededBy({ ...before, history: others }, { content, sources, asOf: now }, now),
        ...CONFIRMED,
        updatedAt: Math.max(now, before.updatedAt + 1),
      };
      const { asOf, history, updatedAt } = after;
      await tx.memories.update(userId, id, { ...CONFIRMED, content, sources, asOf, history, updatedAt });
      await noteIn(tx, userId, [after], now);
      return after;
    });
    return restored;
  }

  /** Deletes a memory permanently: neither its text nor its earlier texts are stored again from conversations. `not_found`, `locked`. */
  async function remove(userId: string, id: string): Promise<void> {
    const now = clock.now();
    await storage.transaction('delete memory', async tx => {
      const before = await writable(tx, userId, id);
      await tx.memories.remove(userId, id);
      await forgetIn(
        tx,
        userId,
        [before, ...before.history].map(({ content }) => content),
        now,
      );
      await noteIn(tx, userId, [{ id, updatedAt: Math.max(now, before.updatedAt + 1) }], now);
    });
    tell(userId, id, 'removed');
  }

  function tell(userId: string, id: string, change: Change): void {
    events.emit('changed', { userId, kind: 'memory', id, change });
  }

  async function categoryOf(wanted: WantedCategory, content: string): Promise<MemoryCategory> {
    return wanted === 'auto' ? categorise(content) : wanted;
  }

  return { list, get, create, note, edit, accept, restore, remove };
}

/** Review state of a memory that its user changed: earlier verdicts no longer count. */
const CONFIRMED = { reviewed: true, userReview: true, edited: true };

async function isKnown(tx: Stores, userId: string, content: string): Promise<boolean> {
  const likely = await tx.memories.some(userId, await tx.memories.match(userId, content, MAX_COMPARED));
  return likely.some(memory => saysTheSame(gistOf(content), gistOf(memory.content)));
}

/** Moves the present text into the history. */
export function supersededBy(
  memory: Memory,
  fresh: Pick<Memory, 'content' | 'asOf' | 'sources'>,
  now: number,
): Memory {
  const { content, asOf, sources } = memory;
  const version = { id: newId(now), content, asOf, sources, supersededAt: now };
  const history = [...memory.history, version].sort((a, b) => a.asOf - b.asOf).slice(-MAX_HISTORY);
  return { ...memory, ...fresh, history };
}

/** `forbidden`, in the form that programs expect, while the operator denies programs access to this account. */
export function requireMemoryAccess({ memoryAccess }: User): void {
  if (memoryAccess) return;
  const message = 'This account is not enabled for reading memories. The key is fine: try again later';
  throw new AppError('forbidden', message, {
    detail: {
      enabled: false,
      code: 'developer_memory_access_not_ready',
      message,
      reason: 'switched off by the operator',
    },
  });
}

function memoryOf(
  userId: string,
  { content, category, visibility, tags }: MemoryDraft & { category: MemoryCategory },
  now: number,
): Memory {
  const made = { category, createdAt: now, manuallyAdded: true };
  return {
    ...made,
    id: newId(now),
    userId,
    content,
    visibility,
    tags,
    updatedAt: now,
    scoring: scoringOf(made),
    reviewed: true,
    userReview: true,
    edited: false,
    locked: false,
    topic: null,
    asOf: now,
    sources: [],
    history: [],
  };
}

/** Returns a sort key of constant length: memories written by hand first, then by category, then the newest. */
export function scoringOf({
  category,
  createdAt,
  manuallyAdded,
}: Pick<Memory, 'category' | 'createdAt' | 'manuallyAdded'>): string {
  const rank = 999 - MEMORY_BOOST[category];
  const seconds = Math.floor(createdAt / 1000);
  return `${manuallyAdded ? '01' : '00'}_${rank}_${String(seconds).padStart(10, '0')}`;
}

async function writable(tx: Stores, userId: string, id: string): Promise<Memory> {
  const found = await find(tx, userId, id);
  if (found.locked) throw new AppError('locked', 'Memory is locked');
  return found;
}

async function find(stores: Stores, userId: string, id: string): Promise<Memory> {
  const found = isId(id) ? await stores.memories.get(userId, id) : null;
  if (!found) throw notFound();
  return found;
}

function notFound(): AppError {
  return new AppError('not_found', 'Memory not found');
}
