import type { Transcript, Utterance } from '../contract/plugin.ts';
import { numberOf, speakerOf } from '../domain/conversations/segments.ts';
import { languageOf, MULTI } from '../domain/languages.ts';
import type { Labelled, Labeller } from '../domain/speech/voices.ts';
import { orAborted } from '../runtime/deadline.ts';
import type { ListenMetrics } from '../runtime/metrics.ts';
import type { Voice } from './channel.ts';
import type { FinalPassOf } from './final-pass.ts';
import type { Hearing, Pending } from './hearing.ts';
import { meterUtterance } from './meters.ts';
import { samplesOf } from './piece-samples.ts';
import type { Progress } from './progress.ts';
import type { Quarantine } from './quarantine.ts';
import type { Recogniser } from './recogniser.ts';
import type { Service } from './service.ts';
import type { Tasks } from './tasks.ts';
import type { Thread } from './thread.ts';

/** Output of a channel: transcribes utterances, stores the text and reports it. */
export interface Transcriber {
  /** Resolves when all tasks are done; throws a `Refusal` when no recogniser is left. */
  run(tasks: Tasks): Promise<void>;
}

interface TranscriberOptions {
  /** Absent: the recogniser tells the speakers apart, or nobody does. */
  voice: Voice | undefined;
  streamId: string;
  /** Whether the audio was held before: the process may have died of its first utterance. */
  isReplay: boolean;
  hearing: Hearing;
  recogniser: Recogniser;
  quarantine: Quarantine;
  /** Has an utterance heard once more when it has ended. */
  finalPass: (() => FinalPassOf | null) | undefined;
  /** Tells the voices apart; null: nothing does. */
  labeller: Labeller | null;
  service: Service;
  thread: Thread;
  progress: Progress;
  metrics: ListenMetrics;
  signal: AbortSignal;
}

export function createTranscriber(options: TranscriberOptions): Transcriber {
  let { isReplay } = options;
  const { voice, streamId, hearing, recogniser, quarantine, finalPass, service, thread } = options;
  const { labeller, progress, metrics, signal } = options;

  async function transcribe(entry: Pending) {
    const { utterance } = entry;
    entry.reached.resolve();
    const beganAt = hearing.timeOf(utterance.startSample);
    const meter = meterUtterance(metrics, entry);
    await thread.ensure(beganAt);
    await thread.touch();
    const again = finalPass?.() ?? null;
    for await (const { piece, provider } of heard(entry, meter.quarantined)) {
      const heardAt = metrics.now();
      entry.committed = piece.endSample;
      const labelled = await label(utterance, piece);
      const segments = await progress.write([pieceOf(piece, provider, labelled)], beganAt);
      const last = segments.at(-1);
      if (labelled?.suggestion && last) thread.suggest(labelled.suggestion, last.id);
      meter.sent(provider, heardAt);
      if (again) again.heard(piece.text, provider, segments);
      else utterance.release(piece.endSample);
    }
    meter.done();
    await again?.end(utterance);
    await quarantine.passed(streamId);
    hearing.settle(entry);
    await progress.store();
  }

  /** Null: nobody tells voices apart, or the channel says whose it is. */
  async function label(utterance: Utterance, piece: Transcript): Promise<Labelled | null> {
    if (voice || !labeller) return null;
    const { id } = await thread.ensure(hearing.timeOf(piece.startSample));
    const own = piece.speaker === undefined ? null : numberOf(piece.speaker);
    return labeller.label(id, own, () => samplesOf(utterance, piece), signal);
  }

  function pieceOf(
    { text, startSample, endSample, speaker: own = 'SPEAKER_00', language }: Transcript,
    sttProvider: string,
    labelled: Labelled | null,
  ) {
    const speaker = labelled ? speakerOf(labelled.speakerId) : own;
    const startAt = hearing.timeOf(startSample);
    const endAt = hearing.timeOf(endSample);
    const heard = languageOf(language ?? '');
    const spoken = heard === null || heard === MULTI ? {} : { language: heard };
    const known = labelled?.voice ? { voice: labelled.voice } : {};
    return { text, startAt, endAt, speaker, sttProvider, ...spoken, ...known, ...voice };
  }

  /** Only the recogniser's own failures are told as such: what fails in storing a piece does not pass through here. */
  async function* heard(entry: Pending, onQuarantined: () => void) {
    const { utterance, committed } = entry;
    const isAgain = isReplay;
    isReplay = false;
    if (isAgain && (await orAborted(quarantine.again(streamId, utterance, committed), signal)))
      return onQuarantined();
    try {
      yield* recogniser.transcribe(utterance);
    } catch (error) {
      if (signal.aborted) await quarantine.spared(streamId);
      signal.throwIfAborted();
      if (recogniser.opened && (await isQuarantined(entry))) return onQuarantined();
      throw service.failed(error, recogniser.provider);
    }
  }

  /** It may still be growing when the connection ends: then nobody waits for the rest of it. */
  function isQuarantined({ utterance, committed }: Pending): Promise<boolean> {
    return orAborted(quarantine.failed(streamId, utterance, committed), signal);
  }

  return {
    async run(tasks) {
      for await (const task of tasks) {
        if (task.kind === 'utterance') await transcribe(task.entry);
        else await task.work();
      }
      if (!signal.aborted) await progress.store(); // the end is silence, and a client that comes back need not send it
    },
  };
}
