import { createGate } from '../../audio/gate.ts';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { VadProvider } from '../../contract/plugin.ts';
import { nextInLine } from '../scheduler.ts';

interface Options {
  vad: VadProvider;
  /** Where the samples begin in their recording. */
  startSample?: number;
  signal: AbortSignal;
}

export interface Found {
  /** One that has ended; null: there is only progress to tell. */
  utterance: GrowingUtterance | null;
  /** Everything before this sample was in an utterance that was handed out, or is silence. */
  through: number;
}

/** Judged at a stretch: half a second. */
const STRETCH = SAMPLE_RATE / 2;

/**
 * Finds the utterances in a recording, whose samples are read no faster than the utterances are taken: no more than two
 * are held. Throws what the detector does.
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
        await nextInLine(); // an hour of it must not keep anybody waiting
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
