/** Memories from conversations: each step inside a transaction of its caller. */
import type {
  Conversation,
  Memory,
  MemoryCategory,
  MemorySource,
  MemoryVersion,
} from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { newId } from '../ids.ts';
import { noteIn } from '../search/embedding.ts';
import { isForgotten, MAX_FORGOTTEN } from './forgotten-memories.ts';
import { MAX_HISTORY, scoringOf, supersededBy } from './memories.ts';
import { gistOf, saysMore, saysTheSame, wordingOf } from './memory-likeness.ts';

/** Maximum sources of a memory; the newest are kept. */
const MAX_SOURCES = 20;
/** Maximum stored memories with common words that a new one is compared with. */
const MAX_COMPARED = 20;

/** A memory found in a conversation, compared with the stored ones. */
export interface HeardMemory {
  content: string;
  topic: string | null;
  segmentIds: string[];
  /** When the last of them was said. */
  saidAt: number;
  /** Where it is new. */
  category: MemoryCategory;
  /** The id of a memory that it supersedes. */
  replaces: string | null;
  /** By id, the contents of memories that say the same by their vectors. */
  same: ReadonlyMap<string, string>;
}

/**
 * Stores new memories, and removes those of an earlier run over the conversation that this one did not find. A known memory
 * gets another source. A contradicting one replaces it if it was said later; otherwise it becomes part of the history. Memories
 * that the user has changed, written or accepted are never removed, and those that the user has deleted are not stored.
 * Resolves to the ids of the memories that now have the conversation as a source.
 * @param conversation as it was before this run: its structure contains the result of the earlier run
 */
export async function storeHeardMemoriesIn(
  tx: Stores,
  conversation: Conversation,
  heard: readonly HeardMemory[],
  now: number,
): Promise<string[]> {
  const { userId, id, structured } = conversation;
  const before = await tx.memories.some(userId, structured.memories ?? []);
  const forgotten = await tx.forgottenMemories.list(userId, MAX_FORGOTTEN);
  const wanted = heard.filter(({ content }) => !forgotten.some(each => isForgotten(each, content)));
  const wordings = new Set(wanted.map(({ content }) => wordingOf(content)));
  const run: Run = { tx, userId, stored: new Map(), current: new Map(), orphans: new Set() };
  for (const memory of before) {
    const left = withoutSource(memory, id, wordings);
    run.stored.set(memory.id, memory);
    run.current.set(memory.id, left);
    const isOrphan = left.sources.length === 0 && memory.sources.length > 0 && isUntouched(memory);
    if (isOrphan) run.orphans.add(memory.id);
  }
  for (const each of wanted) await store(run, each, sourceOf(id, each), now);
  return write(run, id, now);
}

/**
 * Replaces this conversation as a source of memories by another one; null: it was deleted, and they lose this source.
 * Resolves to the ids of the memories that got another source.
 */
export async function moveSourcesIn(
  tx: Stores,
  { userId, id, structured }: Conversation,
  placeOf: (source: MemorySource) => Promise<string | null>,
): Promise<string[]> {
  const moved: string[] = [];
  for (const memory of await tx.memories.some(userId, structured.memories ?? [])) {
    let isMoved = false;
    const move = async (sources: readonly MemorySource[]) => {
      const left: MemorySource[] = [];
      for (const source of sources) {
        const place = source.conversationId === id ? await placeOf(source) : source.conversationId;
        isMoved ||= place !== null && place !== source.conversationId;
        const there = place !== null && { ...source, conversationId: place };
        if (there && !rests(left, there)) left.push(there);
      }
      return left;
    };
    const sources = await move(memory.sources);
    const history: MemoryVersion[] = [];
    for (const version of memory.history) history.push({ ...version, sources: await move(version.sources) });
    await tx.memories.update(userId, memory.id, { sources, history });
    if (isMoved) moved.push(memory.id);
  }
  return moved;
}

interface Run {
  tx: Stores;
  userId: string;
  /** Memories as they are stored, and as they are to be, by id. */
  stored: Map<string, Memory>;
  current: Map<string, Memory>;
  /** Memories of an earlier run over the conversation that no evidence supports any more. */
  orphans: Set<string>;
}

