/** The rows of streams: each step inside a transaction of its caller. */
import { AppError } from '../errors.ts';
import type { Stream, StreamProgress } from '../model.ts';
import type { Stores } from '../plugin.ts';
import { newId } from './ids.ts';
import type { OpenRequest } from './lifecycle.ts';

/** Every connection is one channel so far. */
const CHANNEL = 0;

/** What a live connection says of itself. */
export interface ConnectRequest extends OpenRequest {
  /** The client's own name of the recording; null: it cannot resume. */
  stream: string | null;
  /** The row of a recording that is worked through without its client: late, it may be. */
  streamId?: string;
  format: { codec: string; sampleRate: number; channels: 1 | 2 };
  sttService: string | null;
  customStt: boolean;
}

interface Progress {
  userId: string;
  /** Null: there is none to resume. */
  stream: { id: string; progress: StreamProgress } | null;
}

/** The recording that this client names, if it was here before. */
export async function findStream(
  tx: Stores,
  { userId, stream, streamId }: ConnectRequest,
): Promise<Stream | null> {
  if (streamId !== undefined) return tx.streams.get(userId, streamId);
  return stream === null ? null : tx.streams.byClientStream(userId, stream, CHANNEL);
}

/** The row of a connection: the known one, now in this conversation, or a new one. */
export async function openStream(
  tx: Stores,
  known: Stream | null,
  request: ConnectRequest,
  conversationId: string,
  now: number,
): Promise<Stream> {
  const { userId, stream: clientStream, source, deviceId } = request;
  const { codec } = request.format;
  const setup = setupOf(request);
  if (known) {
    await tx.streams.update(userId, known.id, { conversationId, codec, setup });
    return { ...known, conversationId, codec, setup };
  }
  const stream: Stream = {
    id: newId(now),
    userId,
    clientStream,
    channel: CHANNEL,
    conversationId,
    source,
    deviceId,
    codec,
    setup,
    anchorAt: null,
    through: 0,
    received: 0,
    receivedSample: 0,
  };
  await tx.streams.insert(stream);
  return stream;
}

function setupOf({ format, language, timeoutMs, sttService, customStt, recordedAt }: ConnectRequest) {
  const { sampleRate, channels } = format;
  return { sampleRate, channels, language, timeoutMs, sttService, customStt, recordedAt: recordedAt ?? null };
}

/** Moves the stream on. False: another connection has brought it further, and stored what was said until there. */
export async function advance(tx: Stores, { userId, stream }: Progress): Promise<boolean> {
  if (stream === null || (await tx.streams.advance(userId, stream.id, stream.progress))) return true;
  if (await tx.streams.get(userId, stream.id)) return false;
  throw new AppError('not_found', 'Stream not found');
}
