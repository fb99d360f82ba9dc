import { createGate } from '../../audio/gate.ts';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { VadProvider } from '../../contract/plugin.ts';
import { nextInLine } from '../scheduler.ts';

interface Options {
  vad: VadProvider;
  /** Position of the first sample in the recording. */
  startSample?: number;
  signal: AbortSignal;
}

export interface Found {
  /** An utterance that has ended; null: only progress. */
  utterance: GrowingUtterance | null;
  /** Everything before this sample was part of a returned utterance, or is silence. */
  through: number;
}

/** Samples that are analysed without yielding: half a second. */
const STRETCH = SAMPLE_RATE / 2;

/**
 * Finds the utterances in a recording. Samples are read only as fast as utterances are consumed, with at most two in memory.
 * Throws the errors of the detector.
 */
export async function* utterancesOf(
  recording: AsyncIterable<Int16Array>,
  { vad, startSample = 0, signal }: Options,
): AsyncGenerator<Found> {
  const waiting: GrowingUtterance[] = [];
  const gate = createGate({
    detector: vad.open(),
    windowSize: vad.windowSize,
    channel: 0,
    startSample,
    goesOn: startSample > 0,
    onUtterance: utterance => waiting.push(utterance),
  });

  const through = () => waiting[0]?.startSample ?? gate.silentThrough;

  function* ended(): Generator<Found> {
    for (let [first] = waiting; first && !first.isOpen; [first] = waiting) {
      waiting.shift();
      yield { utterance: first, through: through() };
    }
  }

  try {
    for await (const piece of recording) {
      for (let at = 0; at < piece.length; at += STRETCH) {
        signal.throwIfAborted();
        await gate.push(piece.subarray(at, at + STRETCH));
        yield* ended();
        await nextInLine(); // an hour of audio must not delay others
      }
      yield { utterance: null, through: through() };
    }
    await gate.flush();
    yield* ended();
    yield { utterance: null, through: gate.position };
  } finally {
    gate.close();
  }
}
