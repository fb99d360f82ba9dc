import type { Clock, Conversation, Mark, Segment } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { isId, newId } from '../ids.ts';
import { writable } from './edits.ts';
import { reprocessIn } from './lifecycle.ts';

/** Marks that one conversation may get; merged ones may have more together. */
export const MAX_MARKS = 200;
/** Marks that are read of one conversation. */
export const ALL_MARKS = 10_000;
/** Delay from the last change of marks to processing: people set several in a row. */
const REPROCESS_AFTER_MS = 10_000;
/** A mark comes after the words that it is meant for: so many seconds before it belong to its passage. */
const BEFORE_S = 10;

export interface MarkRequest {
  /** Absent: the running conversation that was heard last. */
  conversationId?: string | undefined;
  /** Epoch ms; absent: now. */
  at?: number | undefined;
}

export type Marks = ReturnType<typeof createMarks>;

/** The only writer of marks: moments of conversations that their owners want to remember. */
export function createMarks({
  storage,
  clock,
  events,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
}) {
  /**
   * Marks a moment of a conversation; one outside of it is moved to its beginning or end. An ended conversation is
   * processed again soon. `not_found` also where no conversation is running, `locked`, `conflict` where it has
   * `MAX_MARKS`.
   */
  async function add(userId: string, { conversationId, at }: MarkRequest): Promise<Mark> {
    const now = clock.now();
    const id = conversationId ?? (await running(userId));
    const mark = await storage.transaction('mark conversation', async tx => {
      const conversation = await writable(tx, userId, id);
      if ((await tx.marks.count(userId, id)) >= MAX_MARKS)
        throw new AppError('conflict', `A conversation has ${MAX_MARKS} marks at most: remove some first`);
      const moment = within(conversation, at ?? now, now);
      const made: Mark = { id: newId(now), userId, conversationId: id, at: moment, createdAt: now };
      await tx.marks.insert(made);
      if (conversation.status !== 'in_progress')
        await reprocessIn(tx, conversation, now + REPROCESS_AFTER_MS);
      return made;
    });
    events.emit('marked', { mark, change: 'created' });
    return mark;
  }

  /** `not_found`. */
  async function running(userId: string): Promise<string> {
    const open = await storage.conversations.list(userId, {
      statuses: ['in_progress'],
      locked: false,
      limit: MAX_RUNNING,
      offset: 0,
    });
    const [last] = open.sort((a, b) => b.lastActivityAt - a.lastActivityAt);
    if (!last) throw new AppError('not_found', 'No conversation is running now');
    return last.id;
  }

  /** Lists marks of a conversation in the order of their moments. `not_found`, also where it is locked. */
  async function list(userId: string, conversationId: string): Promise<Mark[]> {
    const found = isId(conversationId) ? await storage.conversations.get(userId, conversationId) : null;
    if (!found || found.locked) throw new AppError('not_found', 'Conversation not found');
    return storage.marks.list(userId, conversationId, ALL_MARKS);
  }

  /** An ended conversation is processed again soon. `not_found`, `locked`. */
  async function remove(userId: string, id: string): Promise<void> {
    const now = clock.now();
    const mark = await storage.transaction('remove mark', async tx => {
      const found = isId(id) ? await tx.marks.get(userId, id) : null;
      if (!found) throw new AppError('not_found', 'Mark not found');
      const conversation = await writable(tx, userId, found.conversationId);
      await tx.marks.remove(userId, id);
      if (conversation.status !== 'in_progress')
        await reprocessIn(tx, conversation, now + REPROCESS_AFTER_MS);
      return found;
    });
    events.emit('marked', { mark, change: 'removed' });
  }

  return {
    add,
    list,
    remove,
    /** Ids of the segments that the marks of a conversation are meant for. */
    markedIn: async (
      conversation: Pick<Conversation, 'userId' | 'id' | 'startedAt' | 'createdAt'>,
      segments: readonly Segment[],
    ): Promise<ReadonlySet<string>> =>
      passagesOf(
        conversation,
        segments,
        await storage.marks.list(conversation.userId, conversation.id, ALL_MARKS),
      ),
  };
}

/** Running conversations of one account that are looked at: one for each device and source. */
const MAX_RUNNING = 100;

function within(
  { startedAt, createdAt, finishedAt }: Pick<Conversation, 'startedAt' | 'createdAt' | 'finishedAt'>,
  at: number,
  now: number,
): number {
  return Math.max(startedAt ?? createdAt, Math.min(at, finishedAt ?? now));
}

/**
 * Ids of the segments that were spoken at a mark or in the 10 s before it; where nobody spoke then, of the one before.
 * @param segments of the conversation, by start
 */
export function passagesOf(
  { startedAt, createdAt }: Pick<Conversation, 'startedAt' | 'createdAt'>,
  segments: readonly Segment[],
  marks: readonly Mark[],
): ReadonlySet<string> {
  const begin = startedAt ?? createdAt;
  const marked = new Set<string>();
  for (const mark of marks) {
    const at = (mark.at - begin) / 1000;
    const spoken = segments.filter(({ start, end }) => start <= at && end >= at - BEFORE_S);
    const before = segments.findLast(({ start }) => start <= at) ?? segments[0];
    for (const { id } of spoken.length > 0 ? spoken : before ? [before] : []) marked.add(id);
  }
  return marked;
}
