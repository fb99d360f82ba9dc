import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { Transcript, VadProvider } from '../../contract/plugin.ts';
import type { Recogniser } from '../recogniser/recogniser.ts';
import { utterancesOf } from './utterances.ts';

/** Result of listening to a recording, in the order of its samples. */
export type Heard =
  /** Somebody begins to speak. */
  | { kind: 'speech'; startSample: number }
  /** `utterance` can be read from the beginning of the piece on until the next is asked for. */
  | { kind: 'text'; piece: Transcript; provider: string; utterance: GrowingUtterance }
  /** Everything before this sample is text by now, or silence. */
  | { kind: 'through'; sample: number };

interface HearOptions {
  recogniser: Pick<Recogniser, 'transcribe'>;
  vad: VadProvider;
  /** Where the samples begin in their recording. */
  startSample?: number;
  signal: AbortSignal;
}

/**
 * Listens to a recording: finds the utterances in it, and has one after the other recognised. Its samples are read no
 * faster than that, so that no more than two utterances are held. Throws what the recogniser, or the detector, does.
 */
export async function* hear(
  recording: AsyncIterable<Int16Array>,
  { recogniser, ...options }: HearOptions,
): AsyncGenerator<Heard> {
  for await (const { utterance, through } of utterancesOf(recording, options)) {
    if (utterance) {
      yield { kind: 'speech', startSample: utterance.startSample };
      for await (const { piece, provider } of recogniser.transcribe(utterance)) {
        yield { kind: 'text', piece, provider, utterance };
        utterance.release(piece.endSample);
      }
    }
    yield { kind: 'through', sample: through };
  }
}
