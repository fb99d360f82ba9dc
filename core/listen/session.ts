import type { Conversations } from '../domain/conversations.ts';
import type { EventBus } from '../events.ts';
import type { Log } from '../log.ts';
import type { ListenMetrics } from '../metrics.ts';
import type { Clock, StreamProgress } from '../model.ts';
import type { VadProvider } from '../plugin.ts';
import type { Aside } from './aside.ts';
import type { Claim } from './backlog.ts';
import { cutBy } from './cut.ts';
import { createHearing, type Hearing } from './hearing.ts';
import type { Inbox } from './inbox.ts';
import { createIntake } from './intake.ts';
import type { Connection } from './parameters.ts';
import { playHeld } from './playback.ts';
import { acknowledge, createProgress } from './progress.ts';
import type { Recogniser, RecogniserEvents } from './recogniser.ts';
import type { HeldStream, Spool } from './spool.ts';
import { createSuggestions } from './suggestions.ts';
import { createTasks } from './tasks.ts';
import { createThread, type Send, type Thread } from './thread.ts';
import { createTranscriber } from './transcriber.ts';

export interface SessionDeps {
  conversations: Conversations;
  events: EventBus;
  metrics: ListenMetrics;
  spool: Spool;
  aside: Aside;
  /** Nobody else works on this stream until the claim is released. */
  claim(streamId: string): Promise<Claim>;
  vad(): VadProvider;
  recogniser(connection: Connection, signal: AbortSignal, events: RecogniserEvents): Recogniser;
  clock: Clock;
  log: Log;
  /** Speech that may wait for the recogniser in memory, in bytes; past it what is held stays on disk. */
  maxQueuedBytes: number;
}

/**
 * While audio comes, silence is counted in the stream's own time: the conversation's wall clock is set back this often,
 * or four times a timeout.
 */
const TOUCH_MS = 5000;

/**
 * One live connection from its first message to its last stored word, in three parts that run side by side: messages
 * into the spool; what is held there to the hearing; what was heard to text, by way of the recogniser. Resolves when
 * the client has gone and all it said is stored; throws what ended it before, a `Refusal` where it is to see a close
 * code. What is not stored then stays in the spool.
 * @param halt aborts at once
 */
export async function runSession(
  connection: Connection,
  inbox: Inbox,
  send: Send,
  deps: SessionDeps,
  halt: AbortSignal,
): Promise<void> {
  const ending = cutBy(halt);
  const { signal } = ending;
  const opened = await greet(connection, send, deps);
  const { held, stream } = opened;
  const letGo = () => {
    held.close();
    opened.claim.release();
  };
  const parts = await openParts({ connection, send, signal, ...opened }, deps).catch(error => {
    letGo();
    throw error;
  });
  const { hearing, intake, playback, recogniser, tasks, thread, transcriber } = parts;
  const stopTouching = keepAlive(connection, hearing, thread, deps.log);
  /** What has come already is still held. */
  const abandon = () => {
    inbox.end();
    held.end();
    tasks.clear();
  };
  signal.addEventListener('abort', abandon);
  if (signal.aborted) abandon(); // while it was being set up
  const guard = (part: Promise<void>) =>
    part.catch(error => {
      ending.abort(error);
      throw error;
    });
  const ends = await Promise.allSettled([intake.run(inbox), playback(), transcriber.run(tasks)].map(guard));
  stopTouching();
  thread.close();
  hearing.close();
  await recogniser.close();
  letGo();
  deps.log.info({ ...hearing.counts, ...intake.counts, stream: stream.id }, 'stream closed');
  const failure = ends.find(end => end.status === 'rejected');
  if (failure && !halt.aborted) throw failure.reason;
}

type Opened = Awaited<ReturnType<Conversations['connect']>> & { held: HeldStream; claim: Claim };

async function greet(
  connection: Connection,
  send: Send,
  { conversations, spool, ...deps }: SessionDeps,
): Promise<Opened> {
  send({ type: 'service_status', status: 'initiating', status_text: 'Service starting' });
  let opened = await conversations.connect(connection);
  const claim = await deps.claim(opened.stream.id);
  if (claim.wasWorking) opened = await conversations.connect(connection);
  const { conversation, stream } = opened;
  const held = spool.open(stream, stream.received);
  send({
    type: 'conversation_session',
    conversation_id: conversation.id,
    status: conversation.status,
    ...(connection.stream === null ? {} : { received: held.durable }),
  });
  return { conversation, stream, held, claim };
}

/** Everything that has a part in this connection, joined by the tasks; nothing runs yet. */
async function openParts(
  given: Opened & { connection: Connection; send: Send; signal: AbortSignal },
  { conversations, events, metrics, clock, log, ...deps }: SessionDeps,
) {
  const { connection, conversation, stream, held, send, signal } = given;
  const tasks = createTasks();
  const hearing = await createHearing({
    connection,
    stored: stream,
    vad: deps.vad(),
    now: () => clock.now(),
    metrics,
    maxQueuedBytes: deps.maxQueuedBytes,
    signal,
    onUtterance: tasks.utterance,
    onSilence: tasks.silence,
    onAnchor: at => conversations.anchor(connection.userId, stream.id, at),
  });
  const recogniser = deps.recogniser(connection, signal, {
    onLost(error) {
      metrics.lost();
      send({ type: 'service_status', status: 'stt_initiating', reason: error.code });
    },
    onBack: provider => send({ type: 'service_status', status: 'ready', provider }),
  });
  const streamId = stream.id;
  const thread = createThread({
    conversations,
    events,
    metrics,
    connection,
    streamId,
    first: conversation,
    firstSample: hearing.startSample,
    timeOf: hearing.timeOf,
    send,
    onEnded: tasks.renew,
  });
  const ack = acknowledge(connection, held.durable, send);
  held.onSynced(() => ack(held.durable, hearing.samplesBelow(held.durable)));
  const onStored = ({ received, receivedSample }: StreamProgress) => {
    held.settle(received);
    ack(received, receivedSample);
  };
  const progress = createProgress({ connection, streamId, conversations, hearing, thread, clock, onStored });
  const suggestions = createSuggestions({ hearing, progress, readyAt: clock.now() });
  const shared = { connection, hearing, thread, progress, send, signal };
  const intake = createIntake({ ...shared, held, suggestions, clock });
  const playback = () => playHeld({ ...shared, held, stored: stream, tasks });
  const transcriber = createTranscriber({ ...shared, streamId, recogniser, aside: deps.aside, metrics, log });
  return { hearing, intake, playback, recogniser, tasks, thread, transcriber };
}

function keepAlive({ timeoutMs }: Connection, hearing: Hearing, thread: Thread, log: Log): () => void {
  const timer = setInterval(
    () => {
      if (hearing.isAlive())
        thread.touch().catch(error => log.warn({ err: error }, 'could not keep it alive'));
    },
    Math.min(timeoutMs / 4, TOUCH_MS),
  );
  return () => clearInterval(timer);
}
