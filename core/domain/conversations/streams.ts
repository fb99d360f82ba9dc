/** Rows of streams: each step inside a transaction of its caller. */

import type { Stream, StreamProgress } from '../../contract/model.ts';
import type { Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { derivedId, newId } from '../ids.ts';
import type { OpenRequest } from './lifecycle.ts';

/** Channels of a recording: its only one, or two with separate sides, the owner and the other. */
const ONE = 0;
const OWNER = 1;
const OTHER_SIDE = 2;

/** Parameters of a live connection. */
export interface ConnectRequest extends OpenRequest {
  /** The client's id of the recording; null: it cannot resume. */
  stream: string | null;
  /** Row of a recording that is processed without its client, possibly late. */
  streamId?: string;
  /** Audio format of one channel. */
  format: { codec: string; sampleRate: number; channels: 1 | 2 };
  /** Whether the two sides of a call come as separate channels. */
  tagged: boolean;
  sttService: string | null;
  customStt: boolean;
  /** Absent: the owner is recognised by voice. */
  withProfile?: boolean;
}

interface Progress {
  userId: string;
  /** Null: there is none to resume. */
  stream: { id: string; progress: StreamProgress } | null;
}

/** Returns the first channel of the recording that this client names, if it is known. */
export async function findStream(
  tx: Stores,
  { userId, stream, streamId, tagged }: ConnectRequest,
): Promise<Stream | null> {
  if (streamId !== undefined) return tx.streams.get(userId, streamId);
  return stream === null ? null : tx.streams.byClientStream(userId, stream, tagged ? OWNER : ONE);
}

/** Returns the rows of a connection, one per channel: known ones, moved to this conversation, or new ones. */
export async function openStreams(
  tx: Stores,
  known: Stream | null,
  request: ConnectRequest,
  conversationId: string,
  now: number,
): Promise<[Stream, ...Stream[]]> {
  const fresh = freshStream(request, conversationId);
  const first = await openStream(tx, known, {
    ...fresh,
    id: newId(now),
    channel: request.tagged ? OWNER : ONE,
  });
  if (!request.tagged) return [first];
  const id = otherSideOf(first.id);
  const other = await tx.streams.get(request.userId, id);
  return [first, await openStream(tx, other, { ...fresh, id, channel: OTHER_SIDE })];
}

/** Returns the id of the second channel, which is found again also where the client has no id for it. */
function otherSideOf(firstId: string): string {
  return derivedId(`${firstId} ${OTHER_SIDE}`);
}

/** Returns the rows of a recording by the id of its first channel: one per channel. */
export async function channelsOf(stores: Stores, userId: string, firstId: string): Promise<Stream[]> {
  const ids = [firstId, otherSideOf(firstId)];
  const found = await Promise.all(ids.map(id => stores.streams.get(userId, id)));
  return found.filter(stream => stream !== null);
}

function freshStream(request: ConnectRequest, conversationId: string): Omit<Stream, 'id' | 'channel'> {
  const { userId, stream: clientStream, source, deviceId } = request;
  return {
    userId,
    clientStream,
    conversationId,
    source,
    deviceId,
    codec: request.format.codec,
    setup: setupOf(request),
    anchorAt: null,
    through: 0,
    received: 0,
    receivedSample: 0,
  };
}

async function openStream(tx: Stores, known: Stream | null, fresh: Stream): Promise<Stream> {
  if (!known) {
    await tx.streams.insert(fresh);
    return fresh;
  }
  const { conversationId, codec, setup } = fresh;
  await tx.streams.update(known.userId, known.id, { conversationId, codec, setup });
  return { ...known, conversationId, codec, setup };
}

function setupOf(request: ConnectRequest) {
  const { format, tagged, language, timeoutMs, sttService, customStt, recordedAt, withProfile } = request;
  const { sampleRate } = format;
  const channels = tagged ? 2 : format.channels;
  const wishes = { sttService, customStt, withProfile: withProfile ?? true };
  return { sampleRate, channels, language, timeoutMs, ...wishes, recordedAt: recordedAt ?? null };
}

/** Advances the stream. False: another connection has advanced it further, and stored the speech up to there. */
export async function advance(tx: Stores, { userId, stream }: Progress): Promise<boolean> {
  if (stream === null || (await tx.streams.advance(userId, stream.id, stream.progress))) return true;
  if (await tx.streams.get(userId, stream.id)) return false;
  throw new AppError('not_found', 'Stream not found');
}
