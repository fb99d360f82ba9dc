import { SAMPLE_RATE } from './pcm.ts';

/**
 * Length of the section that is compared with an earlier one (64 ms), and the lags at which that begins (64
 * to 84 ms).
 */
const LENGTH = toSamples(64);
const LEAST_LAG = toSamples(64);
/** Range of lags: one period of 50 Hz, so that some lag is a whole number of periods of any tone. */
const MOST_LAG = LEAST_LAG + toSamples(20);
const STEP = toSamples(32);
/**
 * Normalised correlation from which two sections count as the same tone. Speech reaches it only for moments.
 */
const SAME = 0.8;

/** Samples that are needed for a decision. */
export const STEADY_TONE_SAMPLES = LENGTH + MOST_LAG + 2 * STEP;

/**
 * Whether these last samples are one tone that goes on or fades unchanged, like mains hum or a plucked string. Speech
 * detectors take such a tone for a vowel when it comes out of silence.
 */
export function isSteadyTone(samples: Int16Array): boolean {
  const isLike = (end: number) => isLikeBefore(samples, end);
  const end = samples.length;
  // Two of three sections decide; the third is examined only where they disagree.
  return isLike(end)
    ? isLike(end - STEP) || isLike(end - 2 * STEP)
    : isLike(end - STEP) && isLike(end - 2 * STEP);
}

/** Whether the section up to `end` correlates with an earlier one at any of the lags. */
function isLikeBefore(samples: Int16Array, end: number): boolean {
  const energy = product(samples, end, 0);
  let earlier = product(samples, end - LEAST_LAG, 0);
  for (let lag = LEAST_LAG; lag <= MOST_LAG; lag++) {
    const likeness = product(samples, end, lag) / Math.sqrt(energy * earlier);
    if (likeness >= SAME) return true; // false for silence, which correlates with nothing
    earlier += square(samples[end - LENGTH - lag - 1]) - square(samples[end - lag - 1]);
  }
  return false;
}

/** Sum of the products of the section up to `end` and the one `lag` samples earlier. */
function product(samples: Int16Array, end: number, lag: number): number {
  const earlier = samples.subarray(end - LENGTH - lag, end - lag);
  const stretch = samples.subarray(end - LENGTH, end);
  // Four independent sums, because the additions of a single one would wait for each other.
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
