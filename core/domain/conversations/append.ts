/** Stores live speech in its conversation. */
import type { Clock, Segment, StreamProgress } from '../../contract/model.ts';
import type { Storage, Stores, TranscriptSize } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { isId } from '../ids.ts';
import { MULTI } from '../languages.ts';
import { exceedsSize, type Growth, MAX_SIZE, sizeOf, sumOf } from './conversation-size.ts';
import { reopenIn } from './lifecycle.ts';
import { addPieces, type Piece } from './segments.ts';
import { nameVoicesIn } from './speakers.ts';
import { advance } from './streams.ts';
import { awaitEnd } from './waiting.ts';

/** How long late speech waits for its conversation to be processed. */
const LATE_PATIENCE_MS = 5000;

export interface AppendRequest {
  userId: string;
  conversationId: string;
  /** The stream of these pieces and its progress; null: there is no stream that could be resumed. */
  stream: { id: string; progress: StreamProgress } | null;
  /** Epoch ms of the first audio sample, from which segment times count where the conversation has no segment yet. */
  startedAt: number;
  /** In the order they were spoken. */
  pieces: Piece[];
  /** True: they belong to this conversation even if it has ended, and it is then processed again. */
  late?: boolean;
}

/** @param finish ends a conversation that is full */
export function createAppend({
  storage,
  clock,
  events,
  growth,
  finish,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  growth: Growth;
  finish(userId: string, conversationId: string): Promise<unknown>;
}) {
  /**
   * Stores pieces of speech, and the progress of their stream, in one transaction. Returns the new and changed segments.
   * Without pieces it only advances the stream, which does not count as activity. If the stream has advanced further already,
   * another connection has stored these pieces: then nothing is written, and the result is empty.
   * `invalid_request` for an unknown person. `conflict` if the conversation has ended, or does not exist because it was empty
   * when it ended, or would become too large, in which case it is ended. Late pieces are also stored in a conversation that has
   * ended; while it is being processed they wait for at most 5 s, and then reject with `unavailable`.
   */
  async function append(request: AppendRequest): Promise<Segment[]> {
    if (!request.late) return appendNow(request);
    const end = awaitEnd({ events, clock, ...request });
    try {
      return await appendNow(request).catch(async error => {
        if (!(error instanceof AppError && error.code === 'unavailable')) throw error;
        await end.wait(LATE_PATIENCE_MS);
        return appendNow(request);
      });
    } finally {
      end.close();
    }
  }

  async function appendNow(request: AppendRequest): Promise<Segment[]> {
    const pieces = request.pieces.filter(piece => piece.text.trim() !== '');
    const now = clock.now();
    const { segments, size } = await storage
      .transaction('append segments', async tx => {
        const fresh = await advance(tx, request);
        return fresh && pieces.length > 0 ? store(tx, { ...request, pieces }, growth, now) : NOTHING;
      })
      .catch(async error => {
        if (isFull(error)) await finish(request.userId, request.conversationId);
        throw error;
      });
    if (size) growth.set(request.conversationId, size);
    if (segments.length > 0)
      events.emit('segments', { userId: request.userId, conversationId: request.conversationId, segments });
    return segments;
  }

  return append;
}

const NOTHING = { segments: [], size: null };

const FULL = `The conversation cannot grow: ${MAX_SIZE}; what follows begins another`;

function isFull(error: unknown): boolean {
  return error instanceof AppError && error.message === FULL;
}

/** Stores segments and returns the new size of the conversation; null: it has ended and accepts no more. */
async function store(
  tx: Stores,
  request: AppendRequest,
  growth: Growth,
  now: number,
): Promise<{ segments: Segment[]; size: TranscriptSize | null }> {
  const { userId, conversationId } = request;
  const conversation = await tx.conversations.get(userId, conversationId);
  const startedAt = conversation?.startedAt ?? Math.round(request.startedAt);
  const heard = conversation?.language === MULTI && request.pieces.find(piece => piece.language)?.language;
  const patch = { startedAt, lastActivityAt: now, ...(heard ? { language: heard } : {}) };
  await checkPeople(tx, userId, request.pieces);
  let size: TranscriptSize | null = null;
  if (await tx.conversations.update(userId, conversationId, patch, 'in_progress')) {
    const before = await growth.sizeOf(conversationId, () => tx.segments.size(userId, conversationId));
    size = sumOf([before, sizeOf(request.pieces)]);
    if (before.segments > 0 && exceedsSize([size])) throw new AppError('conflict', FULL);
  } else {
    if (!request.late || !conversation)
      throw new AppError('conflict', 'The conversation has ended: nothing can be added to it.');
    await reopenIn(tx, conversation, now);
  }
  const named = await nameVoicesIn(tx, { userId, id: conversationId }, request.pieces, now);
  const last = await tx.segments.last(userId, conversationId);
  const added = addPieces({ userId, conversationId, startedAt, last, now }, named.pieces);
  await tx.segments.upsert(added);
  const segments = [...named.changed.filter(({ id }) => !added.some(each => each.id === id)), ...added];
  const joined = request.pieces.length - added.filter(({ id }) => id !== last?.id).length;
  return { segments, size: size && { ...size, segments: size.segments - joined } };
}

async function checkPeople(tx: Stores, userId: string, pieces: Piece[]) {
  for (const id of new Set(pieces.map(({ personId }) => personId ?? null)))
    if (id !== null && !(isId(id) && (await tx.people.get(userId, id))))
      throw new AppError('invalid_request', `person_id ${JSON.stringify(id)} is no person of this account`);
}
