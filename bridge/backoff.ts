export interface Backoff {
  /** How long to wait before the next try, in ms; grows with every call. */
  next(): number;
  /** It worked: the next wait is the first again. */
  reset(): void;
}

/** Doubling waits with a cap, each with up to a quarter taken off at random, so that many do not come back at once. */
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
