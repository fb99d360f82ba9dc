/** Stores imported items, each in a few small transactions, so that others can write in between. */
import type { Conversation, ForeignItem, Memory, Person, Segment } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { CATEGORY_EMOJI, isCategory } from '../conversations/categories.ts';
import { NO_STRUCTURE } from '../conversations/lifecycle.ts';
import { derivedId, newId } from '../ids.ts';
import { languageOf } from '../languages.ts';
import { isMemoryCategory, scoringOf } from '../memories/memories.ts';
import type { Recordings } from '../recordings/recordings.ts';
import { noteIn } from '../search/embedding.ts';
import { index } from '../search/passages.ts';
import { followIn } from '../tasks/reminders.ts';
import type {
  ForeignConversation,
  ForeignMemory,
  ForeignRecording,
  ForeignSegment,
  ForeignTask,
  ForeignThing,
} from './foreign-item.ts';

const SEGMENTS_AT_ONCE = 500;
/** Timeout as of a live conversation; without effect, because imported ones have ended. */
const TIMEOUT_MS = 120_000;
/** The limit of people in an account. */
const MAX_PEOPLE = 1000;
/** Names that products use for unknown speakers. */
const NO_NAME =
  /^(?:unknown|speaker|sprecher|participant|person|user|you|me|spk|voice)?[\s_#-]*[\da-z]?\d*$/i;

export interface Run {
  userId: string;
  importId: string;
}

/** The stored kind; null: the item existed already. */
export type Stored = ForeignItem['kind'] | null;

/** Returns the id of a stored item, which is the same at each import. */
export function idOfThing(userId: string, { kind, key }: { kind: string; key: string }): string {
  return derivedId(`${userId}\0foreign\0${kind}\0${key}`);
}

export function createForeignStore(storage: Storage, recordings: Pick<Recordings, 'add'>) {
  /** Returns the stored items: a conversation may bring people along. */
  async function store(
    run: Run,
    thing: Exclude<ForeignThing, { kind: 'left_out' }>,
    now: number,
  ): Promise<Stored[]> {
    const id = idOfThing(run.userId, thing);
    if (thing.kind === 'conversation') return storeConversation(run, id, thing, now);
    if (thing.kind === 'recording') return [await storeRecording(run, id, thing)];
    return [
      thing.kind === 'memory' ? await storeMemory(run, id, thing, now) : await storeTask(run, id, thing, now),
    ];
  }

  async function isThere(userId: string, thing: ForeignThing): Promise<boolean> {
    if (thing.kind === 'left_out') return false;
    const id = idOfThing(userId, thing);
    if (thing.kind === 'recording') return storage.foreignImports.has(userId, id);
    if (thing.kind === 'memory') return (await storage.memories.get(userId, id)) !== null;
    if (thing.kind === 'task') return (await storage.actionItems.get(userId, id)) !== null;
    return (await storage.conversations.get(userId, id))?.status === 'completed';
  }

  /**
   * Until it is complete it is `processing`, and not found by searches. An interrupted run continues where it stopped.
   */
  async function storeConversation(run: Run, id: string, thing: ForeignConversation, now: number) {
    const { userId, importId } = run;
    const found = await storage.conversations.get(userId, id);
    if (found && found.status !== 'processing') return [null];
    const conversation = found ?? conversationOf(userId, id, thing);
    const people = await storage.transaction('take in conversation', async tx => {
      await tx.foreignImports.note([{ id, userId, importId, kind: 'conversation' }]);
      if (!found) await tx.conversations.insert(conversation);
      return peopleIn(tx, run, thing.segments, now);
    });
    const segments = segmentsOf(conversation, thing.segments, people.ids);
    for (let at = 0; at < segments.length; at += SEGMENTS_AT_ONCE)
      await storage.segments.upsert(segments.slice(at, at + SEGMENTS_AT_ONCE));
    await index(storage, { ...conversation, status: 'completed' });
    await storage.transaction('take in tasks', async tx => {
      for (const [at, task] of thing.tasks.entries()) {
        const taskId = derivedId(`${id}\0task\0${at}`);
        const made = { ...task, kind: 'task', key: taskId, createdAt: thing.startedAt } as const;
        await insertTask(tx, run, taskId, { ...made, conversationId: id }, now);
      }
      await tx.conversations.update(userId, id, { status: 'completed' }, 'processing');
    });
    const tasks = thing.tasks.map((): Stored => 'task');
    return ['conversation' as const, ...tasks, ...people.made.map((): Stored => 'person')];
  }

  async function storeMemory({ userId, importId }: Run, id: string, thing: ForeignMemory, now: number) {
    return storage.transaction('take in memory', async tx => {
      if (await tx.memories.get(userId, id)) return null;
      const memory = memoryOf(userId, id, thing, now);
      await tx.memories.insert([memory]);
      await noteIn(tx, userId, [memory], now);
      await tx.foreignImports.note([{ id, userId, importId, kind: 'memory' }]);
      return 'memory' as const;
    });
  }

  async function storeTask(run: Run, id: string, thing: ForeignTask, now: number) {
    return storage.transaction('take in task', tx =>
      insertTask(tx, run, id, { ...thing, conversationId: null }, now),
    );
  }

  /** It becomes conversations by and by. Noted are itself and, under its key, that it came. */
  async function storeRecording({ userId, importId }: Run, id: string, thing: ForeignRecording) {
    if (await storage.foreignImports.has(userId, id)) return null;
    const { path, name, startedAt, endedAt } = thing;
    const source = 'external_integration';
    const about = { path, name, startedAt, endedAt, source, sessionId: id };
    const recording = await recordings.add(userId, about);
    await storage.foreignImports.note(
      [id, recording.id].map(each => ({ id: each, userId, importId, kind: 'recording' })),
    );
    return 'recording' as const;
  }

  return { store, isThere };
}

async function insertTask(
  tx: Stores,
  { userId, importId }: Run,
  id: string,
  task: ForeignTask & { conversationId: string | null },
  now: number,
) {
  if (await tx.actionItems.get(userId, id)) return null;
  const { description, completed, dueAt, conversationId } = task;
  const createdAt = task.createdAt ?? now;
  const after = {
    id,
    userId,
    description,
    completed,
    dueAt,
    createdAt,
    updatedAt: now,
    conversationId,
    completedAt: completed ? now : null,
    segmentId: null,
    locked: false,
  };
  await tx.actionItems.insert([after]);
  // due dates before the import cause no notices
  if (dueAt !== null && dueAt > now) await followIn(tx, { before: null, after, dueGiven: true }, now);
  await tx.foreignImports.note([{ id, userId, importId, kind: 'task' }]);
  return 'task' as const;
}

/** Returns the ids of people by name; missing people are created. */
async function peopleIn(tx: Stores, { userId, importId }: Run, segments: ForeignSegment[], now: number) {
  const names = new Set(
    segments.flatMap(({ speaker, isUser }) =>
      speaker === null || isUser || NO_NAME.test(speaker.trim()) ? [] : [speaker.trim()],
    ),
  );
  const known = names.size === 0 ? [] : await tx.people.list(userId);
  const ids = new Map(known.map(({ name, id }) => [name, id]));
  const made: Person[] = [];
  for (const name of names) {
    if (ids.has(name) || known.length + made.length >= MAX_PEOPLE) continue;
    const person = { id: newId(now), userId, name, createdAt: now };
    await tx.people.insert(person);
    made.push(person);
    ids.set(name, person.id);
  }
  await tx.foreignImports.note(made.map(({ id }) => ({ id, userId, importId, kind: 'person' })));
  return { ids, made };
}

function conversationOf(userId: string, id: string, thing: ForeignConversation): Conversation {
  const { startedAt, title, overview, source, starred, discarded } = thing;
  const category = isCategory(thing.category) ? thing.category : 'other';
  const seconds = thing.segments.reduce((latest, { end }) => Math.max(latest, end), 0);
  const spoken = startedAt + Math.round(seconds * 1000);
  return {
    id,
    userId,
    status: 'processing',
    source,
    deviceId: null,
    folderId: null,
    geolocation: null,
    createdAt: startedAt,
    startedAt,
    finishedAt: Math.max(thing.finishedAt ?? spoken, startedAt),
    structured: { ...NO_STRUCTURE, title, overview, category, emoji: CATEGORY_EMOJI[category] },
    language: thing.language === null ? null : languageOf(thing.language),
    discarded,
    starred,
    locked: false,
    timeoutMs: TIMEOUT_MS,
    lastActivityAt: startedAt,
  };
}

/** Numbers speakers in order of appearance. */
function segmentsOf(
  { id: conversationId, userId }: Conversation,
  segments: readonly ForeignSegment[],
  people: ReadonlyMap<string, string>,
): Segment[] {
  const numbers = new Map<string, number>();
  return segments.map(({ text, start, end, speaker, isUser }, at) => {
    const voice = isUser ? '\0' : (speaker ?? '');
    const speakerId = numbers.get(voice) ?? numbers.size;
    numbers.set(voice, speakerId);
    return {
      id: derivedId(`${conversationId}\0${at}`),
      userId,
      conversationId,
      text,
      start,
      end,
      isUser,
      speakerId,
      speaker: `SPEAKER_${String(speakerId).padStart(2, '0')}`,
      personId: isUser ? null : (people.get(speaker?.trim() ?? '') ?? null),
      sttProvider: null,
      language: null,
      translations: null,
      profileCompared: false,
    };
  });
}

function memoryOf(userId: string, id: string, thing: ForeignMemory, now: number): Memory {
  const category = isMemoryCategory(thing.category) ? thing.category : 'other';
  const createdAt = thing.createdAt ?? now;
  return {
    id,
    userId,
    content: thing.content,
    category,
    visibility: 'private',
    tags: thing.tags,
    createdAt,
    updatedAt: now,
    manuallyAdded: true,
    scoring: scoringOf({ category, createdAt, manuallyAdded: true }),
    reviewed: true,
    userReview: true,
    edited: false,
    locked: false,
    topic: null,
    asOf: createdAt,
    sources: [],
    history: [],
  };
}
