import type { Clock, Conversation, Segment, Stream, StreamProgress } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { isId } from '../ids.ts';
import { index } from '../search/passages.ts';
import { ALL_CLIPS } from '../speech/clips.ts';
import { createAppend } from './append.ts';
import { createConclusions } from './conclusions.ts';
import { ALL_PHOTOS, createConversationReader } from './conversation-reader.ts';
import { createConversationSearch } from './conversation-search.ts';
import { createGrowth } from './conversation-size.ts';
import {
  correctIn,
  mergeIn,
  prepareMergeIn,
  reprocessNowIn,
  type SegmentCorrection,
  splitIn,
} from './corrections.ts';
import { type ConversationEdit, editIn, removeIn, writable } from './edits.ts';
import { type FinalText, replaceTextIn } from './final-text.ts';
import { fromText, type Imported, type ImportRequest, idOf, importIn, type TextRequest } from './imports.ts';
import { type End, endIn, endOfSpeech, type OpenRequest, openIn, silenceEnd } from './lifecycle.ts';
import { createMoves } from './moves.ts';
import { SOURCES } from './sources.ts';
import { assignSpeakerIn, type SpeakerAssignment } from './speakers.ts';
import { type ConnectRequest, channelsOf, findStream, openStreams } from './streams.ts';
import { awaitEnd } from './waiting.ts';

export type { Piece } from './segments.ts';

/** How long an import waits for the structure. */
const PATIENCE_MS = 20_000;

export interface Connected {
  conversation: Conversation;
  streams: [Stream, ...Stream[]];
}

export type Conversations = ReturnType<typeof createConversations>;

