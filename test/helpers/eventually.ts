import { setTimeout as sleep } from 'node:timers/promises';

/** Generous, because machines under load are slow: what has not happened by then never will. */
const LIMIT_MS = 240_000;
const EVERY_MS = 20;

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
    if (performance.now() - startedAt > LIMIT_MS)
      throw new Error(
        `it did not come to be within ${LIMIT_MS} ms; the last that was seen: ${inspected(seen)}`,
      );
    await sleep(EVERY_MS);
  }
}

function inspected(seen: unknown): string {
  return (JSON.stringify(seen) ?? String(seen)).slice(0, 2000);
}
