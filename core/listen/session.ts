import type { Clock, User } from '../contract/model.ts';
import type { VadProvider } from '../contract/plugin.ts';
import type { Connected, Conversations } from '../domain/conversations/conversations.ts';
import type { Voices } from '../domain/speech/voices.ts';
import type { EventBus } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';
import type { ListenMetrics } from '../runtime/metrics.ts';
import { linkedAbort } from './abort.ts';
import type { Claim } from './backlog.ts';
import { type Channel, openChannel, openInputs } from './channel.ts';
import { type Channels, joinChannels } from './channels.ts';
import type { FinalPass } from './final-pass.ts';
import type { OpenImages } from './images.ts';
import type { Inbox } from './inbox.ts';
import { createIntake } from './intake.ts';
import type { LiveAudios } from './live-audio.ts';
import type { Connection } from './parameters.ts';
import { playHeld } from './playback.ts';
import { createSettling, settledOf } from './progress.ts';
import type { Quarantine } from './quarantine.ts';
import type { Recogniser, RecogniserEvents } from './recogniser.ts';
import { createSampleCount } from './sample-count.ts';
import { nextInLine } from './scheduler.ts';
import { createService } from './service.ts';
import { createSilence, type Silence } from './silence.ts';
import type { HeldStream, Spool } from './spool/spool.ts';
import { createSuggestions } from './suggestions.ts';
import { createThread, type Send, type Thread } from './thread.ts';

export interface SessionDeps {
  conversations: Conversations;
  events: EventBus;
  metrics: ListenMetrics;
  spool: Spool;
  quarantine: Quarantine;
  /** Absent: what the live recogniser wrote stays. */
  finalPass?: FinalPass | undefined;
  /** Absent: voices are not told apart. */
  voices?: Voices | undefined;
  /** Nobody else works on this stream until the claim is released. */
  claim(streamId: string): Promise<Claim>;
  vad(): VadProvider;
  /** Absent: images are not kept. */
  images?: OpenImages | undefined;
  /** Absent: nobody else hears anything. */
  audio?: LiveAudios | undefined;
  recogniser(connection: Connection, signal: AbortSignal, events: RecogniserEvents): Recogniser;
  clock: Clock;
  log: Log;
  /** Speech that may wait for the recogniser in memory, in bytes; past it what is held stays on disk. */
  maxQueuedBytes: number;
}

/** Client at the other end, if any. */
export interface Client {
  /** The user of the connection; null: nobody is told. */
  owner: User | null;
  inbox: Inbox;
  send: Send;
  /** Charges it for a message that costs more than others; see `Pace`. */
  spend(tokens: number): Promise<void> | undefined;
  /** Reports an event in the life of the connection. */
  on(event: 'audio' | 'ended'): void;
}

/** A client that is not here. */
export const NOBODY: Client = {
  owner: null,
  inbox: { end() {}, clear() {}, async *[Symbol.asyncIterator]() {} },
  send() {},
  spend: () => undefined,
  on() {},
};

/**
 * While audio comes, silence is counted in the stream's own time: the conversation's wall clock is set back this often,
 * or four times a timeout.
 */
const TOUCH_MS = 5000;

/** Ends a connection whose client is gone, and may go on in another one where it broke off. */
const BROKEN_OFF = new Error('The client has gone in the midst of speech');

/**
 * One live connection from its first message to its last stored word, in parts that run side by side: messages into
 * the spool; what is held there to the hearing of its channel; what was heard in a channel to text, by way of its
 * recogniser. Resolves when the client has gone and all it said is stored, but for what it may go on with; throws what
 * ended it before, a `Refusal` where it is to see a close code. What is not stored then stays in the spool.
 * @param halt aborts at once
 */
export async function runSession(
  connection: Connection,
  client: Client,
  deps: SessionDeps,
  halt: AbortSignal,
): Promise<void> {
  const ending = linkedAbort(halt);
  const { signal } = ending;
  const opened = await greet(connection, client.send, deps);
  await nextInLine(); // many were told by one commit
  const { held, streams } = opened;
  const letGo = () => {
    held.close();
    opened.claim.release();
  };
  const parts = await openParts({ connection, client, ending, ...opened }, deps).catch(error => {
    letGo();
    throw error;
  });
  const { all, channels, images, intake, live, playback, service, thread } = parts;
  const total = deps.metrics.streams(connection.format.codec);
  total.open += 1;
  const stopTouching = keepAlive(connection, parts, deps.log);
  /** Abandons the session; received audio stays held. */
  const abandon = () => {
    client.inbox.end();
    held.end();
    for (const { tasks } of all) tasks.clear();
  };
  signal.addEventListener('abort', abandon);
  if (signal.aborted) abandon(); // while it was being set up
  const ready = service.open(all.map(({ recogniser }) => recogniser));
  const transcribing = all.map(({ transcriber, tasks }) => ready.then(() => transcriber.run(tasks)));
  /** All that is over is done first. */
  const breakOff = async () => {
    const parts = all.map(({ hearing }, i) => Promise.race([hearing.untilGrowing(), transcribing[i]]));
    await Promise.all(parts);
    ending.abort(BROKEN_OFF);
  };
  const playing = playback().then(isOpen => (isOpen ? breakOff() : undefined));
  await Promise.all(
    [intake.run(), playing, ...transcribing].map(part => part.catch(error => ending.abort(error))),
  );
  await images?.close();
  stopTouching();
  thread.close();
  total.open -= 1;
  live?.end();
  for (const { hearing } of all) hearing.close();
  await Promise.all(all.map(({ recogniser }) => recogniser.close()));
  letGo();
  deps.log.info({ ...channels.counts, ...intake.counts, stream: streams[0].id }, 'stream closed');
  if (signal.aborted && !halt.aborted && signal.reason !== BROKEN_OFF) throw signal.reason;
}

