/** Corrections of a transcript by its owner: each step inside a transaction of its caller. */

import type { Conversation, Segment } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { checkExpected } from '../expected.ts';
import { isId, newId } from '../ids.ts';
import { moveSourcesIn } from '../memories/heard-memories.ts';
import { moveProgressIn } from '../tasks/heard-goals.ts';
import { takeBackHeardIn } from '../tasks/heard-tasks.ts';
import { exceedsSize, MAX_SIZE } from './conversation-size.ts';
import { writable } from './edits.ts';
import {
  enqueueFinish,
  NO_STRUCTURE,
  REPROCESS_JOB,
  refuseProcessing,
  reopenIn,
  reprocessIn,
} from './lifecycle.ts';

/** Delay from the last correction of a transcript to its processing: people correct several lines in a row. */
const REPROCESS_AFTER_MS = 10_000;

/** The id that stands for the owner among people. */
export const OWNER = 'user';

export interface SegmentCorrection {
  text?: string;
  /** `user`: the owner; null: unknown. */
  personId?: string | null;
  /** Values that the correction is based on. */
  expected?: { text?: string; person_id?: string | null };
}

interface Named {
  userId: string;
  /** Id of the conversation. */
  id: string;
}

/** Changes one segment. An ended conversation is processed again soon. `not_found`, `locked`, `conflict`. */
export async function correctIn(
  tx: Stores,
  { userId, id }: Named,
  segmentId: string,
  { text, personId, expected }: SegmentCorrection,
  now: number,
): Promise<Segment> {
  const conversation = await writable(tx, userId, id);
  const before = isId(segmentId) ? await tx.segments.get(userId, segmentId) : null;
  if (before?.conversationId !== id) throw noSegment();
  const current = { text: before.text, person_id: before.isUser ? OWNER : before.personId };
  checkExpected(current, expected, {
    ...(text === undefined ? {} : { text }),
    ...(personId === undefined ? {} : { person_id: personId }),
  });
  const said = personId === undefined ? {} : await saidBy(tx, userId, personId);
  const other = text === undefined || text === before.text ? {} : { text, translations: null };
  const after = { ...before, ...said, ...other };
  await tx.segments.upsert([after]);
  if (conversation.status !== 'in_progress' && isOther(before, after))
    await reprocessIn(tx, conversation, now + REPROCESS_AFTER_MS);
  return after;
}

function isOther(before: Segment, after: Segment): boolean {
  return after.text !== before.text || after.isUser !== before.isUser || after.personId !== before.personId;
}

/** A clip begins before its first word, by what the gate keeps of the silence. */
const CLIP_LEAD_MS = 1000;

/** Time for a merge after its preparation. */
const MERGE_WITHIN_MS = 60_000;

/**
 * Checks a merge before it. To be followed by the deletion of the other one's indexed texts, which takes too long for a
 * transaction, and by `mergeIn`. Where that does not come, because the server ends or the merge is refused after all,
 * the other one is processed again, which indexes its texts.
 * @param move is told how many segments will be moved, and may throw
 */
export async function prepareMergeIn(
  tx: Stores,
  { userId, id }: Named,
  other: string,
  move: (segments: number) => void,
  now: number,
): Promise<void> {
  const { into, from } = await partsIn(tx, { userId, id }, other);
  refuseProcessing(into);
  const isEarlier = beginning(from) < beginning(into);
  const own = isEarlier ? await tx.segments.count(userId, id) : 0;
  move(own + (await tx.segments.count(userId, other)));
  await checkSize(tx, userId, [id, other]);
  await reprocessIn(tx, from, now + MERGE_WITHIN_MS);
}

async function partsIn(tx: Stores, { userId, id }: Named, other: string) {
  if (id === other) throw invalid('with', 'Input should be another conversation');
  return { into: await overIn(tx, userId, id), from: await overIn(tx, userId, other) };
}

async function checkSize(tx: Stores, userId: string, ids: readonly string[]): Promise<void> {
  const sizes = await Promise.all(ids.map(id => tx.segments.size(userId, id)));
  if (exceedsSize(sizes)) throw invalid('with', `Together they would be too large: ${MAX_SIZE}`);
}

