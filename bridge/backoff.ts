export interface Backoff {
  /** How long to wait before the next try, in ms; grows with every call. */
  next(): number;
  /** Called after a success: the next wait is the first one again. */
  reset(): void;
}

/**
 * Doubling waits with a maximum, each shortened at random by up to a quarter, so that many clients do not return at
 * once.
 */
export function createBackoff({ firstMs, maxMs }: { firstMs: number; maxMs: number }): Backoff {
  let waitMs = firstMs;
  return {
    next() {
      const current = waitMs;
      waitMs = Math.min(maxMs, waitMs * 2);
      return Math.round(current * (1 - Math.random() / 4));
    },
    reset() {
      waitMs = firstMs;
    },
  };
}
