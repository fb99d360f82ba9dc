import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import type {
  Clock,
  Conversation,
  Folder,
  Segment,
  Stream,
  StreamProgress,
  Structured,
  User,
} from '../model.ts';
import type { ConversationFilter, Storage, Stores } from '../plugin.ts';
import { correctIn, mergeIn, type SegmentCorrection, splitIn } from './corrections.ts';
import { lookAtDayIn, tellOfConversationIn } from './deliveries.ts';
import { type ConversationEdit, editIn, removeIn } from './edits.ts';
import { folderFor } from './folders.ts';
import { isId } from './ids.ts';
import { fromText, type Imported, type ImportRequest, idOf, importIn, type TextRequest } from './imports.ts';
import { type End, endIn, type OpenRequest, openIn, reopenIn, silenceEnd } from './lifecycle.ts';
import { indexIn } from './passages.ts';
import { addPieces, type Piece } from './segments.ts';
import { advance, type ConnectRequest, findStream, openStreams } from './streams.ts';
import { awaitEnd } from './waiting.ts';

export type { Piece } from './segments.ts';

/** How long who brings a conversation in waits for its structure. */
const PATIENCE_MS = 20_000;
/** How long what was said late waits until the conversation it belongs to is processed. */
const LATE_PATIENCE_MS = 5000;

export interface AppendRequest {
  userId: string;
  conversationId: string;
  /** The stream that the pieces were heard in and how far it has come; null: there is none to resume. */
  stream: { id: string; progress: StreamProgress } | null;
  /** Epoch ms of the first audio sample: where segment times of a conversation that has none yet count from. */
  startedAt: number;
  /** In the order they were spoken. */
  pieces: Piece[];
  /** They were said in this conversation, though it may be over by now: it is then processed once more. */
  late?: boolean;
}

export interface Connected {
  conversation: Conversation;
  streams: [Stream, ...Stream[]];
}

/** What lists show. */
const SHOWN = {
  statuses: ['completed'],
  discarded: false,
  locked: false,
} satisfies Partial<ConversationFilter>;
/** That a search looks at. */
const MAX_PASSAGES = 1000;

/** Inclusive bounds of when they were made. */
type Span = Pick<ConversationFilter, 'createdFrom' | 'createdTo'>;

export interface Found {
  conversation: Conversation;
  /** A few sentences of it. */
  passage: string;
}

type Result =
  | { status: 'completed'; structured: Structured }
  | { status: 'completed'; discarded: true }
  | { status: 'failed' };

export type Conversations = ReturnType<typeof createConversations>;

