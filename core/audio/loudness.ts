import { SAMPLE_RATE } from './pcm.ts';

/** Converts a loudness in dB of full scale to a sample value. */
export function fromDb(db: number): number {
  return 32768 * 10 ** (db / 20);
}

/** Returns the mean of the squared samples in [from, to). */
export function meanSquare(samples: Int16Array, from = 0, to = samples.length): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += (samples[i] ?? 0) ** 2;
  return sum / (to - from);
}

/** Returns the mean of the squared differences between samples that are `distance` apart. */
export function meanSquareOfDifferences(samples: Int16Array, distance: number): number {
  let sum = 0;
  for (let i = distance; i < samples.length; i++)
    sum += ((samples[i] ?? 0) - (samples[i - distance] ?? 0)) ** 2;
  return sum / (samples.length - distance);
}

/** Long enough to tell a pause from the closure inside a word. */
const QUIET_SAMPLES = SAMPLE_RATE / 10;
const STEP_SAMPLES = SAMPLE_RATE / 100;

/** Returns the index of the middle of the quietest 100 ms; of several equally quiet ones, the last. */
export function quietestPoint(samples: Int16Array): number {
  const length = Math.min(QUIET_SAMPLES, samples.length);
  let best = { energy: Number.POSITIVE_INFINITY, at: 0 };
  for (let at = 0; at + length <= samples.length; at += STEP_SAMPLES) {
    const energy = meanSquare(samples, at, at + length);
    if (energy <= best.energy) best = { energy, at };
  }
  return best.at + (length >> 1);
}
