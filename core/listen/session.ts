import type { Conversations } from '../domain/conversations.ts';
import type { EventBus } from '../events.ts';
import type { Log } from '../log.ts';
import type { ListenMetrics } from '../metrics.ts';
import type { Clock } from '../model.ts';
import type { VadProvider } from '../plugin.ts';
import { cutBy } from './cut.ts';
import { createHearing, type Hearing } from './hearing.ts';
import type { Inbox } from './inbox.ts';
import { createIntake } from './intake.ts';
import type { Connection } from './parameters.ts';
import { acknowledge, createProgress } from './progress.ts';
import type { Recogniser, RecogniserEvents } from './recogniser.ts';
import { createSuggestions } from './suggestions.ts';
import { createTasks } from './tasks.ts';
import { createThread, type Send, type Thread } from './thread.ts';
import { createTranscriber } from './transcriber.ts';

export interface SessionDeps {
  conversations: Conversations;
  events: EventBus;
  metrics: ListenMetrics;
  vad(): VadProvider;
  recogniser(connection: Connection, signal: AbortSignal, events: RecogniserEvents): Recogniser;
  clock: Clock;
  log: Log;
  /** Speech that may wait for the recogniser, in bytes; past it no more audio is taken in. */
  maxQueuedBytes: number;
}

/**
 * While audio comes, silence is counted in the stream's own time: the conversation's wall clock is set back this often,
 * or four times a timeout.
 */
const TOUCH_MS = 5000;

/**
 * One live connection from its first message to its last stored word, in two halves that run side by side: messages
 * in, by way of the hearing; text out, by way of the recogniser. A queue of tasks joins them. Resolves when the client
 * has gone and all it said is stored; throws what ended it before, a `Refusal` where it is to see a close code.
 * @param halt aborts at once: what is not stored yet is left to whoever resumes the stream
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
  const opened = await greet(connection, send, deps.conversations);
  const { hearing, intake, recogniser, tasks, thread, transcriber } = await openParts(
    { connection, send, signal, ...opened },
    deps,
  );
  const stopTouching = keepAlive(connection, hearing, thread, deps.log);
  const abandon = () => {
    inbox.clear();
    tasks.clear();
  };
  signal.addEventListener('abort', abandon);
  if (signal.aborted) abandon(); // while it was being set up
  const guard = (half: Promise<void>) =>
    half.catch(error => {
      ending.abort(error);
      throw error;
    });
  const halves = await Promise.allSettled([guard(intake.run(inbox)), guard(transcriber.run(tasks))]);
  stopTouching();
  thread.close();
  hearing.close();
  await recogniser.close();
  deps.log.info({ ...hearing.counts, ignored: intake.ignored, stream: opened.stream.id }, 'stream closed');
  const failure = halves.find(half => half.status === 'rejected');
  if (failure && !halt.aborted) throw failure.reason;
}

type Opened = Awaited<ReturnType<Conversations['connect']>>;

async function greet(connection: Connection, send: Send, conversations: Conversations): Promise<Opened> {
  send({ type: 'service_status', status: 'initiating', status_text: 'Service starting' });
  const { conversation, stream } = await conversations.connect(connection);
  send({
    type: 'conversation_session',
    conversation_id: conversation.id,
    status: conversation.status,
    ...(connection.stream === null ? {} : { received: stream.received }),
  });
  return { conversation, stream };
}

/** Everything that has a part in this connection, joined by the tasks; nothing runs yet. */
async function openParts(
  given: Opened & { connection: Connection; send: Send; signal: AbortSignal },
  { conversations, events, metrics, clock, log, ...deps }: SessionDeps,
) {
  const { connection, conversation, stream, send, signal } = given;
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
    onSilence: tasks.finish,
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
  const onStored = acknowledge(connection, stream.received, send);
  const progress = createProgress({ connection, streamId, conversations, hearing, thread, clock, onStored });
  const suggestions = createSuggestions({ hearing, progress, readyAt: clock.now() });
  const shared = { connection, hearing, thread, progress, send, signal };
  const intake = createIntake({ ...shared, suggestions, tasks });
  const transcriber = createTranscriber({ ...shared, recogniser, metrics, log });
  return { hearing, intake, recogniser, tasks, thread, transcriber };
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
