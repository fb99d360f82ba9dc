import { setTimeout as sleep } from 'node:timers/promises';

/** Generous: a machine under load may be slow, and a test that fails here has found something that never happens. */
const LIMIT_MS = 240_000;
const EVERY_MS = 20;

/**
 * Resolves to the first thing that `look` finds and `fits`, or that is truthy. For what no event tells: where there is
 * one, wait for that. Rejects with the last thing that it found when the time is over.
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
