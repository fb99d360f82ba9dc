/**
 * Asks plugins to understand a conversation, and accepts only what matches the schema and is supported by the
 * transcript.
 */
import { z } from 'zod';
import type { Conversation, Segment, Structured } from '../contract/model.ts';
import type {
  Cited,
  SpokenSegment,
  Understanding,
  UnderstandingContext,
  UnderstoodMemory,
  UnderstoodProgress,
} from '../contract/plugin.ts';
import { CATEGORY_EMOJI, isCategory } from '../domain/conversations/categories.ts';
import { LATEST } from '../domain/wall-clock.ts';
import { AppError, toAppError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';

export interface NamedUnderstanding {
  name: string;
  /** Null: it is not available now. */
  understanding: Understanding | null;
}

/** Result of understanding a conversation; null: nothing in it is worth keeping. */
export type Outcome = {
  structured: Structured;
  memories: readonly UnderstoodMemory[];
  progress: readonly UnderstoodProgress[];
  /**
   * Name of one of the folders in the context; null: none fits. Absent: the plugin did not consider folders.
   */
  folder?: string | null;
} | null;

const MAX_TITLE_CHARS = 200;
const MAX_OVERVIEW_CHARS = 10_000;
const MAX_SENTENCES = 100;
const MAX_ITEM_CHARS = 500;
const MAX_ITEMS = 50;
const MAX_MEMORIES = 4;
const MAX_TOPIC_CHARS = 100;
const MAX_PROGRESS = 100;
const MAX_VALUE = 1e12;
const MAX_EVENT_MINUTES = 60 * 24 * 366;
/** Length of an appointment for which none was named. */
const USUAL_EVENT_MINUTES = 30;

const Text = z.string().transform(tidy);
const From = z.array(z.string()).max(10_000);
const Instant = z.number().int().min(0).max(LATEST);
const Item = { text: Text.pipe(z.string().min(1).max(MAX_ITEM_CHARS)), from: From };

const Answer = z.object({
  discard: z.boolean(),
  title: z.object({ text: Text.pipe(z.string().max(MAX_TITLE_CHARS)), from: From }),
  overview: z
    .array(z.object({ text: Text.pipe(z.string().max(MAX_OVERVIEW_CHARS)), from: From }))
    .max(MAX_SENTENCES),
  folder: z.string().nullable().optional(),
  category: z.string().transform(category => (isCategory(category) ? category : 'other')),
  tasks: z.array(z.object({ ...Item, dueAt: Instant.nullable() })).max(MAX_ITEMS),
  events: z
    .array(
      z.object({
        ...Item,
        startAt: Instant,
        minutes: z.number().int().min(1).max(MAX_EVENT_MINUTES).nullable(),
      }),
    )
    .max(MAX_ITEMS),
  memories: z
    .array(
      z.object({
        ...Item,
        topic: Text.pipe(z.string().min(1).max(MAX_TOPIC_CHARS)).optional(),
        replaces: z
          .string()
          .max(2 * MAX_ITEM_CHARS)
          .optional(),
      }),
    )
    .max(MAX_MEMORIES),
  progress: z
    .array(
      z.object({
        goalId: z.string().max(MAX_TOPIC_CHARS),
        value: z.number().min(-MAX_VALUE).max(MAX_VALUE),
        adds: z.boolean(),
        from: From,
      }),
    )
    .max(MAX_PROGRESS)
    .default([]),
});

/**
 * Returns the answer of the first provider that gives a valid one; it is provisional where an earlier
 * provider may do better later. Rejects with the last provider's error, with `unavailable` where there is
 * none, and with the signal's reason when that is aborted.
 */
export function createUnderstand({ providers, log }: { providers: () => NamedUnderstanding[]; log: Log }) {
  /** @param present the plugin that made the present structure: providers after it are not asked */
  return async (
    transcript: readonly SpokenSegment[],
    context: UnderstandingContext,
    signal: AbortSignal,
    present?: string,
  ): Promise<Outcome> => {
    const none = new AppError('unavailable', 'No plugin that "understanding" names works now');
    let failure: unknown = none;
    let provisional = false;
    for (const { name, understanding } of noWorseThan(present, providers())) {
      try {
        if (!understanding) throw none;
        const outcome = outcomeOf(await understanding.understand(transcript, context, signal), transcript);
        if (outcome === null) return null;
        return { ...outcome, structured: { ...outcome.structured, by: { plugin: name, provisional } } };
      } catch (error) {
        signal.throwIfAborted();
        log.warn({ plugin: name, err: error }, 'could not understand a conversation');
        failure = error;
        provisional ||= toAppError(error).code !== 'too_large';
      }
    }
    throw failure;
  };
}

export type Understand = ReturnType<typeof createUnderstand>;

/** Providers up to the one that made the present structure; all, where that one is not among them. */
function noWorseThan(present: string | undefined, providers: NamedUnderstanding[]): NamedUnderstanding[] {
  const place = providers.findIndex(({ name }) => name === present);
  return place < 0 ? providers : providers.slice(0, place + 1);
}

function outcomeOf(answer: unknown, transcript: readonly SpokenSegment[]): Outcome {
  const parsed = Answer.safeParse(answer);
  if (!parsed.success) {
    const places = parsed.error.issues.map(({ path, code }) => `${path.join('.')} (${code})`);
    throw new AppError('upstream_error', `The result is invalid: ${places.slice(0, 5).join(', ')}`);
  }
  const { discard, title, overview, category, folder, tasks, events, memories, progress } = parsed.data;
  if (discard) return null;
  const ids = new Set(transcript.map(({ id }) => id));
  const isCited = ({ from }: Pick<Cited, 'from'>) => from.length > 0 && from.every(id => ids.has(id));
  const structured = {
    title: title.text,
    overview: overview
      .filter(isCited)
      .map(({ text }) => text)
      .join(' '),
    category,
    emoji: CATEGORY_EMOJI[category],
    actionItems: tasks.filter(isCited).map(({ text, dueAt, from: [segmentId] }) => ({
      description: text,
      completed: false,
      dueAt,
      ...(segmentId !== undefined && { segmentId }),
    })),
    events: events.filter(isCited).map(({ text, startAt, minutes, from: [segmentId] }) => ({
      title: text,
      description: '',
      startAt,
      duration: minutes ?? USUAL_EVENT_MINUTES,
      created: false,
      ...(segmentId !== undefined && { segmentId }),
    })),
  };
  return {
    structured,
    memories: memories.filter(isCited),
    progress: progress.filter(isCited),
    ...(folder === undefined ? {} : { folder }),
  };
}

/** Removes control characters and lone surrogates, which databases and clients reject. */
function tidy(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** Converts segments to the form that plugins receive. */
export function spoken(
  segments: readonly Segment[],
  { startedAt, createdAt }: Pick<Conversation, 'startedAt' | 'createdAt'>,
  nameOf: (segment: Segment) => string,
  marked: ReadonlySet<string> = new Set(),
): SpokenSegment[] {
  const begin = startedAt ?? createdAt;
  const at = (seconds: number) => Math.round(begin + seconds * 1000);
  return segments.map(segment => ({
    id: segment.id,
    text: segment.text,
    speaker: nameOf(segment),
    isUser: segment.isUser,
    startAt: at(segment.start),
    endAt: at(segment.end),
    ...(marked.has(segment.id) ? { isMarked: true } : {}),
  }));
}
