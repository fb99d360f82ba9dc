const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Waits after the first failure, the second, and so on. After the last one there is no further attempt. */
const DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  24 * HOUR_MS,
] as const;

const LONGEST_MS = 24 * HOUR_MS;

/** Spread of the waits, so that work which failed together does not return together. */
const JITTER = 0.1;

/** Number of attempts, the first included. */
export const MAX_ATTEMPTS = DELAYS_MS.length + 1;

/**
 * Returns the milliseconds from a failure to the next attempt; null: there is none.
 * @param failures how many there were, this one included
 * @param random 0 to 1: moves the time by up to a tenth either way
 * @param retryAfter seconds that the failing side asked to be left alone; it may lengthen the wait, up to a
 * day
 */
export function retryDelayMs(failures: number, random: number, retryAfter = 0): number | null {
  const delayMs = DELAYS_MS[failures - 1];
  if (delayMs === undefined) return null;
  const jittered = delayMs * (1 + JITTER * (2 * random - 1));
  return Math.round(Math.max(jittered, Math.min(retryAfter * SECOND_MS, LONGEST_MS)));
}

/**
 * Returns the seconds of a `Retry-After` header, which is a number of seconds or a date; undefined where it
 * is missing or neither.
 * @param now epoch ms
 */
export function retryAfter(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const seconds = Math.ceil((Date.parse(text) - now) / SECOND_MS);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
