import type { Transcript, Utterance } from '../../contract/plugin.ts';
import { numberOf, speakerOf } from '../../domain/conversations/segments.ts';
import { languageOf, MULTI } from '../../domain/languages.ts';
import type { Spoken } from '../../domain/speech/clips.ts';
import type { Labelled, Labeller } from '../../domain/speech/voices.ts';
import { orAborted } from '../../runtime/deadline.ts';
import type { ListenMetrics } from '../../runtime/metrics.ts';
import { createQueue } from '../../runtime/queue.ts';
import type { Service } from '../connection/service.ts';
import type { FinalPassOf } from '../recogniser/final-pass.ts';
import { type Span, samplesOf } from '../recogniser/pieces.ts';
import type { Quarantine } from '../recogniser/quarantine.ts';
import type { Recogniser } from '../recogniser/recogniser.ts';
import type { Thread } from '../thread.ts';
import type { Voice } from './channel.ts';
import { type EarlyVoice, listenEarly } from './early-voice.ts';
import type { Hearing, Pending } from './hearing.ts';
import { meterUtterance } from './meters.ts';
import type { Progress } from './progress.ts';

/** Task of a channel. Tasks run one after the other, so that a conversation ends exactly between two utterances. */
type Task =
  | { kind: 'utterance'; entry: Pending }
  /** The open conversation ends, or the next one opens. */
  | { kind: 'finish' | 'renew'; work(): Promise<unknown> };

export type Tasks = ReturnType<typeof createTasks>;

/** Creates the queue between the hearing and the transcriber. */
export function createTasks() {
  const queue = createQueue<Task>();
  return {
    utterance: (entry: Pending) => queue.push({ kind: 'utterance', entry }),
    finish: (work: () => Promise<unknown>) => queue.push({ kind: 'finish', work }),
    renew: (work: () => Promise<unknown>) => queue.push({ kind: 'renew', work }),
    /** Whether the last waiting task ends the conversation. */
    get isFinishing() {
      return queue.last?.kind === 'finish';
    },
    end: queue.end,
    clear: queue.clear,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  };
}

/** Output of a channel: transcribes utterances, stores the text and reports it. */
export interface Transcriber {
  /** Resolves when all tasks are done; throws a `Refusal` when no recogniser is left. */
  run(tasks: Tasks): Promise<void>;
}

interface TranscriberOptions {
  /** Absent: the recogniser tells the speakers apart, or nothing does. */
  voice: Voice | undefined;
  streamId: string;
  /** Whether the audio was held before: its first utterance may have crashed the process. */
  isReplay: boolean;
  hearing: Hearing;
  recogniser: Recogniser;
  quarantine: Quarantine;
  /** Returns the second pass for an utterance, which begins when the utterance has ended. */
  finalPass: (() => FinalPassOf | null) | undefined;
  /** Tells voices apart; null: nothing does. */
  labeller: Labeller | null;
  /** Keeps audio that has become text, where its owner wants that. */
  clips: ClipsOf;
  service: Service;
  thread: Thread;
  progress: Progress;
  metrics: ListenMetrics;
  signal: AbortSignal;
}

/** Clips of the owner of a stream. */
export interface ClipsOf {
  areKept(): Promise<boolean>;
  keep(spoken: Omit<Spoken, 'userId'>): Promise<void>;
}

export function createTranscriber(options: TranscriberOptions): Transcriber {
  let { isReplay } = options;
  const { voice, streamId, hearing, recogniser, quarantine, finalPass, service, thread } = options;
  const { labeller, clips, progress, metrics, signal } = options;

  async function transcribe(entry: Pending) {
    const { utterance } = entry;
    entry.reached.resolve();
    const beganAt = hearing.timeOf(utterance.startSample);
    const meter = meterUtterance(metrics, entry);
    await thread.ensure(beganAt);
    await thread.touch();
    const again = finalPass?.() ?? null;
    const early = labeller && !voice ? listenEarly(entry, labeller.analyse, signal) : null;
    const areKept = await clips.areKept();
    let keeping = Promise.resolve();
    try {
      for await (const { piece, provider } of heard(entry, meter.quarantined)) {
        const heardAt = metrics.now();
        const labelled = early && (await label(piece, early));
        const span = { startSample: entry.committed, endSample: piece.endSample };
        entry.committed = piece.endSample;
        const segments = await progress.write([pieceOf(piece, provider, labelled)], beganAt);
        const last = segments.at(-1);
        if (areKept && last) {
          const spoken = await spokenIn(utterance, span, last.conversationId);
          keeping = keeping.then(() => clips.keep(spoken)); // the next words do not wait for it
        }
        if (labelled?.suggestion && last) thread.suggest(labelled.suggestion, last.id);
        meter.sent(provider, heardAt);
        if (again) again.heard(piece.text, provider, segments);
        else utterance.release(piece.endSample);
      }
    } finally {
      early?.end();
      await keeping;
    }
    meter.done();
    await again?.end(utterance);
    await quarantine.passed(streamId);
    hearing.settle(entry);
    await progress.store();
  }

  /** Copies the audio of a part of an utterance, before it is released. */
  async function spokenIn(utterance: Utterance, span: Span, conversationId: string) {
    const pcm = await samplesOf(utterance, span);
    return { conversationId, startedAt: Math.round(hearing.timeOf(span.startSample)), pcm };
  }

  /** Labels a piece with its speaker. Null: voices are not told apart. */
  async function label(piece: Transcript, early: EarlyVoice): Promise<Labelled | null> {
    if (!labeller) return null;
    const analysis = early.analysisOf(piece);
    const { id } = await thread.ensure(hearing.timeOf(piece.startSample));
    const own = piece.speaker === undefined ? null : numberOf(piece.speaker);
    return labeller.label(id, own, analysis, signal);
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

  /** Reports failures of the recogniser to the client; failures to store a piece do not pass through here. */
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

  /**
   * Returns whether the utterance was quarantined. It may still be growing when the connection ends; the rest is not
   * waited for.
   */
  function isQuarantined({ utterance, committed }: Pending): Promise<boolean> {
    return orAborted(quarantine.failed(streamId, utterance, committed), signal);
  }

  return {
    async run(tasks) {
      for await (const task of tasks) {
        if (task.kind === 'utterance') await transcribe(task.entry);
        else await task.work();
      }
      if (!signal.aborted) await progress.store(); // the end is silence, which a returning client need not send again
    },
  };
}
