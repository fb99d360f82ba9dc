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
  const isLike = (end: number) => isLikeBefore(samples, end);
  const end = samples.length;
  // Two of three ends; a third is looked at only where it decides.
  return isLike(end)
    ? isLike(end - STEP) || isLike(end - 2 * STEP)
    : isLike(end - STEP) && isLike(end - 2 * STEP);
}

/** Whether the stretch up to `end` is like an earlier one, at any of the lags. */
function isLikeBefore(samples: Int16Array, end: number): boolean {
  const energy = product(samples, end, 0);
  let earlier = product(samples, end - LEAST_LAG, 0);
  for (let lag = LEAST_LAG; lag <= MOST_LAG; lag++) {
    const likeness = product(samples, end, lag) / Math.sqrt(energy * earlier);
    if (likeness >= SAME) return true; // false for silence, which is like nothing
    earlier += square(samples[end - LENGTH - lag - 1]) - square(samples[end - lag - 1]);
  }
  return false;
}

/** The stretch up to `end` times the one `lag` samples earlier, summed. */
function product(samples: Int16Array, end: number, lag: number): number {
  const earlier = samples.subarray(end - LENGTH - lag, end - lag);
  const stretch = samples.subarray(end - LENGTH, end);
  // Four sums side by side: one alone would wait for each addition to end.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let i = 0; i < LENGTH; i += 4) {
    a += (stretch[i] ?? 0) * (earlier[i] ?? 0);
    b += (stretch[i + 1] ?? 0) * (earlier[i + 1] ?? 0);
    c += (stretch[i + 2] ?? 0) * (earlier[i + 2] ?? 0);
    d += (stretch[i + 3] ?? 0) * (earlier[i + 3] ?? 0);
  }
  return a + b + c + d;
}

function square(sample = 0): number {
  return sample * sample;
}

function toSamples(ms: number): number {
  return (ms * SAMPLE_RATE) / 1000;
}
