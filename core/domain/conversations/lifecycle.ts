/** Beginning and end of a conversation: each step inside a transaction of its caller. */

import type { Conversation, Photo, Segment, Structured } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { newId } from '../ids.ts';
import { MULTI } from '../languages.ts';
import { CATEGORY_EMOJI } from './categories.ts';

/** Durable job that ends a conversation after its silence and makes its structure; its key is the conversation. */
export const FINISH_JOB = 'conversation.finish';

/** Durable job that repeats the structure of an ended conversation; its key is the conversation. */
export const REPROCESS_JOB = 'conversation.reprocess';

/** Structure of a conversation before the pipeline has processed it. */
export const NO_STRUCTURE: Structured = {
  title: '',
  overview: '',
  category: 'other',
  emoji: CATEGORY_EMOJI.other,
  actionItems: [],
  events: [],
};

/**
 * Maximum time from the creation of a conversation to its first words. Queries by the latter are limited by the former as
 * well, which has an index.
 */
export const LATEST_START_MS = 24 * 3600_000;

/** Maximum photos per conversation. */
export const MAX_PHOTOS = 1000;

export interface OpenRequest {
  userId: string;
  source: string;
  deviceId: string | null;
  /** ISO 639-1, or `multi`. */
  language: string;
  /** Silence after which it ends. */
  timeoutMs: number;
  /** The recording's earlier conversation: if it is still open it continues, and its silence restarts. */
  resume?: string | undefined;
  /** Accepts additions that were spoken before the conversation ended, even if it has ended by now. */
  late?: boolean;
  /**
   * Time of recording (epoch ms); if that is longer ago than the timeout, it joins no conversation that is open now.
   */
  recordedAt?: number | null;
}

/** Returns the time at which its silence reaches the timeout (epoch ms), if nothing more is heard. */
export function silenceEnd(conversation: Conversation): number {
  return conversation.lastActivityAt + conversation.timeoutMs;
}

/** How a conversation ended: the event to emit after the commit. */
export interface End {
  event: 'conversation.processing' | 'conversation.dropped';
  userId: string;
  conversationId: string;
}

/** Returns the conversation that this request continues, else a new one, with the durable job that will end it. */
export async function openIn(
  tx: Stores,
  request: OpenRequest,
  now: number,
): Promise<{ conversation: Conversation; end: End | null }> {
  const resumed = await findResumed(tx, request);
  if (resumed && resumed.status !== 'in_progress') return { conversation: resumed, end: null };
  if (resumed) return { conversation: await renew(tx, resumed, request, now), end: null };
  const found = await findOpen(tx, request, now);
  if (found && now < silenceEnd(found))
    return { conversation: await renew(tx, found, request, found.lastActivityAt), end: null };
  const end = found && (await endIn(tx, found, now));
  return { conversation: await create(tx, request, now), end };
}

async function findResumed(tx: Stores, { userId, resume, late }: OpenRequest): Promise<Conversation | null> {
  const own = resume === undefined ? null : await tx.conversations.get(userId, resume);
  return own?.status === 'in_progress' || late ? own : null;
}

async function findOpen(tx: Stores, request: OpenRequest, now: number): Promise<Conversation | null> {
  const { userId, source, deviceId, timeoutMs, recordedAt } = request;
  if (recordedAt != null && recordedAt < now - timeoutMs) return null;
  return tx.conversations.findOpen(userId, source, deviceId);
}

async function create(tx: Stores, request: OpenRequest, now: number): Promise<Conversation> {
  const { userId, source, deviceId, language, timeoutMs } = request;
  const conversation: Conversation = {
    id: newId(now),
    userId,
    status: 'in_progress',
    createdAt: now,
    startedAt: null,
    finishedAt: null,
    structured: NO_STRUCTURE,
    language,
    source,
    deviceId,
    folderId: null,
    geolocation: null,
    discarded: false,
    starred: false,
    locked: false,
    timeoutMs,
    lastActivityAt: now,
  };
  await tx.conversations.insert(conversation);
  await enqueueFinish(tx, conversation, silenceEnd(conversation));
  return conversation;
}

