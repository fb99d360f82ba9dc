import type { Conversation, Segment, StreamProgress, User } from '../contract/model.ts';
import { segmentJson } from '../domain/conversations/conversation-json.ts';
import type { Conversations, Piece } from '../domain/conversations/conversations.ts';
import { createPresenter } from '../domain/conversations/present.ts';
import type { Suggestion } from '../domain/speech/voices.ts';
import { AppError } from '../runtime/errors.ts';
import type { EventBus, Events } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';
import type { ListenMetrics } from '../runtime/metrics.ts';
import type { Connection } from './connection/parameters.ts';
import type { ClientMessage, ServerEvent, WireSegment } from './protocol.ts';

export type Send = (message: ServerEvent | WireSegment[]) => void;

export type Assigned = ClientMessage & { type: 'speaker_assigned' };

/** Conversations of one connection, one after the other: each write goes to the open one, or opens the next. */
export interface Thread {
  /** Opens a conversation if none is open; its audio begins at this instant (epoch ms). */
  ensure(at: number): Promise<Conversation>;
  /**
   * Stores pieces and progress in one transaction, then tells the client. `at`: when their speech began. Returns the
   * new and changed segments.
   */
  write(pieces: Piece[], stream: { id: string; progress: StreamProgress }, at: number): Promise<Segment[]>;
  /** Ends the open conversation. Resolves to its id; null where there is none, or an empty one. */
  finish(): Promise<string | null>;
  /**
   * Assigns a person to a speaker in the open conversation, or in that of the first named segment, and sends the client
   * the changes. Throws `not_found` where the conversation or person does not exist, and `locked`.
   */
  assign(message: Assigned): Promise<void>;
  /** Asks the client whether a voice is this person's. */
  suggest(suggestion: Suggestion, segmentId: string): void;
  /** Keeps the open conversation alive while speech is heard. Stored segments do so as well. */
  touch(): Promise<void>;
  close(): void;
}

interface ThreadOptions {
  conversations: Conversations;
  events: EventBus;
  metrics: Pick<ListenMetrics, 'segments'>;
  connection: Connection;
  /** Null: nobody is told. */
  owner: User | null;
  log: Log;
  first: Conversation;
  /** When the first audio of this connection was recorded, as far as known (epoch ms). */
  startedAt(): number;
  send: Send;
  /** The open conversation ended with content: another one follows on the same socket. */
  onEnded(): void;
}

const MAX_RECENT = 3;

