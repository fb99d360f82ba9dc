import { AppError } from '../errors.ts';
import type { Clock, Memory, MemoryCategory, User } from '../model.ts';
import type { MemoryFilter, Storage, Stores } from '../plugin.ts';
import { noteIn } from './embedding.ts';
import { isId, newId } from './ids.ts';

/** What a memory can be about, and how far that moves it up in lists. */
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
/** Absent: stays as it is. */
export type MemoryEdit = Partial<MemoryDraft>;

/** The category of what is said there. It answers in any case. */
export type Categorise = (content: string, signal?: AbortSignal) => Promise<MemoryCategory>;

export type Memories = ReturnType<typeof createMemories>;

/**
 * The only writer of memories, whoever asks. A locked one is left out of lists, not found, and not changed
 * (`locked`). Every change is noted for the vectors in its transaction.
 */
export function createMemories({
  storage,
  clock,
  jobs,
  categorise,
}: {
  storage: Storage;
  clock: Clock;
  /** Says that there is a job that was not there, or is due earlier than it was. */
  jobs: { poke(): void };
  categorise: Categorise;
}) {
  /** By `scoring`, the greatest first. */
  async function list(userId: string, filter: MemoryFilter): Promise<Memory[]> {
    return storage.memories.list(userId, filter);
  }

  /** `not_found`. */
  async function get(userId: string, id: string): Promise<Memory> {
    const found = await find(storage, userId, id);
    if (found.locked) throw notFound();
    return found;
  }

  /** What somebody wrote down for this user. All or nothing, in the order given. */
  async function create(userId: string, drafts: readonly MemoryDraft[]): Promise<Memory[]> {
    const categories = await Promise.all(drafts.map(draft => categoryOf(draft.category, draft.content)));
    const now = clock.now();
    const memories = drafts.map((draft, at) =>
      memoryOf(userId, { ...draft, category: categories[at] ?? 'other' }, now),
    );
    await storage.transaction('create memories', async tx => {
      await tx.memories.insert(memories);
      await noteIn(tx, userId, memories, now);
    });
    jobs.poke();
    return memories;
  }

  /** Two edits at once both count. `not_found`, `locked`. */
  async function edit(userId: string, id: string, changes: MemoryEdit): Promise<Memory> {
    const { category: wanted, ...rest } = changes;
    const content = wanted === 'auto' ? (rest.content ?? (await get(userId, id)).content) : '';
    const category = wanted && (await categoryOf(wanted, content));
    const now = clock.now();
    const edited = await storage.transaction('edit memory', async tx => {
      const before = await writable(tx, userId, id);
      const patch = {
        ...rest,
        ...(category && { category, scoring: scoringOf({ ...before, category }) }),
        edited: true,
        updatedAt: Math.max(now, before.updatedAt + 1),
      };
      await tx.memories.update(userId, id, patch);
      const after = { ...before, ...patch };
      if (after.content !== before.content) await noteIn(tx, userId, [after], now);
      return after;
    });
    jobs.poke();
    return edited;
  }

  /** For good. `not_found`, `locked`. */
  async function remove(userId: string, id: string): Promise<void> {
    const now = clock.now();
    await storage.transaction('delete memory', async tx => {
      const before = await writable(tx, userId, id);
      await tx.memories.remove(userId, id);
      await noteIn(tx, userId, [{ id, updatedAt: Math.max(now, before.updatedAt + 1) }], now);
    });
    jobs.poke();
  }

  async function categoryOf(wanted: WantedCategory, content: string): Promise<MemoryCategory> {
    return wanted === 'auto' ? categorise(content) : wanted;
  }

  return { list, get, create, edit, remove };
}

/** `forbidden`, as programs know it, while the operator keeps this account from being read by them. */
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

/** A text as memories: whole, or in pieces of at most `maxChars` that end with a sentence, or at least a word, where they can. */
export function piecesOf(text: string, maxChars: number): string[] {
  const pieces: string[] = [];
  let rest = [...text.trim()];
  while (rest.length > maxChars) {
    const head = rest.slice(0, maxChars + 1).join('');
    const ends = [...head.matchAll(/[.!?。！？]+(?=\s)|(?<=[。！？])/gu)].at(-1);
    const cut = ends ? ends.index + ends[0].length : head.lastIndexOf(' ');
    const piece = cut > 0 ? head.slice(0, cut) : rest.slice(0, maxChars).join('');
    pieces.push(piece.trim());
    rest = [
      ...rest
        .slice([...piece].length)
        .join('')
        .trim(),
    ];
  }
  return [...pieces, rest.join('')].filter(piece => piece !== '');
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
  };
}

/** Texts of one length that sort as they should: what was written by hand first, then by category, then the newest. */
function scoringOf({
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
