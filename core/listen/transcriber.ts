import { outcomeOf, toAppError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ListenMetrics } from '../metrics.ts';
import type { Aside } from './aside.ts';
import { cutBy } from './cut.ts';
import type { Hearing, Pending } from './hearing.ts';
import { meterUtterance } from './meters.ts';
import { type Connection, Refusal } from './parameters.ts';
import type { Progress } from './progress.ts';
import { CLOSE } from './protocol.ts';
import type { Recogniser } from './recogniser.ts';
import type { Tasks } from './tasks.ts';
import type { Send, Thread } from './thread.ts';

/** What goes out: tasks become text, stored and told. */
export interface Transcriber {
  /** Resolves when all tasks are done; throws a `Refusal` when no recogniser is left. */
  run(tasks: Tasks): Promise<void>;
}

interface TranscriberOptions {
  connection: Connection;
  streamId: string;
  hearing: Hearing;
  recogniser: Recogniser;
  aside: Aside;
  thread: Thread;
  progress: Progress;
  metrics: ListenMetrics;
  send: Send;
  signal: AbortSignal;
  log: Log;
}

export function createTranscriber(options: TranscriberOptions): Transcriber {
  const { connection, streamId, hearing, recogniser, aside, thread, progress } = options;
  const { metrics, send, signal, log } = options;

  async function getReady() {
    if (connection.customStt) return send({ type: 'service_status', status: 'ready', status_text: 'Ready' });
    send({ type: 'service_status', status: 'stt_initiating', status_text: 'Recogniser starting' });
    const provider = await recogniser.open().catch(sttFailed);
    const wish = connection.sttService;
    const fallback = wish !== null && wish !== provider ? { reason: `fallback_from_${wish}` } : {};
    send({ type: 'service_status', status: 'ready', status_text: 'Ready', provider, ...fallback });
  }

  async function transcribe(entry: Pending) {
    const { utterance } = entry;
    const meter = meterUtterance(metrics, entry);
    await thread.ensure(utterance.startSample);
    await thread.touch();
    for await (const { piece, provider } of heard(entry, meter.aside)) {
      const heardAt = metrics.now();
      entry.committed = piece.endSample;
      const startAt = hearing.timeOf(piece.startSample);
      const endAt = hearing.timeOf(piece.endSample);
      const speaker = piece.speaker ?? 'SPEAKER_00';
      await progress.write(
        [{ text: piece.text, startAt, endAt, speaker, sttProvider: provider }],
        utterance.startSample,
      );
      meter.sent(provider, heardAt);
      utterance.release(piece.endSample);
    }
    meter.done();
    aside.passed(streamId);
    hearing.settle(entry);
    await progress.store();
  }

  /** Only the recogniser's own failures are told as such: what fails in storing a piece does not pass through here. */
  async function* heard(entry: Pending, onAside: () => void) {
    try {
      yield* recogniser.transcribe(entry.utterance);
    } catch (error) {
      signal.throwIfAborted();
      if (recogniser.opened && (await isAside(entry))) return onAside();
      sttFailed(error);
    }
  }

  /** It may still be growing when the connection ends: then nobody waits for the rest of it. */
  async function isAside({ utterance, committed }: Pending) {
    const cut = cutBy(signal);
    return Promise.race([aside.failed(streamId, utterance, committed), cut.happened]).finally(cut.release);
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
      ...(recogniser.provider === null ? {} : { provider: recogniser.provider }),
      retryable,
      reason: message,
    });
    throw new Refusal(CLOSE.failed, 'stt_failed');
  }

  async function finish(asked: boolean) {
    const conversation_id = await thread.finish();
    if (asked) send({ type: 'conversation_finished', conversation_id });
  }

  return {
    async run(tasks) {
      await getReady();
      for await (const task of tasks) {
        if (task.kind === 'finish') await finish(task.asked);
        // What is heard next may begin before `position`: its first part is not judged yet, or waits.
        else if (task.kind === 'renew') await thread.ensure(hearing.progress().through);
        else await transcribe(task.entry);
      }
      if (!signal.aborted) await progress.store(); // the end is silence, and a client that comes back need not send it
    },
  };
}