export function createThread(options: ThreadOptions): Thread {
  const { conversations, events, connection, owner, send } = options;
  const { userId } = connection;
  const { presentOne } = createPresenter(conversations);
  let current: Conversation | null = options.first;
  /** When the audio of the open conversation began; null: with the connection. */
  let beganAt: number | null = null;
  /** Ended conversations that the client is still to be told of. */
  const awaited = new Set([options.first.id]);
  /** The newest conversations, the open one included, whose translations are sent. */
  const recent = new Set([options.first.id]);

  let opening: Promise<Conversation> | null = null;
  /** Whether a segment was stored since the last `touch`. */
  let hasStored = false;
  /** Never rejects. */
  let telling = Promise.resolve();
  /** Never rejects. */
  let tellingSegments = Promise.resolve();

  async function ensure(at: number) {
    if (current && !opening) return current;
    opening ??= openNext(at).finally(() => {
      opening = null;
    });
    return opening;
  }

  async function openNext(at: number) {
    beganAt = at;
    const next = await conversations.open({
      userId,
      source: connection.source,
      deviceId: connection.deviceId,
      language: connection.language,
      timeoutMs: connection.timeoutMs,
      recordedAt: at,
    });
    current = next;
    awaited.add(next.id);
    recent.add(next.id);
    const [oldest] = recent;
    if (recent.size > MAX_RECENT && oldest !== undefined) recent.delete(oldest);
    await telling; // the client first learns that the one before has ended
    send({ type: 'conversation_session', conversation_id: next.id, status: next.status });
    return next;
  }

  async function write(
    pieces: Piece[],
    stream: { id: string; progress: StreamProgress },
    at: number,
  ): Promise<Segment[]> {
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
      if (segments.length === 0) return segments;
      hasStored = true;
      await tell(segments);
      options.metrics.segments(segments.length);
      return segments;
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'conflict')) throw error;
      // The conversation ended while this piece was on its way: the piece opens the next one.
      if (current?.id === id) current = null;
      return write(pieces, stream, at);
    }
  }

  /** Sends segments in the order of the calls, as the later of two texts of a segment counts. */
  function tell(segments: Segment[]): Promise<void> {
    if (!owner) return Promise.resolve();
    const names = conversations.speakerNames(owner);
    const told = tellingSegments.then(async () => {
      const nameOf = await names;
      send(segments.map(segment => toWire(segment, nameOf(segment))));
    });
    tellingSegments = told.catch(() => {});
    return told;
  }

  /** Sends the conversation, in the order of the events. A client that cannot be told finds it stored. */
  function tellMemory(
    type: 'memory_processing_started' | 'memory_created',
    find: () => Promise<Conversation | null>,
  ) {
    if (!owner) return;
    telling = telling
      .then(async () => {
        const found = await find();
        // The transcript is sent once: twice the largest one would exceed what a reader may leave unread.
        const memory = found && (await presentOne(owner, found, type === 'memory_created'));
        if (memory) send({ type, memory, messages: [] });
      })
      .catch(error => options.log.warn({ err: error, event: type }, 'an event could not be sent'));
  }

  const onReplaced = ({ conversationId, segments, isReplaced }: Events['segments'][0]) => {
    if (isReplaced && awaited.has(conversationId))
      tell(segments).catch(error => options.log.warn({ err: error }, 'new text could not be sent'));
  };
  const onProcessing = ({ conversationId }: Events['conversation.processing'][0]) => {
    if (!awaited.has(conversationId)) return;
    tellMemory('memory_processing_started', async () => {
      const found = await conversations.get(userId, conversationId);
      return found && { ...found, status: 'processing' }; // it may have ended by now
    });
    if (current?.id !== conversationId) return;
    current = null;
    options.onEnded();
  };
  const onProcessed = ({ conversation }: Events['conversation.processed'][0]) => {
    if (!awaited.delete(conversation.id) || conversation.status !== 'completed') return;
    tellMemory('memory_created', async () => conversation);
  };
  const onDropped = ({ conversationId }: Events['conversation.dropped'][0]) => {
    awaited.delete(conversationId);
    if (current?.id === conversationId) current = null;
  };
  events.on('segments', onReplaced);
  const onTranslated = ({ conversationId, segmentId, translations }: Events['translated'][0]) => {
    if (owner && recent.has(conversationId))
      send({ type: 'translation', segments: [{ id: segmentId, translations }] });
  };
  events.on('translated', onTranslated);
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
      // A conversation that ended before its last words came is reported only once.
      if (!ended) current = null;
      await telling;
      return ended && awaited.has(id) ? id : null;
    },
    async assign({ speaker_id: speakerId, person_id: personId, segment_ids: segmentIds }) {
      const [first] = segmentIds;
      const id = (first && (await conversations.placeOf(userId, first))) ?? current?.id ?? [...recent].at(-1);
      if (id === undefined) throw new AppError('not_found', 'Conversation not found');
      await tell(await conversations.assignSpeaker(userId, id, { speakerId, personId, segmentIds }));
    },
    suggest({ speakerId, personId, personName }, segmentId) {
      const named = { person_id: personId, person_name: personName, segment_id: segmentId };
      if (owner) send({ type: 'speaker_label_suggestion', speaker_id: speakerId, ...named });
    },
    async touch() {
      if (current && !hasStored) await conversations.touch(userId, current.id);
      hasStored = false;
    },
    close() {
      events.off('segments', onReplaced);
      events.off('translated', onTranslated);
      events.off('conversation.processing', onProcessing);
      events.off('conversation.processed', onProcessed);
      events.off('conversation.dropped', onDropped);
    },
  };
}

function toWire(segment: Segment, speakerName: string): WireSegment {
  return {
    ...segmentJson(segment, speakerName),
    speech_profile_processed: segment.profileCompared,
    stt_provider: segment.sttProvider,
  };
}
