import type { GrowingUtterance } from '../../audio/utterance.ts';
import type { Transcript, VadProvider } from '../../contract/plugin.ts';
import type { Recogniser } from '../recogniser/recogniser.ts';
import { utterancesOf } from './utterances.ts';

/** Event of the transcription of a recording, in the order of its samples. */
export type Heard =
  /** Speech begins. */
  | { kind: 'speech'; startSample: number }
  /** `utterance` can be read from the beginning of the piece on, until the next event is requested. */
  | { kind: 'text'; piece: Transcript; provider: string; utterance: GrowingUtterance }
  /** Everything before this sample has been transcribed, or is silence. */
  | { kind: 'through'; sample: number };

interface HearOptions {
  recogniser: Pick<Recogniser, 'transcribe'>;
  vad: VadProvider;
  /** Position of the first sample in the recording. */
  startSample?: number;
  signal: AbortSignal;
}

/**
 * Transcribes a recording utterance by utterance. Samples are read only as fast as that, with at most two utterances in
 * memory. Throws the errors of the recogniser and the detector.
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
