import { SAMPLE_RATE } from '../audio/pcm.ts';
import type { Conversations, Piece } from '../domain/conversations.ts';
import { outcomeOf, toAppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import type { Log } from '../log.ts';
import type { Clock, StreamProgress } from '../model.ts';
import type { VadProvider } from '../plugin.ts';
import { cutBy } from './cut.ts';
import { createHearing, type Pending } from './hearing.ts';
import type { Inbox } from './inbox.ts';
import { type Connection, Refusal } from './parameters.ts';
import { CLOSE, ClientMessage, KEEP_ALIVE_BYTES, type SuggestedSegment } from './protocol.ts';
import { createQueue } from './queue.ts';
import type { Recogniser, RecogniserEvents } from './recogniser.ts';
import { createThread, type Send } from './thread.ts';

export interface SessionDeps {
  conversations: Conversations;
  events: EventBus;
  vad(): VadProvider;
  recogniser(connection: Connection, signal: AbortSignal, events: RecogniserEvents): Recogniser;
  clock: Clock;
  log: Log;
  /** Speech that may wait for the recogniser, in bytes; past it no more audio is taken in. */
  maxQueuedBytes: number;
}

/** Progress through silence is stored at most this often: a client that asked for `ack` waits for it. */
const PROGRESS_MS = { ack: 1000, plain: 10_000 };
/**
 * While audio comes, silence is counted in the stream's own time: the conversation's wall clock is set back this often,
 * or four times a timeout.
 */
const TOUCH_MS = 5000;

type Task = { kind: 'utterance'; entry: Pending } | { kind: 'finish' } | { kind: 'renew' };

/**
 * One live connection from its first message to its last stored word. Two loops run side by side: messages in, text
 * out; a queue of tasks joins them, so that a conversation ends exactly between two utterances. Resolves when the
 * client has gone and all it said is stored; throws what ended it before, a `Refusal` where it is to see a close code.
 * @param halt aborts at once: what is not stored yet is left to whoever resumes the stream
 */
export async function runSession(
  connection: Connection,
  inbox: Inbox,
  send: Send,
  deps: SessionDeps,
  halt: AbortSignal,
): Promise<void> {
  const { conversations, clock, log } = deps;
  const { userId } = connection;
  const ending = cutBy(halt);
  const { signal } = ending;

  send({ type: 'service_status', status: 'initiating', status_text: 'Service starting' });
  const { conversation, stream } = await conversations.connect(connection);
  send({
    type: 'conversation_session',
    conversation_id: conversation.id,
    status: conversation.status,
    ...(connection.stream === null ? {} : { received: stream.received }),
  });

  const tasks = createQueue<Task>();
  let ignored = 0;
  let acknowledged = stream.received;
  let storedAt = clock.now();
  let readyAt = clock.now();
  const hearing = await createHearing({
    connection,
    stored: stream,
    vad: deps.vad(),
    now: () => clock.now(),
    maxQueuedBytes: deps.maxQueuedBytes,
    signal,
    onUtterance: entry => tasks.push({ kind: 'utterance', entry }),
    onSilence: pushFinish,
    onAnchor: at => conversations.anchor(userId, stream.id, at),
  });
  const recogniser = deps.recogniser(connection, signal, {
    onLost: error => send({ type: 'service_status', status: 'stt_initiating', reason: error.code }),
    onBack: provider => send({ type: 'service_status', status: 'ready', provider }),
  });
  const thread = createThread({
    conversations,
    events: deps.events,
    connection,
    streamId: stream.id,
    first: conversation,
    firstSample: hearing.startSample,
    timeOf: hearing.timeOf,
    send,
    onEnded: () => tasks.push({ kind: 'renew' }),
  });
  const touching = setInterval(
    () => {
      if (hearing.isAlive())
        thread.touch().catch(error => log.warn({ err: error }, 'could not keep it alive'));
    },
    Math.min(connection.timeoutMs / 4, TOUCH_MS),
  );

  /** Ending twice in a row is ending once: a client may ask as often as it likes. */
  function pushFinish() {
    if (tasks.last?.kind !== 'finish') tasks.push({ kind: 'finish' });
  }

  async function takeIn() {
    for await (const message of inbox) {
      if (message === 'quiet') await hearing.flush();
      else if (!message.binary) await takeText(message.bytes);
      else if (message.bytes.length > KEEP_ALIVE_BYTES) await hearing.take(message.bytes);
      await storeSilence();
    }
    if (signal.aborted) return;
    await hearing.flush();
    tasks.end();
  }

  async function takeText(bytes: Buffer) {
    const json = parseJson(bytes);
    const message = ClientMessage.safeParse(json);
    if (message.success) return obey(message.data);
    if (hasUnknownType(json)) ignored += 1;
    else send({ type: 'error', code: 'invalid_message', message: 'This is no message of this interface' });
  }

  async function obey(message: ClientMessage) {
    if (message.type === 'gap') return hearing.gap(message.ms);
    if (message.type === 'finish_conversation') {
      if (connection.customStt) return thread.finish(); // suggestions do not pass through the tasks
      await hearing.flush();
      return pushFinish();
    }
    if (connection.customStt) return storeSuggestion(message.stt_provider, message.segments);
    send({
      type: 'error',
      code: 'invalid_message',
      message: 'suggested_transcript needs custom_stt=enabled',
    });
  }

  /** Suggested times count from the connection's first audio sample, or without audio from `ready`. */
  async function storeSuggestion(sttProvider: string, segments: SuggestedSegment[]) {
    if (segments.length === 0) return;
    await hearing.begin(readyAt);
    const zero = hearing.timeOf(hearing.startSample);
    const pieces = segments.map(segment => ({
      text: segment.text,
      startAt: zero + segment.start * 1000,
      endAt: zero + segment.end * 1000,
      speaker: segment.speaker,
      isUser: segment.is_user,
      sttProvider,
    }));
    const firstStart = Math.min(...segments.map(({ start }) => start));
    await store(pieces, hearing.startSample + Math.floor(firstStart * SAMPLE_RATE));
  }

  async function giveOut() {
    await getReady();
    for await (const task of tasks) {
      if (task.kind === 'finish') await thread.finish();
      else if (task.kind === 'renew') await thread.ensure(hearing.position);
      else await transcribe(task.entry);
    }
    if (!signal.aborted) await storeProgress(); // the end is silence, and a client that comes back need not send it
  }

  async function getReady() {
    readyAt = clock.now();
    if (connection.customStt) return send({ type: 'service_status', status: 'ready', status_text: 'Ready' });
    send({ type: 'service_status', status: 'stt_initiating', status_text: 'Recogniser starting' });
    const provider = await recogniser.open().catch(sttFailed);
    const wish = connection.sttService;
    const fallback = wish !== null && wish !== provider ? { reason: `fallback_from_${wish}` } : {};
    send({ type: 'service_status', status: 'ready', status_text: 'Ready', provider, ...fallback });
  }

  async function transcribe(entry: Pending) {
    const { utterance } = entry;
    await thread.ensure(utterance.startSample);
    await thread.touch();
    for await (const { piece, provider } of heard(utterance)) {
      entry.committed = piece.endSample;
      const startAt = hearing.timeOf(piece.startSample);
      const endAt = hearing.timeOf(piece.endSample);
      const speaker = piece.speaker ?? 'SPEAKER_00';
      await store(
        [{ text: piece.text, startAt, endAt, speaker, sttProvider: provider }],
        utterance.startSample,
      );
      utterance.release(piece.endSample);
    }
    hearing.settle(entry);
    await storeProgress();
  }

  /** Only the recogniser's own failures are told as such: what fails in storing a piece does not pass through here. */
  async function* heard(utterance: Pending['utterance']) {
    try {
      yield* recogniser.transcribe(utterance);
    } catch (error) {
      sttFailed(error);
    }
  }

  async function store(pieces: Piece[], sample: number) {
    const progress = hearing.progress();
    await thread.write(pieces, progress, sample);
    tellStored(progress);
  }

  async function storeProgress() {
    const progress = hearing.progress();
    await conversations.advance(userId, stream.id, progress);
    tellStored(progress);
  }

  async function storeSilence() {
    const every = connection.ack ? PROGRESS_MS.ack : PROGRESS_MS.plain;
    if (hearing.waiting === 0 && clock.now() - storedAt >= every) await storeProgress();
  }

  function tellStored({ received, receivedSample }: StreamProgress) {
    storedAt = clock.now();
    if (!connection.ack || received === acknowledged) return;
    acknowledged = received;
    send({ type: 'ack', messages: received, samples: receivedSample });
  }

  function sttFailed(thrown: unknown): never {
    signal.throwIfAborted();
    if (thrown instanceof Refusal) throw thrown;
    const error = toAppError(thrown, 'upstream_error');
    log.error({ err: error }, 'no recogniser is left for this connection');
    const { message, retryable } = error;
    const outcome = outcomeOf(error);
    send({
      type: 'service_status',
      status: 'stt_failed',
      status_text: message,
      outcome,
      retryable,
      reason: message,
    });
    throw new Refusal(CLOSE.failed, 'stt_failed');
  }

  const abandon = () => {
    inbox.clear();
    tasks.clear();
  };
  signal.addEventListener('abort', abandon);
  if (signal.aborted) abandon(); // while it was being set up
  const guard = (loop: Promise<void>) =>
    loop.catch(error => {
      ending.abort(error);
      throw error;
    });
  const loops = await Promise.allSettled([guard(takeIn()), guard(giveOut())]);
  clearInterval(touching);
  thread.close();
  hearing.close();
  await recogniser.close();
  log.info({ ...hearing.counts, ignored, stream: stream.id }, 'stream closed');
  const failure = loops.find(loop => loop.status === 'rejected');
  if (failure && !halt.aborted) throw failure.reason;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const KNOWN_TYPES: ReadonlySet<unknown> = new Set(
  ClientMessage.options.map(option => option.shape.type.value),
);

/** Newer clients may say more than we know; that is no error. */
function hasUnknownType(json: unknown): boolean {
  if (typeof json !== 'object' || json === null || !('type' in json)) return false;
  return typeof json.type === 'string' && !KNOWN_TYPES.has(json.type);
}
