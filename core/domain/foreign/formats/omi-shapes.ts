/** Schemas of Omi's export and developer API, and their conversion. */
import { z } from 'zod';
import type { ForeignThing } from '../foreign-item.ts';
import { MAX_ITEM_CHARS } from '../foreign-item.ts';
import { clipped, conversationOf, instantFrom } from '../format.ts';

const Text = z.string().nullish();
const Instant = z.union([z.string(), z.number()]).nullish();
const Flag = z.boolean().nullish();

const Task = z.looseObject({ description: Text, completed: Flag, due_at: Instant, deleted: Flag });

export const OmiConversation = z.looseObject({
  id: z.string().min(1).max(200),
  created_at: Instant,
  started_at: Instant,
  finished_at: Instant,
  source: Text,
  language: Text,
  discarded: Flag,
  deleted: Flag,
  starred: Flag,
  structured: z
    .looseObject({
      title: Text,
      overview: Text,
      category: Text,
      action_items: z.array(z.union([Task, z.string()])).nullish(),
    })
    .nullish(),
  transcript_segments: z
    .array(
      z.looseObject({
        text: Text,
        speaker: Text,
        speaker_name: Text,
        is_user: Flag,
        start: z.number().min(0).nullish(),
        end: z.number().min(0).nullish(),
      }),
    )
    .nullish(),
});

export const OmiMemory = z.looseObject({
  id: z.string().min(1).max(200),
  content: z.string(),
  category: Text,
  tags: z.array(z.string()).nullish(),
  created_at: Instant,
  deleted: Flag,
});

export const OmiTask = z.looseObject({
  id: z.string().min(1).max(200),
  description: z.string(),
  completed: Flag,
  due_at: Instant,
  created_at: Instant,
  conversation_id: Text,
  deleted: Flag,
});

/** Null: it has no time. */
export function conversationFromOmi(
  given: z.infer<typeof OmiConversation>,
  sources: (name: string) => string,
): ForeignThing | null {
  const startedAt = instantFrom(given.started_at) ?? instantFrom(given.created_at);
  if (startedAt === null) return null;
  const { title, overview, category, action_items: tasks } = given.structured ?? {};
  if (given.deleted) return { kind: 'left_out', what: 'conversation', why: 'it was deleted there' };
  const segments = (given.transcript_segments ?? [])
    .filter(({ text }) => text?.trim())
    .map(({ text, speaker, speaker_name, is_user, start, end }) => ({
      text: text ?? '',
      start: start ?? 0,
      end: Math.max(end ?? 0, start ?? 0),
      speaker: speaker_name ?? speaker ?? null,
      isUser: is_user ?? false,
    }));
  if (segments.length === 0 && !title && !overview)
    return { kind: 'left_out', what: 'conversation', why: 'nothing is said in it' };
  return conversationOf({
    key: `omi:${given.id}`,
    source: sources(given.source ?? 'omi'),
    startedAt,
    segments,
    title: title ?? '',
    overview: overview ?? '',
    category: category ?? 'other',
    finishedAt: instantFrom(given.finished_at),
    language: given.language ?? null,
    starred: given.starred ?? false,
    discarded: given.discarded ?? false,
    tasks: (tasks ?? []).flatMap(task => {
      const {
        description,
        completed,
        due_at: dueAt,
        deleted,
      } = typeof task === 'string' ? { description: task } : task;
      const text = clipped(description ?? '', MAX_ITEM_CHARS);
      return text === '' || deleted
        ? []
        : [{ description: text, completed: completed ?? false, dueAt: instantFrom(dueAt) }];
    }),
  });
}

export function memoryFromOmi(given: z.infer<typeof OmiMemory>): ForeignThing {
  const content = clipped(given.content, MAX_ITEM_CHARS);
  if (content === '' || given.deleted)
    return { kind: 'left_out', what: 'memory', why: given.deleted ? 'it was deleted there' : 'it is empty' };
  const { id, category, tags } = given;
  return {
    kind: 'memory',
    key: `omi:${id}`,
    content,
    category: category ?? 'other',
    tags: (tags ?? []).slice(0, 50).map(tag => clipped(tag, 100)),
    createdAt: instantFrom(given.created_at),
  };
}

/** Null: its conversation contains it. */
export function taskFromOmi(given: z.infer<typeof OmiTask>): ForeignThing | null {
  const description = clipped(given.description, MAX_ITEM_CHARS);
  if (given.conversation_id) return null;
  if (description === '' || given.deleted)
    return { kind: 'left_out', what: 'task', why: given.deleted ? 'it was deleted there' : 'it is empty' };
  const [dueAt, createdAt] = [instantFrom(given.due_at), instantFrom(given.created_at)];
  return {
    kind: 'task',
    key: `omi:${given.id}`,
    description,
    completed: given.completed ?? false,
    dueAt,
    createdAt,
  };
}
