import type { Clock, User } from '../contract/model.ts';
import type { VadProvider } from '../contract/plugin.ts';
import type { Connected, Conversations } from '../domain/conversations/conversations.ts';
import type { Listening } from '../domain/privacy/listening.ts';
import type { Clips } from '../domain/speech/clips.ts';
import type { Voices } from '../domain/speech/voices.ts';
import { linkedAbort } from '../runtime/deadline.ts';
import type { EventBus } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';
import type { ListenMetrics } from '../runtime/metrics.ts';
import { createPace } from '../runtime/pace.ts';
import type { Claim } from './backlog.ts';
import { type Channel, openChannel, openInputs } from './channel/channel.ts';
import { type Channels, joinChannels } from './channel/channels.ts';
import { playHeld } from './channel/playback.ts';
import { createSettling, settledOf } from './channel/progress.ts';
import { createSilence, type Silence } from './channel/silence.ts';
import { createSuggestions } from './channel/suggestions.ts';
import type { OpenImages } from './connection/images.ts';
import type { Inbox } from './connection/inbox.ts';
import { createIntake } from './connection/intake.ts';
import type { Connection } from './connection/parameters.ts';
import { openPause, type Pause } from './connection/pause.ts';
import { createSampleCount, type SampleCount } from './connection/sample-count.ts';
import { createService } from './connection/service.ts';
import type { LiveAudios } from './live-audio.ts';
import type { FinalPass } from './recogniser/final-pass.ts';
import type { Quarantine } from './recogniser/quarantine.ts';
import type { Recogniser, RecogniserEvents } from './recogniser/recogniser.ts';
import { nextInLine } from './scheduler.ts';
import { type HeldStream, isAudio, type Spool } from './spool/spool.ts';
import { createThread, type Send, type Thread } from './thread.ts';

export interface SessionDeps {
  conversations: Conversations;
  listening: Pick<Listening, 'watch'>;
  events: EventBus;
  metrics: ListenMetrics;
  spool: Spool;
  quarantine: Quarantine;
  /** Absent: the live recogniser's text stays. */
  finalPass?: FinalPass | undefined;
  /** Absent: voices are not told apart. */
  voices?: Voices | undefined;
  clips: Pick<Clips, 'areKept' | 'keep'>;
  /** Resolves when nothing else works on this stream; holds it until the claim is released. */
  claim(streamId: string): Promise<Claim>;
  vad(): VadProvider;
  /** Absent: images are not stored. */
  images?: OpenImages | undefined;
  /** Absent: audio is forwarded to no webhook. */
  audio?: LiveAudios | undefined;
  recogniser(connection: Connection, signal: AbortSignal, events: RecogniserEvents): Recogniser;
  clock: Clock;
  log: Log;
  /** Speech that may wait for the recogniser in memory, in bytes; more stays on disk. */
  maxQueuedBytes: number;
}

/** Client of a session. */
export interface Client {
  /** User of the connection; null: nobody is told. */
  owner: User | null;
  inbox: Inbox;
  send: Send;
  /** Charges the client for an expensive message; see `Pace`. */
  spend(tokens: number): Promise<void> | undefined;
  /** Reports an event of the connection's life. */
  on(event: 'audio' | 'ended'): void;
}

/** Stands for a client that is not connected. */
export const NOBODY: Client = {
  owner: null,
  inbox: { watchPauses() {}, end() {}, clear() {}, async *[Symbol.asyncIterator]() {} },
  send() {},
  spend: () => undefined,
  on() {},
};

/**
 * Interval at which the conversation's last activity is updated while audio arrives; at least four times per timeout.
 * Meanwhile silence is measured in the stream's own time.
 */
const TOUCH_MS = 5000;

/** Ends a session whose client disconnected, and may continue the stream in another connection. */
const BROKEN_OFF = new Error('The client has gone in the midst of speech');

