import { SAMPLE_RATE } from '../audio/pcm.ts';
import type { Transcript, Utterance } from '../contract/plugin.ts';
import { MAX_SECONDS } from '../domain/speech/voices.ts';

/** The samples of a piece; of a long one the last seconds, in which one person is likely to speak. */
export async function samplesOf(
  utterance: Pick<Utterance, 'pcm'>,
  { startSample, endSample }: Pick<Transcript, 'startSample' | 'endSample'>,
): Promise<Int16Array> {
  const from = Math.max(startSample, endSample - MAX_SECONDS * SAMPLE_RATE);
  const samples = new Int16Array(endSample - from);
  let filled = 0;
  for await (const chunk of utterance.pcm(from)) {
    const part = chunk.subarray(0, samples.length - filled);
    samples.set(part, filled);
    filled += part.length;
    if (filled === samples.length) break;
  }
  return samples.subarray(0, filled);
}
