import { setTimeout as sleep } from 'node:timers/promises';

/** Generous, because machines under load are slow: what has not happened by then never will. */
const LIMIT_MS = 240_000;
/** Interval of looks: a tenth of the time waited so far, within these. A minute of the longest is within rate limits. */
const EVERY_MS = { least: 20, most: 200 };

/**
 * Resolves to the first value of `look` that `fits`, or that is truthy. For changes that no event announces; where
 * there is an event, wait for that. Rejects with the last value after the time limit.
 */
export async function eventually<T>(
  look: () => T | Promise<T>,
  fits: (seen: T) => boolean = Boolean,
): Promise<T> {
  for (const startedAt = performance.now(); ; ) {
    const seen = await look();
    if (fits(seen)) return seen;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > LIMIT_MS)
      throw new Error(
        `it did not come to be within ${LIMIT_MS} ms; the last that was seen: ${inspected(seen)}`,
      );
    await sleep(Math.min(Math.max(EVERY_MS.least, waitedMs / 10), EVERY_MS.most));
  }
}

function inspected(seen: unknown): string {
  return (JSON.stringify(seen) ?? String(seen)).slice(0, 2000);
}