/**
 * Runs one live connection from its first message to its last stored word, in parts that run side by side: messages go
 * to the spool, from there to the decoder and gate of their channel, and utterances go to text by way of the
 * recogniser. Resolves when the client has disconnected and everything is stored, except what it may still continue.
 * Throws what ended the session early, a `Refusal` where the client shall see a close code. Audio without text stays in
 * the spool.
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
  await nextInLine(); // one commit may have woken many sessions
  const { held, streams } = opened;
  let pause: Pause | null = null;
  const letGo = () => {
    pause?.close();
    held.close();
    opened.claim.release();
  };
  const open = async () => {
    pause = await openPause({ connection, send: client.send, ...deps });
    return openParts({ connection, client, ending, pause, ...opened }, deps);
  };
  const parts = await open().catch(error => {
    letGo();
    throw error;
  });
  const { all, channels, images, intake, live, playback, service, thread } = parts;
  const total = deps.metrics.streams(connection.format.codec);
  total.open += 1;
  const stopTouching = keepAlive(connection, parts, deps.log);
  /** Abandons the session; received audio stays in the spool. */
  const abandon = () => {
    client.inbox.end();
    held.end();
    for (const { tasks } of all) tasks.clear();
  };
  signal.addEventListener('abort', abandon);
  if (signal.aborted) abandon(); // aborted during set-up
  const ready = service.open(all.map(({ recogniser }) => recogniser));
  const transcribing = all.map(({ transcriber, tasks }) => ready.then(() => transcriber.run(tasks)));
  /** Finishes pending work, then ends with `BROKEN_OFF`. */
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
  /** Number of held messages, as told to the client. */
  received: number;
  /** Whether audio of an earlier connection is still held. */
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
  pause: Pause;
}

/** Creates the parts of a session and connects them; nothing runs yet. */
async function openParts(given: Given, deps: SessionDeps) {
  const { connection, conversation, streams, held, received, client, ending, pause } = given;
  const { conversations, events, metrics, clock, log } = deps;
  const { signal } = ending;
  const { send } = client;
  const silence = createSilence({ timeoutMs: connection.timeoutMs, onOver: () => channels.silence() });
  const service = createService({ connection, metrics, send, signal, log });
  const live = client === NOBODY ? null : (deps.audio?.open(connection, ...heardAs(streams)) ?? null);
  const inputs = await openInputs(given, silence, live, pause, deps);
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
  const samples = connection.ack ? await countHeld(given) : null;
  const onBroken = (error: Error) => ending.abort(error);
  const onStored = createSettling({ held, received, streams, samples, onBroken, send });
  const opened = inputs.map(input => openChannel({ ...given, ...input, service, thread, onStored }, deps));
  const all = opened as [Channel, ...Channel[]]; // one channel for each stream, at least one
  const onBad = () => {
    metrics.streams(connection.format.codec).badFrames += 1;
  };
  const channels = joinChannels({ all, thread, clock, send, signal, onBad });
  const suggestions = createSuggestions(channels, clock.now());
  const images =
    deps.images?.({
      ...{ userId: connection.userId, send, log },
      async place(told) {
        const heardAt = connection.recordedAt === null ? clock.now() : channels.reachedAt();
        const takenAt = Math.min(told ?? heardAt, clock.now());
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
    pause,
    client,
    clock,
  });
  const mayGoOn = connection.stream !== null && client !== NOBODY;
  const playback = () => playHeld({ held, settled: settledOf(streams), channels, mayGoOn, clock, signal });
  return { all, channels, images, intake, live, playback, service, silence, thread };
}

/**
 * Counts the samples that an earlier connection left. Acknowledgements state them, and do not wait until they are played.
 */
async function countHeld({ held, streams, connection }: Given): Promise<SampleCount> {
  const samples = createSampleCount({ ...connection, streams });
  const pace = createPace();
  for await (const entry of held.current()) {
    if (isAudio(entry)) samples.add(entry);
    await pace();
  }
  return samples;
}

/** Returns the id of the first channel's stream, and the numbers of all channels. */
function heardAs(streams: Opened['streams']): [string, number[]] {
  return [streams[0].id, streams.map(({ channel }) => channel)];
}

interface Living {
  channels: Channels;
  silence: Silence;
  thread: Thread;
}

/** Keeps the conversation open while speech is pending, or while audio arrives without a full silence. */
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