type Opened = Connected & {
  held: HeldStream;
  /** Number up to which messages are held, as told to the client. */
  received: number;
  /** Something is held that an earlier connection brought. */
  isReplay: boolean;
  claim: Claim;
};

async function greet(
  connection: Connection,
  send: Send,
  { conversations, spool, ...deps }: SessionDeps,
): Promise<Opened> {
  send({ type: 'service_status', status: 'initiating', status_text: 'Service starting' });
  let opened = await conversations.connect(connection);
  const claim = await deps.claim(opened.streams[0].id);
  if (claim.wasWorking) opened = await conversations.connect(connection);
  const { conversation, streams } = opened;
  const settled = settledOf(streams);
  const held = spool.open(streams[0], settled);
  const received = held.durable;
  send({
    type: 'conversation_session',
    conversation_id: conversation.id,
    status: conversation.status,
    ...(connection.stream === null ? {} : { received }),
  });
  return { conversation, streams, held, received, isReplay: held.next > settled, claim };
}

interface Given extends Opened {
  connection: Connection;
  client: Client;
  ending: ReturnType<typeof linkedAbort>;
}

/** Everything that has a part in this connection, joined by the tasks; nothing runs yet. */
async function openParts(given: Given, deps: SessionDeps) {
  const { connection, conversation, streams, held, received, client, ending } = given;
  const { conversations, events, metrics, clock, log } = deps;
  const { signal } = ending;
  const { send } = client;
  const silence = createSilence({ timeoutMs: connection.timeoutMs, onOver: () => channels.silence() });
  const service = createService({ connection, metrics, send, signal, log });
  const live = client === NOBODY ? null : (deps.audio?.open(connection, ...heardAs(streams)) ?? null);
  const inputs = await openInputs(given, silence, live, deps);
  const thread = createThread({
    conversations,
    events,
    metrics,
    connection,
    owner: client.owner,
    log,
    first: conversation,
    startedAt: () => channels.startedAt(),
    send,
    onEnded() {
      client.on('ended');
      all[0].tasks.renew(() => thread.ensure(channels.reachedAt()));
    },
  });
  const samples = createSampleCount({ ...connection, before: streamReached(streams) });
  const samplesBelow = (messages: number) => samples.below(messages);
  const onBroken = (error: Error) => ending.abort(error);
  const onStored = createSettling({
    ...{ ack: connection.ack, held, received, streams },
    ...{ samplesBelow, onBroken, send },
  });
  const opened = inputs.map(input => openChannel({ ...given, ...input, service, thread, onStored }, deps));
  const all = opened as [Channel, ...Channel[]]; // as many as streams
  const onBad = () => {
    metrics.streams(connection.format.codec).badFrames += 1;
  };
  const channels = joinChannels({ all, thread, clock, send, signal, onBad });
  const suggestions = createSuggestions(channels, clock.now());
  const images =
    deps.images?.({
      ...{ userId: connection.userId, send, log },
      async place() {
        const takenAt = connection.recordedAt === null ? clock.now() : channels.reachedAt();
        const { id: conversationId } = await thread.ensure(takenAt);
        silence.seen(channels.reachedAt());
        return { conversationId, takenAt };
      },
    }) ?? null;
  const intake = createIntake({
    images,
    connection,
    held,
    received,
    channels,
    samples,
    suggestions,
    thread,
    client,
    clock,
  });
  const firstNew = held.next;
  /** Until what an earlier connection left has been played, fewer samples are told than there are. */
  let isCounted = firstNew === settledOf(streams);
  const onPlay = (number: number) => {
    if (isCounted || number < firstNew) return;
    isCounted = true;
    samples.heardBefore(channels.samplesBelow(firstNew));
  };
  const mayGoOn = connection.stream !== null && client !== NOBODY;
  const playback = () =>
    playHeld({ held, settled: settledOf(streams), channels, onPlay, mayGoOn, clock, signal });
  return { all, channels, images, intake, live, playback, service, silence, thread };
}

/** Samples that are stored with their text, of the channel that is furthest. */
function streamReached(streams: Opened['streams']): number {
  return Math.max(...streams.map(({ receivedSample }) => receivedSample));
}

/** A stream by its first channel, and the numbers of all. */
function heardAs(streams: Opened['streams']): [string, number[]] {
  return [streams[0].id, streams.map(({ channel }) => channel)];
}

interface Living {
  channels: Channels;
  silence: Silence;
  thread: Thread;
}

/** While speech waits, or audio comes without a whole silence in it, the conversation lives. */
function keepAlive({ timeoutMs }: Connection, { channels, silence, thread }: Living, log: Log): () => void {
  const timer = setInterval(
    () => {
      const audioCame = channels.haveListened();
      if (channels.hasSpeech() || (audioCame && !silence.isOver))
        nextInLine()
          .then(thread.touch)
          .catch(error => log.warn({ err: error }, 'could not keep it alive'));
    },
    Math.min(timeoutMs / 4, TOUCH_MS),
  );
  return () => clearInterval(timer);
}
