export interface Backoff {
  /** Returns the pause before the next attempt in ms; it grows with every call. */
  next(): number;
  /** Called after a success: the next pause is the first one again. */
  reset(): void;
}

/**
 * Doubles pauses up to a maximum. Each is shortened at random by up to a quarter, so that clients do not return all at once.
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