/**
 * Merges two conversations: transcript, streams and action items of the other one move to this one, each at its time,
 * and the other one is removed. `not_found`, `locked`, `conflict` while one of them is running.
 */
export async function mergeIn(tx: Stores, { userId, id }: Named, other: string, now: number): Promise<void> {
  const { into, from } = await partsIn(tx, { userId, id }, other);
  await checkSize(tx, userId, [id, other]);
  const startedAt = Math.min(beginning(into), beginning(from));
  for (const each of [into, from]) {
    const seconds = (beginning(each) - startedAt) / 1000;
    if (each === into && seconds === 0) continue;
    await tx.segments.move(userId, each.id, { to: id, seconds });
  }
  await tx.streams.moveAll(userId, other, id);
  await tx.photos.moveAll(userId, other, id);
  await tx.marks.moveAll(userId, other, id);
  await tx.clips.moveAll(userId, other, id);
  await tx.actionItems.moveAll(userId, other, id);
  const memories = [...(into.structured.memories ?? []), ...(await moveSourcesIn(tx, from, async () => id))];
  await moveProgressIn(tx, from, async () => id);
  await tx.conversations.remove(userId, other);
  await tx.jobs.cancel(REPROCESS_JOB, other);
  const patch = {
    structured: { ...into.structured, memories: [...new Set(memories)] },
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
 * Splits a conversation: from this segment on it becomes a new one, which is returned. `not_found`, `locked`,
 * `conflict` while it is running, `invalid_request` at the first segment.
 */
export async function splitIn(
  tx: Stores,
  { userId, id }: Named,
  segmentId: string,
  now: number,
): Promise<Conversation> {
  const conversation = await overIn(tx, userId, id);
  const first = isId(segmentId) ? await tx.segments.get(userId, segmentId) : null;
  if (first?.conversationId !== id) throw noSegment();
  const [earliest] = await tx.segments.page(userId, id, null, 1);
  if (earliest?.id === first.id) throw invalid('segment_id', 'Nothing was said before this segment');
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
  await tx.segments.move(userId, id, { to: part.id, seconds: -first.start, since: first });
  await tx.photos.moveAll(userId, id, part.id, part.startedAt ?? 0);
  await tx.marks.moveAll(userId, id, part.id, part.startedAt ?? 0);
  await tx.clips.moveAll(userId, id, part.id, (part.startedAt ?? 0) - CLIP_LEAD_MS);
  await takeBackHeardIn(tx, conversation, now); // each part is processed as a new conversation
  const placeOf = async (segment = '') => (await tx.segments.get(userId, segment))?.conversationId ?? id;
  await moveProgressIn(tx, conversation, placeOf);
  const memories = await moveSourcesIn(tx, conversation, ({ segmentIds }) => placeOf(segmentIds[0]));
  await tx.conversations.update(userId, part.id, { structured: { ...NO_STRUCTURE, memories } });
  await reopenIn(tx, conversation, now);
  await enqueueFinish(tx, part, now);
  return part;
}

/**
 * Schedules processing; until then the conversation stays as it is. `not_found`, `locked`, `conflict` while it is
 * running.
 */
export async function reprocessNowIn(
  tx: Stores,
  { userId, id }: Named,
  templateId: string | null | undefined,
  now: number,
): Promise<Conversation> {
  const found = await overIn(tx, userId, id);
  const { templateId: before, ...rest } = found.structured;
  const after = templateId === undefined ? before : (templateId ?? undefined);
  const structured = after === undefined ? rest : { ...rest, templateId: after };
  await tx.conversations.update(userId, id, { structured });
  await reprocessIn(tx, { ...found, structured }, now);
  return (await tx.conversations.get(userId, id)) ?? found;
}

/** Returns a conversation that is not running: further speech would end up in the wrong place. */
async function overIn(tx: Stores, userId: string, id: string): Promise<Conversation> {
  const found = await writable(tx, userId, id);
  if (found.status === 'in_progress')
    throw new AppError(
      'conflict',
      'The conversation is still running: end it first, or wait until it has ended',
    );
  return found;
}

function beginning({ startedAt, createdAt }: Conversation): number {
  return startedAt ?? createdAt;
}

function noSegment(): AppError {
  return new AppError('not_found', 'Segment not found');
}

/** `not_found`. */
export async function saidBy(
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
