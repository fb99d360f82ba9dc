/** Reads the corpus of conversations in test/fixtures/conversations; its README describes the files. */
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Segment } from '../../core/contract/model.ts';
import { CATEGORY_EMOJI, type Category } from '../../core/domain/conversations/categories.ts';
import { speakerOf } from '../../core/domain/conversations/segments.ts';

const FOLDER = new URL('../fixtures/conversations/', import.meta.url);
const WORDS_PER_SECOND = 2.5;
const GAP_S = 0.4;
/** Pause between two segments of one speaker; core joins closer ones. */
const PAUSE_S = 3;
/** First speaker number of repeated conversations, none of whom is the owner or a known person. */
const REPEATED_SPEAKERS = 20;

const CATEGORIES = Object.keys(CATEGORY_EMOJI) as Category[];
const Index = z.int().nonnegative();
const Indices = z.array(Index).min(1);
const Stems = z.array(z.string().min(1)).min(1);
const Instant = z.iso.datetime({ offset: true });
const Precision = z.enum(['minute', 'hour', 'day']);
const Line = z.tuple([Index, z.string().min(1)]);
const People = z.record(z.string().regex(/^[1-9]$/), z.string());

const Task = z.strictObject({
  what: Stems,
  who: z.string(),
  due: Instant.nullable(),
  precision: Precision.optional(),
  from: Indices,
});
const Event = z.strictObject({
  title: Stems,
  start: Instant,
  precision: Precision.default('minute'),
  durationMin: z.int().positive().nullable(),
  from: Indices,
});
const Memory = z.strictObject({ what: Stems, about: z.string(), from: Indices });
const NonFact = z.strictObject({
  what: Stems,
  why: z.string(),
  as: z.enum(['memory', 'task', 'event']).optional(),
});

const Scene = z.strictObject({
  language: z.enum(['en', 'de', 'fr', 'es', 'multi']),
  timeZone: z.string(),
  startedAt: Instant,
  owner: z.string(),
  people: People.default({}),
  openTasks: z.array(z.string()).default([]),
  knownMemories: z.array(z.string()).default([]),
  segments: z.array(Line),
});

const Expected = z.strictObject({
  discard: z.boolean(),
  category: z.array(z.enum(CATEGORIES)).min(1),
  title: z.array(z.string()),
  overview: z.array(Index),
  tasks: z.array(Task).default([]),
  events: z.array(Event).default([]),
  memories: z.array(Memory).max(4).default([]),
  nonFacts: z.array(NonFact).default([]),
});

/** Other conversations repeated for this many hours, before each of these segments and at the end. */
const Repeat = z.strictObject({
  files: z.array(z.string()).min(1),
  hours: z.number().positive(),
  before: Indices,
});

const ConversationFile = Scene.extend({
  half: z.enum(['tune', 'report']),
  kind: z.string(),
  repeat: Repeat.optional(),
  expected: Expected,
});

const LifeFile = Scene.extend({ deletes: z.array(Stems).default([]) });
const LifeSource = z.strictObject({ file: z.string(), from: Indices });
const LifeExpected = z.strictObject({
  memories: z.array(
    z.strictObject({
      what: Stems,
      about: z.string(),
      sources: z.array(LifeSource).min(1),
      history: z.array(z.strictObject({ what: Stems, sources: z.array(LifeSource).min(1) })).default([]),
    }),
  ),
  deleted: z.array(
    z.strictObject({ what: Stems, sources: z.array(LifeSource).min(1), deletedAfter: z.string() }),
  ),
  nonFacts: z.array(z.strictObject({ what: Stems, why: z.string(), file: z.string() })),
});

const PoisonFile = Scene.omit({ language: true, segments: true }).extend({
  attempts: z.array(
    z.strictObject({
      name: z.string(),
      language: z.string(),
      means: z.string(),
      segments: z.array(Line).min(1),
      absent: z.array(Stems).min(1),
      tasks: z.array(Stems).default([]),
    }),
  ),
});

export type Stem = z.infer<typeof Stems>;
type Lines = z.infer<typeof Scene>['segments'];
type Expectation = z.infer<typeof Expected>;

/** All single conversations, in the order of their names. */
export function readConversations() {
  return filesIn(FOLDER)
    .filter(name => /^\d/.test(name))
    .map(readConversation);
}

