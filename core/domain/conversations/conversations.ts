import type {
  Clock,
  Conversation,
  ConversationStatus,
  Segment,
  Stream,
  StreamProgress,
  Structured,
} from '../../contract/model.ts';
import type { Storage, Stores, TranscriptSize } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { lookAtDayIn, tellOfConversationIn } from '../apps/deliveries.ts';
import { isId } from '../ids.ts';
import { MULTI } from '../languages.ts';
import { type HeardMemory, storeHeardMemoriesIn } from '../memories/heard-memories.ts';
import { index, indexTitle } from '../search/passages.ts';
import { ALL_CLIPS } from '../speech/clips.ts';
import { type HeardProgress, suggestProgressIn } from '../tasks/heard-goals.ts';
import { settledIn, storeHeardIn } from '../tasks/heard-tasks.ts';
import { ALL_PHOTOS, createConversationReader } from './conversation-reader.ts';
import { createConversationSearch } from './conversation-search.ts';
import { createGrowth, exceedsSize, type Growth, MAX_SIZE, sizeOf, sumOf } from './conversation-size.ts';
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
import { folderFor } from './folders.ts';
import { fromText, type Imported, type ImportRequest, idOf, importIn, type TextRequest } from './imports.ts';
import {
  type End,
  endIn,
  endOfSpeech,
  hadNothing,
  type OpenRequest,
  openIn,
  reopenIn,
  reprocessIn,
  silenceEnd,
} from './lifecycle.ts';
import { createMoves } from './moves.ts';
import { addPieces, type Piece } from './segments.ts';
import { SOURCES } from './sources.ts';
import { assignSpeakerIn, nameVoicesIn, type SpeakerAssignment } from './speakers.ts';
import { advance, type ConnectRequest, channelsOf, findStream, openStreams } from './streams.ts';
import { awaitEnd } from './waiting.ts';

export type { Piece } from './segments.ts';

/** How long an import waits for the structure. */
const PATIENCE_MS = 20_000;
/** Time from a provisional structure to the next attempt. */
const BETTER_AFTER_MS = 60_000;
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

export interface Connected {
  conversation: Conversation;
  streams: [Stream, ...Stream[]];
}

/** Results of processing, apart from the structure. */
export interface Heard {
  memories: readonly HeardMemory[];
  progress: readonly HeardProgress[];
}

const NOTHING_HEARD: Heard = { memories: [], progress: [] };