/**
 * Updates language and timeout. A shorter timeout needs an earlier job; with a longer one the early job waits again.
 */
async function renew(
  tx: Stores,
  found: Conversation,
  { language, timeoutMs }: OpenRequest,
  lastActivityAt: number,
): Promise<Conversation> {
  const known = language === MULTI ? found.language : language; // a detected language is kept
  const patch = { language: known, timeoutMs, lastActivityAt };
  await tx.conversations.update(found.userId, found.id, patch);
  const renewed = { ...found, ...patch };
  await enqueueFinish(tx, renewed, silenceEnd(renewed));
  return renewed;
}

/**
 * Ends a conversation: one without words and photos is removed, any other goes to the pipeline. Null when it was no
 * longer in progress.
 */
export async function endIn(tx: Stores, conversation: Conversation, now: number): Promise<End | null> {
  const { userId, id } = conversation;
  const last = await tx.segments.last(userId, id);
  const photos = last ? [] : await tx.photos.list(userId, id, MAX_PHOTOS);
  const times = last ? { finishedAt: endOfSpeech(conversation, last) } : spanOf(photos);
  const ended = await tx.conversations.update(userId, id, { status: 'processing', ...times }, 'in_progress');
  if (!ended) return null;
  if (!last && photos.length === 0) {
    await tx.conversations.remove(userId, id);
    return { event: 'conversation.dropped', userId, conversationId: id };
  }
  await enqueueFinish(tx, { userId, id }, now);
  return { event: 'conversation.processing', userId, conversationId: id };
}

/** Derives start and end of a conversation that consists of photos. */
function spanOf(photos: readonly Photo[]): Pick<Conversation, 'startedAt' | 'finishedAt'> {
  return { startedAt: photos[0]?.takenAt ?? null, finishedAt: photos.at(-1)?.takenAt ?? null };
}

/** Epoch ms; null where nothing was said. */
export function endOfSpeech(conversation: Conversation | null, last: Segment | null): number | null {
  return conversation?.startedAt == null || !last
    ? null
    : conversation.startedAt + Math.round(last.end * 1000);
}

/** Makes an ended conversation accept late additions, and be processed again. */
export async function reopenIn(tx: Stores, conversation: Conversation, now: number): Promise<void> {
  const { userId, id } = conversation;
  refuseProcessing(conversation);
  const patch = {
    status: 'processing',
    finishedAt: null,
    ...(hadNothing(conversation) ? { discarded: false } : {}),
  } as const;
  await tx.conversations.update(userId, id, patch);
  await tx.jobs.cancel(REPROCESS_JOB, id);
  await enqueueFinish(tx, conversation, now);
}

/** The pipeline may have read the transcript already, and would miss additions. */
export function refuseProcessing({ status }: Pick<Conversation, 'status'>): void {
  if (status === 'processing')
    throw new AppError('unavailable', 'The conversation is being processed; try again when that is done');
}

/** Whether the pipeline, not the owner, discarded it: see `Conversations.discard`. */
export function hadNothing({ status, discarded, structured }: Conversation): boolean {
  return status === 'completed' && discarded && structured.title === '';
}

export async function enqueueFinish(
  tx: Stores,
  { userId, id }: Pick<Conversation, 'userId' | 'id'>,
  runAt: number,
): Promise<void> {
  await tx.jobs.enqueue({ kind: FINISH_JOB, key: id, runAt, payload: { userId, conversationId: id } });
}

/**
 * Schedules another structure for an ended conversation; until then the present one is provisional. A further request
 * restarts the delay.
 */
export async function reprocessIn(
  tx: Stores,
  { userId, id, structured }: Pick<Conversation, 'userId' | 'id' | 'structured'>,
  notBefore: number,
): Promise<void> {
  if (structured.by && !structured.by.provisional) {
    const by = { ...structured.by, provisional: true };
    await tx.conversations.update(userId, id, { structured: { ...structured, by } });
  }
  const payload = { userId, conversationId: id, notBefore };
  await tx.jobs.enqueue({ kind: REPROCESS_JOB, key: id, runAt: notBefore, payload });
}
