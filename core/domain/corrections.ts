/** What its owner puts right in a transcript: each step inside a transaction of its caller. */
import { AppError } from '../errors.ts';
import type { Conversation, Segment } from '../model.ts';
import type { Stores } from '../plugin.ts';
import { writable } from './edits.ts';
import { isId, newId } from './ids.ts';
import { enqueueFinish, NO_STRUCTURE, reopenIn } from './lifecycle.ts';

/** The person that is the owner. */
export const OWNER = 'user';

export interface SegmentCorrection {
  text?: string;
  /** `user`: the owner; null: nobody that is known. */
  personId?: string | null;
}

interface Named {
  userId: string;
  /** Of the conversation. */
  id: string;
}

/** Changes one segment. With another text, a conversation that is over is processed once more. `not_found`, `locked`. */
export async function correctIn(
  tx: Stores,
  { userId, id }: Named,
  segmentId: string,
  { text, personId }: SegmentCorrection,
  now: number,
): Promise<Segment> {
  const conversation = await writable(tx, userId, id);
  const segments = await tx.segments.list(userId, [id]);
  const before = segments[placeOf(segments, segmentId)] as Segment; // it is there
  const said = personId === undefined ? {} : await saidBy(tx, userId, personId);
  const after = { ...before, ...said, text: text ?? before.text };
  await tx.segments.upsert([after]);
  if (after.text !== before.text && conversation.status !== 'in_progress')
    await reopenIn(tx, conversation, now);
  return after;
}

/**
 * One conversation out of two: the other one's transcript, streams and action items are this one's from now on, each at
 * its time, and the other one is gone. `not_found`, `locked`, `conflict` while one of them goes on.
 */
export async function mergeIn(tx: Stores, { userId, id }: Named, other: string, now: number): Promise<void> {
  if (id === other) throw invalid('with', 'Input should be another conversation');
  const into = await overIn(tx, userId, id);
  const from = await overIn(tx, userId, other);
  const startedAt = Math.min(beginning(into), beginning(from));
  const segments = await tx.segments.list(userId, [id, other]);
  const delay = new Map([into, from].map(each => [each.id, (beginning(each) - startedAt) / 1000]));
  await tx.segments.upsert(
    segments.map(segment => ({
      ...shifted(segment, delay.get(segment.conversationId) ?? 0),
      conversationId: id,
    })),
  );
  await tx.streams.moveAll(userId, other, id);
  await tx.actionItems.moveAll(userId, other, id);
  await tx.conversations.remove(userId, other);
  const patch = {
    startedAt,
    folderId: into.folderId ?? from.folderId,
    geolocation: into.geolocation ?? from.geolocation,
    starred: into.starred || from.starred,
    discarded: into.discarded && from.discarded,
  };
  await tx.conversations.update(userId, id, patch);
  await reopenIn(tx, { ...into, ...patch }, now);
}

/**
 * Two conversations out of one: what was said from this segment on is a new one, which is answered. `not_found`,
 * `locked`, `conflict` while it goes on, `invalid_request` at the first segment.
 */
export async function splitIn(
  tx: Stores,
  { userId, id }: Named,
  segmentId: string,
  now: number,
): Promise<Conversation> {
  const conversation = await overIn(tx, userId, id);
  const segments = await tx.segments.list(userId, [id]);
  const place = placeOf(segments, segmentId);
  const first = segments[place] as Segment; // it is there
  if (place === 0) throw invalid('segment_id', 'Nothing was said before this segment');
  const part: Conversation = {
    ...conversation,
    id: newId(now),
    status: 'processing',
    createdAt: now,
    startedAt: beginning(conversation) + Math.round(first.start * 1000),
    structured: NO_STRUCTURE,
    lastActivityAt: now,
  };
  await tx.conversations.insert(part);
  const moved = segments
    .slice(place)
    .map(segment => ({ ...shifted(segment, -first.start), conversationId: part.id }));
  await tx.segments.upsert(moved);
  await reopenIn(tx, conversation, now);
  await enqueueFinish(tx, part, now);
  return part;
}

/** One that does not go on: what is said in it would end up in the wrong place. */
async function overIn(tx: Stores, userId: string, id: string): Promise<Conversation> {
  const found = await writable(tx, userId, id);
  if (found.status === 'in_progress')
    throw new AppError('conflict', 'The conversation still goes on: end it first, or wait until it is over');
  return found;
}

function beginning({ startedAt, createdAt }: Conversation): number {
  return startedAt ?? createdAt;
}

function shifted(segment: Segment, seconds: number): Segment {
  const move = (at: number) => Math.max(0, Math.round((at + seconds) * 1000) / 1000);
  return { ...segment, start: move(segment.start), end: move(segment.end) };
}

function placeOf(segments: readonly Segment[], id: string): number {
  const place = segments.findIndex(segment => segment.id === id);
  if (place < 0) throw new AppError('not_found', 'Segment not found');
  return place;
}

async function saidBy(
  tx: Stores,
  userId: string,
  personId: string | null,
): Promise<Pick<Segment, 'isUser' | 'personId'>> {
  if (personId === null || personId === OWNER) return { isUser: personId === OWNER, personId: null };
  if (!isId(personId) || !(await tx.people.get(userId, personId)))
    throw new AppError('not_found', 'Person not found');
  return { isUser: false, personId };
}

function invalid(field: string, msg: string): AppError {
  return new AppError('invalid_request', msg, {
    issues: [{ loc: ['body', field], msg, type: 'value_error' }],
  });
}