async function store(run: Run, heard: HeardMemory, source: MemorySource, now: number): Promise<void> {
  const { tx, userId, stored, current, orphans } = run;
  const put = (memory: Memory) => {
    orphans.delete(memory.id);
    current.set(memory.id, memory);
  };
  const own = [...current.values()].find(
    ({ sources, history }) => rests(sources, source) || history.some(each => rests(each.sources, source)),
  );
  if (own) return put(renewed(own, source));
  const same = await findSame(run, heard);
  const known = same ?? (await findContradicted(run, heard));
  if (!known) {
    const made = newMemory(userId, heard, source, now);
    await tx.memories.insert([made]); // at once, because the next one is compared with it
    stored.set(made.id, made);
    return put(made);
  }
  if (known.locked) return;
  if (!stored.has(known.id)) stored.set(known.id, known);
  if (orphans.has(known.id)) put(reheard(known, heard, source));
  else put(same ? joined(known, heard, source) : superseded(known, heard, source, now));
}

async function findSame({ tx, userId, current }: Run, heard: HeardMemory): Promise<Memory | undefined> {
  const gist = gistOf(heard.content);
  const likely = await tx.memories.some(userId, [
    ...heard.same.keys(),
    ...(await tx.memories.match(userId, heard.content, MAX_COMPARED)),
  ]);
  return likely
    .map(memory => current.get(memory.id) ?? memory)
    .filter(({ topic }) => topic === null || heard.topic === null || topic === heard.topic)
    .find(({ id, content }) => heard.same.get(id) === content || saysTheSame(gist, gistOf(content)));
}

/** Finds the memory that this one replaces: the one it names, else the one with its topic. */
async function findContradicted(
  { tx, userId, current }: Run,
  { replaces, topic }: HeardMemory,
): Promise<Memory | undefined> {
  const [named] = replaces === null ? [] : await tx.memories.some(userId, [replaces]);
  const [ofTopic] = topic === null ? [] : await tx.memories.ofTopic(userId, topic);
  const found = named ?? ofTopic;
  return found && (current.get(found.id) ?? found);
}

function rests(sources: readonly MemorySource[], source: MemorySource): boolean {
  return sources.some(each => isSame(each, source));
}

function isSame(one: MemorySource, other: MemorySource): boolean {
  return one.conversationId === other.conversationId && one.wording === other.wording;
}

/** An earlier run found the same words: they may rest on other segments now. */
function renewed(memory: Memory, source: MemorySource): Memory {
  const replace = (sources: readonly MemorySource[]) =>
    sources.map(each => (isSame(each, source) ? source : each));
  return {
    ...memory,
    sources: replace(memory.sources),
    history: memory.history.map(version => ({ ...version, sources: replace(version.sources) })),
  };
}

/** Replaces the statement of an earlier run over the same conversation. */
function reheard(memory: Memory, { content, topic }: HeardMemory, source: MemorySource): Memory {
  return { ...memory, content, topic, asOf: source.saidAt, sources: [source] };
}

/** Records a repetition; the more detailed wording is kept. */
function joined(memory: Memory, heard: HeardMemory, source: MemorySource): Memory {
  const isBetter = isUntouched(memory) && saysMore(gistOf(heard.content), gistOf(memory.content));
  return {
    ...memory,
    content: isBetter ? heard.content : memory.content,
    topic: memory.topic ?? heard.topic,
    asOf: Math.max(memory.asOf, source.saidAt),
    sources: [...memory.sources, source].sort(bySaidAt).slice(-MAX_SOURCES),
  };
}

function superseded(memory: Memory, heard: HeardMemory, source: MemorySource, now: number): Memory {
  const fresh = { content: heard.content, asOf: source.saidAt, sources: [source] };
  if (source.saidAt < memory.asOf) return isUntouched(memory) ? withEarlier(memory, fresh, now) : memory;
  const unseen = { reviewed: false, userReview: null, edited: false };
  return { ...supersededBy(memory, fresh, now), ...unseen, topic: heard.topic ?? memory.topic };
}