/** The only writer of conversations, segments and streams. Events are told after the commit. */
export function createConversations({
  storage,
  clock,
  events,
  jobs,
}: {
  storage: Storage;
  clock: Clock;
  events: EventBus;
  /** Says that there is a job that was not there, or is due earlier than it was. */
  jobs: { poke(): void };
}) {
  /**
   * The open conversation of this source and device, its language and timeout brought up to date, else a new one. One
   * whose silence is over already (nobody ran to end it) is ended first.
   */
  async function open(request: OpenRequest): Promise<Conversation> {
    const now = clock.now();
    const { conversation, end } = await storage.transaction('open conversation', tx =>
      openIn(tx, request, now),
    );
    announce(end);
    jobs.poke();
    return conversation;
  }

  /**
   * What a live connection begins with: its open conversation, and the row of its stream, one for each channel. A
   * stream that the client names again goes on in the conversation it was in, while that is open: the client has more
   * of it.
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
    jobs.poke();
    return { conversation: opened.conversation, streams };
  }

  /**
   * Stores what was said, and in the same transaction how far its stream has come. Answers the segments that are new
   * or have changed. Without pieces it only moves the stream on, which is no activity. A stream that is further
   * already has had these pieces stored by another connection: then nothing is written and `[]` answered.
   * `conflict` when the conversation is over, or gone: it was empty when it ended. What comes late is stored in one
   * that is over, too; while that is being processed it waits, at most 5 s: `unavailable` past that.
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
    const segments = await storage.transaction('append segments', async tx => {
      const fresh = await advance(tx, request);
      return fresh && pieces.length > 0 ? store(tx, { ...request, pieces }, now) : [];
    });
    if (request.late) jobs.poke();
    if (segments.length > 0)
      events.emit('segments', { userId: request.userId, conversationId: request.conversationId, segments });
    return segments;
  }

  /** Speech was heard, transcribed or not: the silence begins anew. */
  async function touch(userId: string, conversationId: string): Promise<void> {
    await storage.conversations.update(
      userId,
      conversationId,
      { lastActivityAt: clock.now() },
      'in_progress',
    );
  }

  /** Ends it now; one without a segment is removed. Resolves to whether this call ended it. */
  async function finish(userId: string, conversationId: string): Promise<boolean> {
    return endIf(userId, conversationId, () => true);
  }

  /** Ends it if its silence is over. Resolves to whether this call did. */
  async function finishIfSilent(userId: string, conversationId: string): Promise<boolean> {
    const now = clock.now();
    return endIf(userId, conversationId, conversation => silenceEnd(conversation) <= now);
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

  function announce(end: End | null): void {
    if (!end) return;
    events.emit(end.event, { userId: end.userId, conversationId: end.conversationId });
    if (end.event === 'conversation.processing') jobs.poke();
  }

  /** Stores what the pipeline made of it. Resolves to whether this call did: a second run changes nothing. */
  async function complete(userId: string, conversationId: string, structured: Structured): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'completed', structured });
  }

  /** Nothing was said in it: it is over without a structure. Resolves to whether this call did it. */
  async function discard(userId: string, conversationId: string): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'completed', discarded: true });
  }

  /** The pipeline gave up; the transcript stays. Resolves to whether this call did it. */
  async function fail(userId: string, conversationId: string): Promise<boolean> {
    return conclude(userId, conversationId, { status: 'failed' });
  }

  async function conclude(userId: string, conversationId: string, result: Result): Promise<boolean> {
    const conversation = await storage.transaction('conclude conversation', async tx => {
      const current = await tx.conversations.get(userId, conversationId);
      const last = await tx.segments.last(userId, conversationId);
      const finishedAt = current?.finishedAt ?? endOfSpeech(current, last);
      const filed = current && (await filedIn(tx, current, result, clock.now()));
      const patch = { ...withTitle(result, current), ...filed, finishedAt };
      const changed = await tx.conversations.update(userId, conversationId, patch, 'processing');
      if (!current || !changed) return null;
      const concluded = { ...current, ...patch };
      await indexIn(tx, concluded);
      if (concluded.status === 'completed' && !concluded.discarded) {
        await tellOfConversationIn(tx, concluded, clock.now());
        await lookAtDayIn(tx, userId, clock.now());
      }
      return concluded;
    });
    if (!conversation) return false;
    jobs.poke();
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
      const isWaited = patienceMs > 0 && (await get(userId, id))?.status === 'processing';
      if (isWaited) await end.wait(patienceMs);
    } finally {
      end.close();
    }
    const stored = await storage.conversations.get(userId, id);
    return stored
      ? { id, status: stored.status, discarded: stored.discarded }
      : { id, status: 'deleted', discarded: true };
  }

  /** Changes what its owner may change. `not_found` where it, or the folder, is not there; `locked`. */
  async function edit(userId: string, id: string, changes: ConversationEdit): Promise<Conversation> {
    return storage.transaction('edit conversation', tx => editIn(tx, userId, id, changes));
  }

  /** Deletes it for good, also while it goes on: what is said then begins another. `not_found`, `locked`. */
  async function remove(userId: string, id: string): Promise<void> {
    await storage.transaction('delete conversation', tx => removeIn(tx, userId, id, clock.now()));
    announce({ event: 'conversation.dropped', userId, conversationId: id });
  }

  /**
   * Changes what a segment says, or who said it; another text is processed once more. `not_found`, `locked`, and, for a
   * text while it is processed, `unavailable`.
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
    jobs.poke();
    events.emit('segments', { userId, conversationId: id, segments: [segment] });
  }

  /** Two conversations that are over become this one, which is processed again; the other one is gone. */
  async function merge(userId: string, id: string, other: string): Promise<void> {
    await storage.transaction('merge conversations', tx => mergeIn(tx, { userId, id }, other, clock.now()));
    announce({ event: 'conversation.processing', userId, conversationId: id });
    announce({ event: 'conversation.dropped', userId, conversationId: other });
  }

  /** What was said from this segment on becomes a conversation of its own, which is answered; both are processed again. */
  async function split(userId: string, id: string, segmentId: string): Promise<Conversation> {
    const part = await storage.transaction('split conversation', tx =>
      splitIn(tx, { userId, id }, segmentId, clock.now()),
    );
    for (const conversationId of [id, part.id])
      announce({ event: 'conversation.processing', userId, conversationId });
    return part;
  }

  /** The user's conversation of this id, whatever its status; null also for what is no id, or someone else's. */
  async function get(userId: string, id: string): Promise<Conversation | null> {
    return isId(id) ? storage.conversations.get(userId, id) : null;
  }

  /** Newest first. */
  async function list(userId: string, filter: ConversationFilter): Promise<Conversation[]> {
    if (filter.folderId !== undefined && !isId(filter.folderId)) return [];
    return storage.conversations.list(userId, filter);
  }

  /**
   * Conversations with words of the text, in title, overview or transcript, best first, each with the passage that fits
   * best. It looks at the best 1000 passages.
   */
  async function search(
    userId: string,
    text: string,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<Found[]> {
    const best = await bestPassages(userId, text);
    const ids = [...best.keys()].slice(offset, offset + limit);
    const shown = await shownOf(userId, ids);
    return ids.flatMap(id => foundIn(shown, id, best.get(id)));
  }

  /** The same of those that were made in a span of time, maybe with discarded ones; and how many there are in all. */
  async function searchWithin(
    userId: string,
    text: string,
    {
      limit,
      offset,
      withDiscarded,
      ...span
    }: Span & { withDiscarded: boolean; limit: number; offset: number },
  ): Promise<{ total: number; found: Found[] }> {
    const best = await bestPassages(userId, text, withDiscarded);
    const shown = await shownOf(userId, [...best.keys()], span, withDiscarded);
    const ids = [...best.keys()].filter(id => shown.has(id));
    const found = ids.slice(offset, offset + limit).flatMap(id => foundIn(shown, id, best.get(id)));
    return { total: ids.length, found };
  }

  /** By conversation, the best first. */
  async function bestPassages(userId: string, text: string, discarded = false): Promise<Map<string, string>> {
    const all = await storage.passages.match(userId, text, MAX_PASSAGES, { discarded });
    const best = new Map<string, string>();
    for (const passage of all)
      if (!best.has(passage.conversationId)) best.set(passage.conversationId, passage.text);
    return best;
  }

  /** Passages with words of the text, best first, maybe several of one conversation. At most 1000. */
  async function passages(userId: string, text: string, limit: number): Promise<Found[]> {
    const found = await storage.passages.match(userId, text, limit);
    const shown = await shownOf(userId, [...new Set(found.map(passage => passage.conversationId))]);
    return found.flatMap(passage => foundIn(shown, passage.conversationId, passage.text));
  }

  async function shownOf(
    userId: string,
    ids: string[],
    span: Span = {},
    withDiscarded = false,
  ): Promise<Map<string, Conversation>> {
    if (ids.length === 0) return new Map();
    const { discarded, ...shown } = SHOWN;
    const filter = { ...shown, ...(withDiscarded ? {} : { discarded }), ...span };
    const rows = await storage.conversations.list(userId, { ...filter, ids, limit: ids.length, offset: 0 });
    return new Map(rows.map(conversation => [conversation.id, conversation]));
  }

  /** What to call the speaker of a segment: the owner, a known person, else a number. */
  async function speakerNames(owner: User): Promise<(segment: Segment) => string> {
    const people = new Map((await storage.people.list(owner.id)).map(person => [person.id, person.name]));
    return segment =>
      (segment.isUser ? owner.name : people.get(segment.personId ?? '')) ?? `Speaker ${segment.speakerId}`;
  }

  /** In their order, with the number of conversations in each, discarded ones left out. Makes none. */
  async function folders(userId: string): Promise<{ folders: Folder[]; counts: Map<string, number> }> {
    const [folders, counts] = await Promise.all([
      storage.folders.list(userId),
      storage.folders.counts(userId),
    ]);
    return { folders, counts };
  }

  /** The names of the user's folders, by id. */
  async function folderNames(userId: string): Promise<Map<string, string>> {
    return new Map((await storage.folders.list(userId)).map(folder => [folder.id, folder.name]));
  }

  return {
    open,
    connect,
    append,
    touch,
    finish,
    finishIfSilent,
    complete,
    discard,
    fail,
    importSegments,
    /** The same of a text: stores it and waits for its structure. */
    importText: (request: TextRequest): Promise<Imported> => importSegments(fromText(request, clock.now())),
    /** The same, for who does not want to know what comes of it. */
    async storeText(request: TextRequest): Promise<void> {
      await importSegments(fromText(request, clock.now()), 0);
    },
    edit,
    remove,
    correct,
    merge,
    split,
    folders,
    folderNames,
    /** Moves a stream on through silence. Resolves to whether it had not come further already. */
    advance: (userId: string, streamId: string, progress: StreamProgress): Promise<boolean> =>
      storage.streams.advance(userId, streamId, progress),
    /** Says when sample 0 of a stream was recorded (epoch ms). */
    anchor: (userId: string, streamId: string, at: number): Promise<void> =>
      storage.streams.update(userId, streamId, { anchorAt: at }),
    get,
    /** The row of a stream. */
    stream: (userId: string, id: string): Promise<Stream | null> => storage.streams.get(userId, id),
    list,
    search,
    searchWithin,
    passages,
    /** Of several conversations at once, by start. */
    segments: async (userId: string, conversationIds: string[]): Promise<Segment[]> =>
      conversationIds.length === 0 ? [] : storage.segments.list(userId, conversationIds),
    speakerNames,
  };
}

