import type { Conversations, Piece } from '../domain/conversations.ts';
import { AppError } from '../errors.ts';
import type { EventBus, Events } from '../events.ts';
import type { ListenMetrics } from '../metrics.ts';
import type { Conversation, Segment, StreamProgress } from '../model.ts';
import type { Connection } from './parameters.ts';
import type { ServerEvent, WireSegment } from './protocol.ts';

export type Send = (message: ServerEvent | WireSegment[]) => void;

/** The conversations of one connection, one after the other: each write goes to the open one, or opens the next. */
export interface Thread {
  /** Opens a conversation if none is; its audio begins at this instant (epoch ms). */
  ensure(at: number): Promise<Conversation>;
  /** Stores pieces and progress in one transaction, then tells the client. `at`: when their speech began. */
  write(pieces: Piece[], stream: { id: string; progress: StreamProgress }, at: number): Promise<void>;
  /** Ends the open conversation now. Resolves to its id; null where there is none, or nothing in it. */
  finish(): Promise<string | null>;
  /** Speech is being heard: the open conversation is alive. What was stored since the last time told so already. */
  touch(): Promise<void>;
  close(): void;
}

interface ThreadOptions {
  conversations: Conversations;
  events: EventBus;
  metrics: Pick<ListenMetrics, 'segments'>;
  connection: Connection;
  first: Conversation;
  /** When the first audio of this connection was recorded, as far as it is known by now (epoch ms). */
  startedAt(): number;
  send: Send;
  /** The open conversation ended with something in it: another one follows on the same socket. */
  onEnded(): void;
}

export function createThread(options: ThreadOptions): Thread {
  const { conversations, events, connection, send } = options;
  const { userId } = connection;
  let current: Conversation | null = options.first;
  /** When the audio of the open one began; null: with the connection. */
  let beganAt: number | null = null;
  /** Conversations whose end this client is still to be told of. */
  const awaited = new Set([options.first.id]);

  let opening: Promise<Conversation> | null = null;
  /** A segment was stored since it was touched. */
  let hasStored = false;

  async function ensure(at: number) {
    if (current) return current;
    opening ??= openNext(at).finally(() => {
      opening = null;
    });
    return opening;
  }

  async function openNext(at: number) {
    beganAt = at;
    current = await conversations.open({
      userId,
      source: connection.source,
      deviceId: connection.deviceId,
      language: connection.language,
      timeoutMs: connection.timeoutMs,
      recordedAt: at,
    });
    awaited.add(current.id);
    send({ type: 'conversation_session', conversation_id: current.id, status: current.status });
    return current;
  }

  async function write(pieces: Piece[], stream: { id: string; progress: StreamProgress }, at: number) {
    const { id } = await ensure(at);
    try {
      const segments = await conversations.append({
        userId,
        conversationId: id,
        stream,
        startedAt: Math.min(at, beganAt ?? options.startedAt()),
        pieces,
        late: connection.streamId !== undefined,
      });
      if (segments.length === 0) return;
      hasStored = true;
      send(segments.map(toWire));
      options.metrics.segments(segments.length);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'conflict')) throw error;
      // It ended while this piece was on its way: the piece opens the next one.
      if (current?.id === id) current = null;
      await write(pieces, stream, at);
    }
  }

  const onProcessing = ({ conversationId }: Events['conversation.processing'][0]) => {
    if (!awaited.has(conversationId)) return;
    send({ type: 'memory_processing_started', memory: memory(conversationId, '', ''), messages: [] });
    if (current?.id !== conversationId) return;
    current = null;
    options.onEnded();
  };
  const onProcessed = ({ conversation }: Events['conversation.processed'][0]) => {
    if (!awaited.delete(conversation.id) || conversation.status !== 'completed') return;
    const { title, overview } = conversation.structured;
    send({ type: 'memory_created', memory: memory(conversation.id, title, overview), messages: [] });
  };
  const onDropped = ({ conversationId }: Events['conversation.dropped'][0]) => {
    awaited.delete(conversationId);
    if (current?.id === conversationId) current = null;
  };
  events.on('conversation.processing', onProcessing);
  events.on('conversation.processed', onProcessed);
  events.on('conversation.dropped', onDropped);

  return {
    ensure,
    write,
    async finish() {
      const id = current?.id;
      if (id === undefined) return null;
      const ended = await conversations.finish(userId, id);
      // One that was over before its last words came is told to nobody a second time.
      if (!ended) current = null;
      return ended && awaited.has(id) ? id : null;
    },
    async touch() {
      if (current && !hasStored) await conversations.touch(userId, current.id);
      hasStored = false;
    },
    close() {
      events.off('conversation.processing', onProcessing);
      events.off('conversation.processed', onProcessed);
      events.off('conversation.dropped', onDropped);
    },
  };
}

function memory(id: string, title: string, overview: string) {
  return { id, structured: { title, overview } };
}

function toWire(segment: Segment): WireSegment {
  return {
    id: segment.id,
    text: segment.text,
    speaker: segment.speaker,
    speaker_id: segment.speakerId,
    is_user: segment.isUser,
    person_id: segment.personId,
    start: segment.start,
    end: segment.end,
    speech_profile_processed: false,
    stt_provider: segment.sttProvider,
  };
}
