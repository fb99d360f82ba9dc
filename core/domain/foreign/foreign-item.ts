/** The shape of imported things, between readers of formats and the domain. */
import { z } from 'zod';
import { LATEST } from '../wall-clock.ts';

export const MAX_TITLE_CHARS = 200;
export const MAX_OVERVIEW_CHARS = 10_000;
export const MAX_SPEAKER_CHARS = 100;
export const MAX_ITEM_CHARS = 2000;
export const MAX_SEGMENT_TEXT_CHARS = 20_000;
const MAX_SEGMENTS = 20_000;
const MAX_TASKS = 200;

const Instant = z.number().int().min(0).max(LATEST);
/** Seconds since the conversation began. */
const Seconds = z.number().min(0).max(1e9);
/** Identifies an item across imports and files. */
const key = z.string().min(1).max(500);

const Task = z.object({
  description: z.string().min(1).max(MAX_ITEM_CHARS),
  completed: z.boolean(),
  dueAt: Instant.nullable(),
});

const Segment = z.object({
  text: z.string().min(1).max(MAX_SEGMENT_TEXT_CHARS),
  start: Seconds,
  end: Seconds,
  /** A name, or `Speaker 2`; null: unknown. */
  speaker: z.string().max(MAX_SPEAKER_CHARS).nullable(),
  /** True: the owner of the account said it. */
  isUser: z.boolean(),
});

const Conversation = z.object({
  kind: z.literal('conversation'),
  key,
  /** One of the sources that conversations can come from. */
  source: z.string(),
  title: z.string().max(MAX_TITLE_CHARS),
  overview: z.string().max(MAX_OVERVIEW_CHARS),
  category: z.string().max(100),
  startedAt: Instant,
  finishedAt: Instant.nullable(),
  language: z.string().max(35).nullable(),
  starred: z.boolean(),
  discarded: z.boolean(),
  segments: z.array(Segment).max(MAX_SEGMENTS),
  tasks: z.array(Task).max(MAX_TASKS),
});

const Memory = z.object({
  kind: z.literal('memory'),
  key,
  content: z.string().min(1).max(MAX_ITEM_CHARS),
  category: z.string().max(100),
  tags: z.array(z.string().max(100)).max(50),
  createdAt: Instant.nullable(),
});

const TaskItem = Task.extend({
  kind: z.literal('task'),
  key,
  createdAt: Instant.nullable(),
});

/** A recording that is still to be transcribed. */
const Recording = z.object({
  kind: z.literal('recording'),
  key,
  /** Path on this machine. */
  path: z.string().max(4096),
  name: z.string().max(200),
  /** Null: derived from its name, or from its end. */
  startedAt: Instant.nullable(),
  endedAt: Instant,
});

/** Item that is recognised but not imported. */
const LeftOut = z.object({
  kind: z.literal('left_out'),
  what: z.string().max(200),
  why: z.string().max(300),
});

export const ForeignItem = z.discriminatedUnion('kind', [Conversation, Memory, TaskItem, Recording, LeftOut]);

export type ForeignThing = z.infer<typeof ForeignItem>;
export type ForeignConversation = z.infer<typeof Conversation>;
export type ForeignSegment = z.infer<typeof Segment>;
export type ForeignMemory = z.infer<typeof Memory>;
export type ForeignRecording = z.infer<typeof Recording>;
export type ForeignTask = z.infer<typeof TaskItem>;

/** File, folder or server from which items are read. */
export interface ForeignSource {
  /** Name for people: `Omi`. */
  format: string;
  /** Name for people, without secrets. */
  name: string;
  /** Yields all items, from the beginning at each call. Rejects at the first invalid one, and names it. */
  things(): AsyncIterable<ForeignThing>;
}