type Result =
  | { status: 'completed'; structured: Structured }
  | { status: 'completed'; discarded: true }
  | { status: 'failed' };

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
   * Stores the results of processing: the structure, its tasks as action items, memories, and suggestions for goals.
   * Resolves to whether this call did: a second run changes nothing.
   */
  async function complete(
    userId: string,
    conversationId: string,
    structured: Structured,
    heard: Heard = NOTHING_HEARD,
  ): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'completed', structured }, heard);
  }

  /**
   * Marks a conversation in which nothing was said as discarded, without a structure. Resolves to whether this call
   * did it.
   */
  async function discard(userId: string, conversationId: string): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'completed', discarded: true });
  }

  /**
   * Marks a conversation as failed after the last attempt to process it; the transcript stays. Resolves to whether
   * this call did it.
   */
  async function fail(userId: string, conversationId: string): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'failed' });
  }

  /**
   * Replaces the structure of an ended conversation after it was processed again; null: nothing was said in it. The
   * owner's edits stay. Resolves to whether this call did it.
   */
  async function revise(
    userId: string,
    conversationId: string,
    structured: Structured | null,
    heard: Heard = NOTHING_HEARD,
  ): Promise<boolean> {
    const result = structured ? { structured } : ({ discarded: true } as const);
    return conclude(userId, conversationId, { status: 'completed', ...result }, heard, [
      'completed',
      'failed',
    ]);
  }

  /** Makes a provisional structure final, because no better one will come. */
  async function settle(userId: string, conversationId: string): Promise<void> {
    await storage.transaction('settle conversation', async tx => {
      const structured = (await tx.conversations.get(userId, conversationId))?.structured;
      if (!structured?.by) return;
      const by = { ...structured.by, provisional: false };
      await tx.conversations.update(userId, conversationId, { structured: { ...structured, by } });
    });
  }

  /** @param from allowed statuses before */
  async function conclude(
    userId: string,
    conversationId: string,
    result: Result,
    { memories, progress }: Heard = NOTHING_HEARD,
    from: ConversationStatus[] = ['processing'],
  ): Promise<boolean> {
    const found = await storage.conversations.get(userId, conversationId);
    if (!found || !from.includes(found.status)) return false;
    const indexed = { ...found, ...withOwners(result, found) };
    await index(storage, indexed); // before the transaction, which would block other writers; search finds it only after the commit
    const conversation = await storage.transaction('conclude conversation', async tx => {
      const current = await tx.conversations.get(userId, conversationId);
      const last = await tx.segments.last(userId, conversationId);
      const finishedAt = current?.finishedAt ?? endOfSpeech(current, last);
      const filed = current && (await filedIn(tx, current, result, clock.now()));
      const kept = current && 'structured' in result && hadNothing(current) ? { discarded: false } : {};
      const settled = current && 'structured' in result ? await settledIn(tx, current) : [];
      const owners = withOwners(result, current, settled);
      if (filed?.folderId && 'structured' in owners) owners.structured.filedIn = filed.folderId;
      const patch = { ...owners, ...filed, ...kept, finishedAt };
      const changed = await tx.conversations.update(userId, conversationId, patch, found.status);
      if (!current || !changed) return null;
      if ('structured' in result)
        await storeHeardIn(tx, current, result.structured.actionItems, settled, clock.now());
      const concluded = await rememberIn(tx, current, { ...current, ...patch }, memories, clock.now());
      if (result.status === 'completed') await suggestProgressIn(tx, current, progress, clock.now());
      if (found.status === 'processing' && concluded.structured.by?.provisional)
        await reprocessIn(tx, concluded, clock.now() + BETTER_AFTER_MS);
      if (concluded.structured.title !== indexed.structured.title) await indexTitle(tx, indexed, concluded);
      if (concluded.status === 'completed' && !concluded.discarded) {
        await tellOfConversationIn(tx, concluded, clock.now());
        await lookAtDayIn(tx, userId, clock.now());
      }
      return concluded;
    });
    if (!conversation) return false;
    events.emit('conversation.processed', { userId, conversation });
    return true;
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
    /** Lists the allowed sources. */
    sources: new Set([...SOURCES, ...sources]) as ReadonlySet<string>,
    open,
    connect,
    append,
    touch,
    end,
    finish,
    finishIfSilent,
    complete,
    discard,
    fail,
    revise,
    settle,
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

/** Chooses the folder by subject, else by category, unless its owner has filed or discarded the conversation. */
async function filedIn(tx: Stores, conversation: Conversation, result: Result, now: number) {
  const { userId, folderId, discarded, structured: before } = conversation;
  const isFiled = folderId !== null && folderId !== before.filedIn;
  if (!('structured' in result) || isFiled || discarded) return {};
  const { category, folderId: found } = result.structured;
  const own = found == null ? null : await tx.folders.get(userId, found);
  return { folderId: own?.id ?? (await folderFor(tx, userId, category, now)) };
}

/** Stores the memories, and their ids in the structure. */
async function rememberIn(
  tx: Stores,
  before: Conversation,
  after: Conversation,
  memories: readonly HeardMemory[],
  now: number,
): Promise<Conversation> {
  if (after.status !== 'completed') return after;
  const ids = await storeHeardMemoriesIn(tx, before, memories, now);
  if (ids.length === 0 && !after.structured.memories) return after;
  const structured = { ...after.structured, memories: ids };
  await tx.conversations.update(after.userId, after.id, { structured });
  return { ...after, structured };
}

/** Keeps the owner's decisions: the title, the summary template and settled tasks. */
function withOwners(result: Result, conversation: Conversation | null, settled: string[] = []): Result {
  if (!('structured' in result) || !conversation) return result;
  const { title, titled, templateId } = conversation.structured;
  const owners = {
    ...(titled ? { title, titled } : {}),
    ...(templateId === undefined ? {} : { templateId }),
    ...(settled.length === 0 ? {} : { settledTasks: settled }),
  };
  return { ...result, structured: { ...result.structured, ...owners } };
}