/** None where it has just gone. */
function foundIn(shown: Map<string, Conversation>, id: string, passage = ''): Found[] {
  const conversation = shown.get(id);
  return conversation ? [{ conversation, passage }] : [];
}

async function store(tx: Stores, request: AppendRequest, now: number): Promise<Segment[]> {
  const { userId, conversationId } = request;
  const conversation = await tx.conversations.get(userId, conversationId);
  const startedAt = conversation?.startedAt ?? Math.round(request.startedAt);
  const patch = { startedAt, lastActivityAt: now };
  if (!(await tx.conversations.update(userId, conversationId, patch, 'in_progress'))) {
    if (!request.late || !conversation)
      throw new AppError('conflict', 'The conversation is over: nothing can be added to it.');
    await reopenIn(tx, conversation, now);
  }
  const last = await tx.segments.last(userId, conversationId);
  const segments = addPieces({ userId, conversationId, startedAt, last, now }, request.pieces);
  await tx.segments.upsert(segments);
  return segments;
}

/** Where it belongs by its category, unless its owner has filed or discarded it. */
async function filedIn(tx: Stores, conversation: Conversation, result: Result, now: number) {
  const { userId, folderId, discarded } = conversation;
  if (!('structured' in result) || folderId !== null || discarded) return {};
  return { folderId: await folderFor(tx, userId, result.structured.category, now) };
}

/** A title that its owner gave it stays. */
function withTitle(result: Result, conversation: Conversation | null): Result {
  if (!('structured' in result) || !conversation?.structured.titled) return result;
  const { title, titled } = conversation.structured;
  return { ...result, structured: { ...result.structured, title, titled } };
}

function endOfSpeech(conversation: Conversation | null, last: Segment | null): number | null {
  return conversation?.startedAt == null || !last ? null : conversation.startedAt + toMs(last.end);
}

function toMs(seconds: number): number {
  return Math.round(seconds * 1000);
}
