import { createGate } from '../audio/gate.ts';
import { SAMPLE_RATE } from '../audio/pcm.ts';
import type { GrowingUtterance } from '../audio/utterance.ts';
import type { Transcript, VadProvider } from '../contract/plugin.ts';
import type { Recogniser } from '../listen/recogniser.ts';
import { nextInLine } from '../listen/scheduler.ts';

/** What was heard in a recording, in the order of its samples. */
export type Heard =
  /** Somebody begins to speak. */
  | { kind: 'speech'; startSample: number }
  | { kind: 'text'; piece: Transcript; provider: string }
  /** Everything before this sample is text by now, or silence. */
  | { kind: 'through'; sample: number };

interface HearOptions {
  recogniser: Pick<Recogniser, 'transcribe'>;
  vad: VadProvider;
  /** Where the samples begin in their recording. */
  startSample?: number;
  signal: AbortSignal;
}

/** Judged at a stretch: half a second. */
const STRETCH = SAMPLE_RATE / 2;

/**
 * Listens to a recording: finds the utterances in it, and has one after the other recognised. Its samples are read no
 * faster than that, so that no more than two utterances are held. Throws what the recogniser, or the detector, does.
 */
export async function* hear(
  recording: AsyncIterable<Int16Array>,
  { recogniser, vad, startSample = 0, signal }: HearOptions,
): AsyncGenerator<Heard> {
  const waiting: GrowingUtterance[] = [];
  const gate = createGate({
    detector: vad.open(),
    windowSize: vad.windowSize,
    channel: 0,
    startSample,
    goesOn: startSample > 0,
    onUtterance: utterance => waiting.push(utterance),
  });

  async function* recognise(): AsyncGenerator<Heard> {
    for (let [first] = waiting; first && !first.isOpen; [first] = waiting) {
      yield { kind: 'speech', startSample: first.startSample };
      for await (const { piece, provider } of recogniser.transcribe(first)) {
        yield { kind: 'text', piece, provider };
        first.release(piece.endSample);
      }
      waiting.shift();
      yield { kind: 'through', sample: waiting[0]?.startSample ?? gate.silentThrough };
    }
  }

  try {
    for await (const piece of recording)
      for (let at = 0; at < piece.length; at += STRETCH) {
        signal.throwIfAborted();
        await gate.push(piece.subarray(at, at + STRETCH));
        yield* recognise();
        await nextInLine(); // an hour of it must not keep anybody waiting
      }
    await gate.flush();
    yield* recognise();
    yield { kind: 'through', sample: gate.position };
  } finally {
    gate.close();
  }
}
