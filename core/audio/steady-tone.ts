import { SAMPLE_RATE } from './pcm.ts';

/** The stretch that is compared with one before it, and how much earlier that lies: 64 ms, and 64 to 84 ms. */
const LENGTH = toSamples(64);
const LEAST_LAG = toSamples(64);
/** Wide enough for one period of 50 Hz: some lag in it is a whole number of periods. */
const MOST_LAG = LEAST_LAG + toSamples(20);
const STEP = toSamples(32);
/** Likeness (normalised correlation) from which two stretches count as the same tone. Speech keeps it for moments only. */
const SAME = 0.8;

/** Audio that is needed to tell. */
export const STEADY_TONE_SAMPLES = LENGTH + MOST_LAG + 2 * STEP;

/**
 * Whether these last samples are one tone that goes on or fades unchanged, like mains hum or a plucked string. Speech
 * detectors take such a tone for a vowel when it comes out of silence.
 */
export function isSteadyTone(samples: Int16Array): boolean {
  const ends = [samples.length, samples.length - STEP, samples.length - 2 * STEP];
  return ends.filter(end => isLikeBefore(samples, end)).length >= 2;
}

/** Whether the stretch up to `end` is like an earlier one, at any of the lags. */
function isLikeBefore(samples: Int16Array, end: number): boolean {
  const energy = product(samples, end, 0);
  for (let lag = LEAST_LAG; lag <= MOST_LAG; lag++) {
    const likeness = product(samples, end, lag) / Math.sqrt(energy * product(samples, end - lag, 0));
    if (likeness >= SAME) return true; // false for silence, which is like nothing
  }
  return false;
}

/** The stretch up to `end` times the one `lag` samples earlier, summed. */
function product(samples: Int16Array, end: number, lag: number): number {
  let sum = 0;
  for (let i = end - LENGTH; i < end; i++) sum += (samples[i] ?? 0) * (samples[i - lag] ?? 0);
  return sum;
}

function toSamples(ms: number): number {
  return (ms * SAMPLE_RATE) / 1000;
}