/** The only writer of conversations, segments and streams. Events are emitted after the commit. */
export function createConversations({
  storage,
  clock,
  events,
  sources = [],
  removeFiles = async () => {},
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  /** Allowed sources in addition to `SOURCES`. */
  sources?: readonly string[];
  /** Deletes the files of removed photos and clips; absent: there are none. */
  removeFiles?: (userId: string, ids: { photos: string[]; clips: string[] }) => Promise<void>;
}) {
  const growth = createGrowth();
  const move = createMoves(clock);
  const reader = createConversationReader({ storage });
  const append = createAppend({ storage, clock, events, growth, finish });

  /**
   * Returns the open conversation of this source and device, with its language and timeout updated, else a new one.
   * One whose timeout has passed while no server ran is ended first.
   */
  async function open(request: OpenRequest): Promise<Conversation> {
    const now = clock.now();
    const { conversation, end } = await storage.transaction('open conversation', tx =>
      openIn(tx, request, now),
    );
    announce(end);
    announceNew(conversation, now);
    return conversation;
  }

  /**
   * Opens the conversation of a live connection, and the row of its stream for each channel. A stream that the client
   * names again continues its conversation while that is open, because the client may have more of it.
   */
  async function connect(request: ConnectRequest): Promise<Connected> {
    const now = clock.now();
    const { opened, streams } = await storage.transaction('connect', async tx => {
      const known = await findStream(tx, request);
      const late = request.streamId !== undefined;
      const opened = await openIn(tx, { ...request, resume: known?.conversationId, late }, now);
      return { opened, streams: await openStreams(tx, known, request, opened.conversation.id, now) };
    });
    announce(opened.end);
    announceNew(opened.conversation, now);
    return { conversation: opened.conversation, streams };
  }

  /** Restarts the silence, because speech was heard, whether or not it was transcribed. */
  async function touch(userId: string, conversationId: string): Promise<void> {
    await storage.conversations.update(
      userId,
      conversationId,
      { lastActivityAt: clock.now() },
      'in_progress',
    );
  }

  /** Ends a conversation now; one without a segment is removed. Resolves to whether this call ended it. */
  async function finish(userId: string, conversationId: string): Promise<boolean> {
    return endIf(userId, conversationId, () => true);
  }

  /** Ends a conversation if its silence has lasted long enough. Resolves to whether this call did. */
  async function finishIfSilent(userId: string, conversationId: string): Promise<boolean> {
    const now = clock.now();
    return endIf(userId, conversationId, conversation => silenceEnd(conversation) <= now);
  }

  /**
   * Ends a conversation at its owner's request; one that has ended stays as it is. `not_found`, `locked`; `conflict`
   * where nothing has been said in it.
   */
  async function end(userId: string, id: string): Promise<void> {
    const end = await storage.transaction('end conversation', async tx => {
      const conversation = await writable(tx, userId, id);
      const ended = await endIn(tx, conversation, clock.now());
      if (ended?.event === 'conversation.dropped')
        throw new AppError('conflict', 'Nothing has been said in the conversation yet');
      return ended;
    });
    announce(end);
  }

  async function endIf(
    userId: string,
    conversationId: string,
    due: (conversation: Conversation) => boolean,
  ): Promise<boolean> {
    const end = await storage.transaction('end conversation', async tx => {
      const conversation = await tx.conversations.get(userId, conversationId);
      if (conversation?.status !== 'in_progress' || !due(conversation)) return null;
      return endIn(tx, conversation, clock.now());
    });
    announce(end);
    return end !== null;
  }

  function announceNew({ userId, id, createdAt }: Conversation, now: number): void {
    if (createdAt === now) events.emit('changed', { userId, kind: 'conversation', id, change: 'created' });
  }

  function announce(end: End | null): void {
    if (!end) return;
    growth.forget(end.conversationId);
    events.emit(end.event, { userId: end.userId, conversationId: end.conversationId });
  }

  /**
   * Stores a conversation that was recorded elsewhere, and waits for its structure, at most 20 s: past that it answers
   * `processing`, and the work goes on. The same client session again is the same conversation, stored and processed
   * once. `invalid_request`, with its issues, where a person is unknown or it would end before it began.
   */
  async function importSegments(request: ImportRequest, patienceMs = PATIENCE_MS): Promise<Imported> {
    const { userId } = request;
    const now = clock.now();
    const id = idOf(request, now);
    const end = awaitEnd({ events, clock, userId, conversationId: id });
    try {
      const made = await storage.transaction('import conversation', tx => importIn(tx, id, request, now));
      if (made) announce({ event: 'conversation.processing', userId, conversationId: id });
      const isWaited = patienceMs > 0 && (await reader.get(userId, id))?.status === 'processing';
      if (isWaited) await end.wait(patienceMs);
    } finally {
      end.close();
    }
    const stored = await storage.conversations.get(userId, id);
    return stored
      ? { id, status: stored.status, discarded: stored.discarded }
      : { id, status: 'deleted', discarded: true };
  }

  /** Changes what an owner may change. `not_found` where the conversation or the folder does not exist; `locked`. */
  async function edit(userId: string, id: string, changes: ConversationEdit): Promise<Conversation> {
    const edited = await storage.transaction('edit conversation', tx => editIn(tx, userId, id, changes));
    events.emit('changed', { userId, kind: 'conversation', id, change: 'changed' });
    return edited;
  }

  /** Deletes a conversation permanently, also a running one: later speech opens another. `not_found`, `locked`. */
  async function remove(userId: string, id: string): Promise<void> {
    await writable(storage, userId, id);
    await storage.passages.put(userId, id, []); // in the transaction it would block other writers, for seconds
    const files = await storage.transaction('delete conversation', async tx => {
      const photos = isId(id) ? await tx.photos.list(userId, id, ALL_PHOTOS) : [];
      const clips = isId(id) ? await tx.clips.list(userId, id, { since: 0, limit: ALL_CLIPS }) : [];
      await removeIn(tx, userId, id, clock.now());
      return { photos: photos.map(photo => photo.id), clips: clips.map(clip => clip.id) };
    });
    await removeFiles(userId, files);
    announce({ event: 'conversation.dropped', userId, conversationId: id });
  }

  /**
   * Changes the text or the speaker of a segment; an ended conversation is processed again soon. `not_found`,
   * `locked`.
   */
  async function correct(
    userId: string,
    id: string,
    segmentId: string,
    correction: SegmentCorrection,
  ): Promise<void> {
    const segment = await storage.transaction('correct segment', tx =>
      correctIn(tx, { userId, id }, segmentId, correction, clock.now()),
    );
    const corrected = await storage.conversations.get(userId, id);
    if (corrected) await index(storage, corrected); // so that search finds the new words at once
    events.emit('segments', { userId, conversationId: id, segments: [segment] });
  }

  /**
   * Assigns a person to a speaker of a conversation: for past and future segments, and wherever the voice is
   * recognised. Returns the changed segments. `not_found`, `locked`.
   */
  async function assignSpeaker(
    userId: string,
    id: string,
    assignment: SpeakerAssignment,
  ): Promise<Segment[]> {
    const { segments } = await storage.transaction('assign speaker', tx =>
      assignSpeakerIn(tx, { userId, id }, assignment, clock.now()),
    );
    if (segments.length > 0) events.emit('segments', { userId, conversationId: id, segments });
    return segments;
  }

  /** Replaces live text by that of the second recogniser, where it has not been changed meanwhile. */
  async function replaceText(final: FinalText): Promise<void> {
    const { userId, conversationId } = final;
    const segments = await storage.transaction('replace text', tx => replaceTextIn(tx, final, clock.now()));
    if (segments.length === 0) return;
    growth.forget(conversationId);
    events.emit('segments', { userId, conversationId, segments, isReplaced: true });
  }

  /**
   * Merges another ended conversation into this one, which is processed again; the other one is removed. `rate_limited`.
   */
  async function merge(userId: string, id: string, other: string): Promise<void> {
    await storage.transaction('prepare merge', tx =>
      prepareMergeIn(tx, { userId, id }, other, segments => move(userId, segments), clock.now()),
    );
    await storage.passages.put(userId, other, []);
    await storage.transaction('merge conversations', tx => mergeIn(tx, { userId, id }, other, clock.now()));
    announce({ event: 'conversation.processing', userId, conversationId: id });
    announce({ event: 'conversation.dropped', userId, conversationId: other });
  }

  /** Splits a conversation at this segment and returns the new one; both are processed again. `rate_limited`. */
  async function split(userId: string, id: string, segmentId: string): Promise<Conversation> {
    move(userId, isId(id) ? await storage.segments.count(userId, id) : 0);
    const part = await storage.transaction('split conversation', tx =>
      splitIn(tx, { userId, id }, segmentId, clock.now()),
    );
    for (const conversationId of [id, part.id])
      announce({ event: 'conversation.processing', userId, conversationId });
    return part;
  }

  /**
   * Repeats the structure of an ended conversation; the owner's edits stay.
   * @param templateId id of one of the user's summary templates; null: chosen by category; absent: as before
   */
  async function reprocess(userId: string, id: string, templateId?: string | null): Promise<Conversation> {
    const found = await storage.transaction('reprocess conversation', tx =>
      reprocessNowIn(tx, { userId, id }, templateId, clock.now()),
    );
    return found;
  }

  return {
    ...reader,
    ...createConversationSearch({ storage }),
    ...createConclusions({ storage, clock, events }),
    /** Lists the allowed sources. */
    sources: new Set([...SOURCES, ...sources]) as ReadonlySet<string>,
    open,
    connect,
    append,
    touch,
    end,
    finish,
    finishIfSilent,
    importSegments,
    /** Stores a text as a conversation, and waits for its structure. */
    importText: (request: TextRequest): Promise<Imported> => importSegments(fromText(request, clock.now())),
    /** Stores a text as a conversation without waiting. */
    async storeText(request: TextRequest): Promise<void> {
      await importSegments(fromText(request, clock.now()), 0);
    },
    edit,
    remove,
    correct,
    assignSpeaker,
    replaceText,
    merge,
    split,
    reprocess,
    /** Advances a stream through silence. Resolves to false if it was further already. */
    advance: (userId: string, streamId: string, progress: StreamProgress): Promise<boolean> =>
      storage.streams.advance(userId, streamId, progress),
    /** Sets the time at which sample 0 of a stream was recorded (epoch ms). */
    anchor: (userId: string, streamId: string, at: number): Promise<void> =>
      storage.streams.update(userId, streamId, { anchorAt: at }),
    /** Returns the conversation of a segment; null: the segment is unknown. */
    placeOf: async (userId: string, segmentId: string): Promise<string | null> =>
      isId(segmentId) ? ((await storage.segments.get(userId, segmentId))?.conversationId ?? null) : null,
    /** Returns the end of the last segment (epoch ms); null: there is none. */
    spokenUntil: async (conversation: Conversation): Promise<number | null> =>
      endOfSpeech(conversation, await storage.segments.last(conversation.userId, conversation.id)),
    /** Returns the row of a stream. */
    stream: (userId: string, id: string): Promise<Stream | null> => storage.streams.get(userId, id),
    /** Returns the rows of a stream by that of its first channel: one per channel. */
    channels: (userId: string, id: string): Promise<Stream[]> => channelsOf(storage, userId, id),
  };
}