/** Records something older that was heard later. */
function withEarlier(
  memory: Memory,
  heard: Pick<Memory, 'content' | 'asOf' | 'sources'>,
  now: number,
): Memory {
  const gist = gistOf(heard.content);
  const known = memory.history.find(({ content }) => saysTheSame(gist, gistOf(content)));
  const history = known
    ? memory.history.map(each => (each === known ? withSources(each, heard.sources) : each))
    : [...memory.history, { ...heard, id: newId(now), supersededAt: now }];
  return { ...memory, history: history.sort(byAsOf).slice(-MAX_HISTORY) };
}

function withSources(version: MemoryVersion, more: readonly MemorySource[]): MemoryVersion {
  const sources = [...version.sources, ...more].sort(bySaidAt).slice(-MAX_SOURCES);
  return { ...version, sources, asOf: sources.at(-1)?.saidAt ?? version.asOf };
}

/** Returns the memory without the statements of this conversation, except those with these wordings. */
function withoutSource(memory: Memory, conversationId: string, wordings: ReadonlySet<string>): Memory {
  const isHeard = (source: MemorySource) =>
    source.conversationId !== conversationId || wordings.has(source.wording);
  const wasSaid = ({ sources }: Pick<Memory, 'sources'>) => sources.length === 0 || sources.some(isHeard);
  const sources = memory.sources.filter(isHeard);
  const history = memory.history
    .filter(wasSaid)
    .map(version => ({ ...version, sources: version.sources.filter(isHeard) }));
  const left = { ...memory, sources, history };
  const last = history.at(-1);
  if (wasSaid(memory) || !isUntouched(memory) || !last) return left;
  const { content, asOf, sources: earlier } = last;
  return { ...left, content, asOf, sources: earlier, history: history.slice(0, -1) };
}

/** Returns whether the user has not changed it. */
function isUntouched({ manuallyAdded, edited, userReview, locked }: Memory): boolean {
  return !manuallyAdded && !edited && userReview === null && !locked;
}

/** Stores changed memories, and removes those without any source. */
async function write(
  { tx, userId, stored, current, orphans }: Run,
  conversationId: string,
  now: number,
): Promise<string[]> {
  const resting: string[] = [];
  const changed: Pick<Memory, 'id' | 'updatedAt'>[] = [];
  for (const memory of current.values()) {
    const before = stored.get(memory.id) ?? memory;
    const isReworded = memory.content !== before.content;
    const isShown = isReworded || memory.reviewed !== before.reviewed;
    const updatedAt =
      isShown || orphans.has(memory.id) ? Math.max(now, memory.updatedAt + 1) : memory.updatedAt;
    if (isReworded || orphans.has(memory.id) || memory.createdAt === now)
      changed.push({ ...memory, updatedAt });
    if (orphans.has(memory.id)) {
      await tx.memories.remove(userId, memory.id);
      continue;
    }
    const { id, userId: _, createdAt, manuallyAdded, ...patch } = memory;
    if (memory !== before) await tx.memories.update(userId, id, { ...patch, updatedAt });
    const all = [...memory.sources, ...memory.history.flatMap(({ sources }) => sources)];
    if (all.some(source => source.conversationId === conversationId)) resting.push(id);
  }
  if (changed.length > 0) await noteIn(tx, userId, changed, now);
  return resting;
}

function newMemory(
  userId: string,
  { content, topic, category, saidAt }: HeardMemory,
  source: MemorySource,
  now: number,
): Memory {
  const made = { category, createdAt: now, manuallyAdded: false };
  return {
    ...made,
    id: newId(now),
    userId,
    content,
    topic,
    visibility: 'private',
    tags: [],
    updatedAt: now,
    scoring: scoringOf(made),
    reviewed: false,
    userReview: null,
    edited: false,
    locked: false,
    asOf: saidAt,
    sources: [source],
    history: [],
  };
}

function sourceOf(conversationId: string, { content, segmentIds, saidAt }: HeardMemory): MemorySource {
  return { conversationId, segmentIds, saidAt, wording: wordingOf(content) };
}

const bySaidAt = (a: MemorySource, b: MemorySource) => a.saidAt - b.saidAt;
const byAsOf = (a: MemoryVersion, b: MemoryVersion) => a.asOf - b.asOf;
