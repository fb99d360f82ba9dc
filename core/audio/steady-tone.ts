import { SAMPLE_RATE } from './pcm.ts';

/** The stretch that is compared with one before it, and how much earlier that lies: 64 ms, and 64 to 84 ms. */
const LENGTH = toSamples(64);
const LEAST_LAG = toSamples(64);
/** Wide enough for one period of 50 Hz: some lag in it is a whole number of periods. */
const MOST_LAG = LEAST_LAG + toSamples(20);
const STEP = toSamples(32);
/** Likeness (normalised correlation) from which two stretches are the same tone. Speech changes: it stays below 0.9. */
const SAME = 0.9;

/** Audio that is needed to tell. */
export const STEADY_TONE_SAMPLES = LENGTH + MOST_LAG + 2 * STEP;

/**
 * Whether these last samples are one tone that goes on or fades unchanged, like mains hum or a plucked string. Speech
 * detectors take such a tone for a vowel when it comes out of silence.
 */
export function isSteadyTone(samples: Int16Array): boolean {
  const ends = [samples.length, samples.length - STEP, samples.length - 2 * STEP];
  return ends.filter(end => likeness(samples, end) >= SAME).length >= 2;
}

/** How much the stretch up to `end` is like an earlier one, -1 to 1, at the lag where it is most alike. */
function likeness(samples: Int16Array, end: number): number {
  let best = -1;
  for (let lag = LEAST_LAG; lag <= MOST_LAG; lag++) best = Math.max(best, correlation(samples, end, lag));
  return best;
}

function correlation(samples: Int16Array, end: number, lag: number): number {
  let product = 0;
  let now = 0;
  let before = 0;
  for (let i = end - LENGTH; i < end; i++) {
    const a = samples[i] ?? 0;
    const b = samples[i - lag] ?? 0;
    product += a * b;
    now += a * a;
    before += b * b;
  }
  return now * before === 0 ? 0 : product / Math.sqrt(now * before);
}

function toSamples(ms: number): number {
  return (ms * SAMPLE_RATE) / 1000;
}