/** The conversations of one person in order, and the memories to keep at the end. */
export function readLife() {
  const folder = new URL('life/', FOLDER);
  const conversations = filesIn(folder)
    .filter(name => /^\d/.test(name))
    .map(file => {
      const scene = load(LifeFile, new URL(file, folder));
      return { ...scene, file, segments: timed(scene.segments, scene.people) };
    });
  return { conversations, expected: load(LifeExpected, new URL('expected.yaml', folder)) };
}

/** Prompt injections, each a conversation with forbidden results. */
export function readPoison() {
  const { attempts, ...scene } = load(PoisonFile, new URL('poison.yaml', FOLDER));
  return attempts.map(attempt => ({
    ...scene,
    ...attempt,
    segments: timed(attempt.segments, scene.people),
  }));
}

/** Whether a text contains every stem, ignoring case; `call|ring` is met by either. */
export function holds(text: string, stems: Stem): boolean {
  const lower = text.toLowerCase();
  return stems.every(stem => stem.split('|').some(each => lower.includes(each.toLowerCase())));
}

function readConversation(file: string) {
  const { repeat, ...conversation } = load(ConversationFile, new URL(file, FOLDER));
  const { lines, positions } = repeat
    ? spread(conversation.segments, repeat)
    : { lines: conversation.segments, positions: conversation.segments.map((_, index) => index) };
  return {
    ...conversation,
    file,
    segments: timed(lines, conversation.people),
    expected: moved(conversation.expected, positions),
  };
}

/** Inserts lines of other conversations before the named ones, in equal shares, repeated to fill the duration. */
function spread(own: Lines, { files, hours, before }: z.infer<typeof Repeat>) {
  const others = files.flatMap(file => load(ConversationFile, new URL(file, FOLDER)).segments);
  const cycle: Lines = others.map(([speaker, text]) => [speaker + REPEATED_SPEAKERS, text]);
  const cycles = Math.ceil((hours * 3600) / lengthOf(cycle));
  const filling = Array.from({ length: cycles }, () => cycle).flat();
  const share = Math.floor(filling.length / (before.length + 1));
  const lines: Lines = [];
  const positions: number[] = [];
  for (const [index, line] of own.entries()) {
    if (before.includes(index)) lines.push(...filling.splice(0, share));
    positions.push(lines.length);
    lines.push(line);
  }
  return { lines: [...lines, ...filling], positions };
}

function lengthOf(lines: Lines): number {
  return timed(lines, {}).at(-1)?.end ?? 0;
}

/** Keeps an index that does not exist as such. */
function moved(expected: Expectation, positions: number[]): Expectation {
  const move = (indices: number[]) => indices.map(index => positions[index] ?? Number.MAX_SAFE_INTEGER);
  const cited = <Item extends { from: number[] }>(items: Item[]) =>
    items.map(item => ({ ...item, from: move(item.from) }));
  return {
    ...expected,
    overview: move(expected.overview),
    tasks: cited(expected.tasks),
    events: cited(expected.events),
    memories: cited(expected.memories),
  };
}

function timed(lines: Lines, people: Record<string, string>): Segment[] {
  let end = 0;
  let last: number | null = null;
  return lines.map(([speaker, text], index) => {
    const start = index === 0 ? 0 : end + (speaker === last ? PAUSE_S : GAP_S);
    end = start + text.split(/\s+/).length / WORDS_PER_SECOND;
    last = speaker;
    return {
      id: fixedId(1, index),
      userId: fixedId(2, 0),
      conversationId: fixedId(3, 0),
      text,
      start: round(start),
      end: round(end),
      speaker: speakerOf(speaker),
      speakerId: speaker,
      isUser: speaker === 0,
      personId: people[speaker] ? fixedId(4, speaker) : null,
      sttProvider: null,
      language: null,
      translations: null,
      profileCompared: false,
    };
  });
}

/** Returns the same id at every reading, so that two runs can be compared. */
function fixedId(kind: number, index: number): string {
  return `0000000${kind}-0000-7000-8000-${String(index).padStart(12, '0')}`;
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

function filesIn(folder: URL): string[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.yaml'))
    .sort();
}

function load<Schema extends z.ZodType>(schema: Schema, url: URL): z.infer<Schema> {
  const read = schema.safeParse(parse(readFileSync(url, 'utf8')));
  if (!read.success)
    throw new Error(`${url.pathname} is not of the corpus's form:\n${z.prettifyError(read.error)}`);
  return read.data;
}
