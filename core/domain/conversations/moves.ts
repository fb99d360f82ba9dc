import type { Clock } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';

/**
 * Segments that an account may move between conversations in a minute, as many as the largest conversation has. One
 * transaction moves all of a merge or split, some 20 µs each, and other accounts cannot write meanwhile.
 */
const MAX_A_MINUTE = 20_000;
const PER_MS = MAX_A_MINUTE / 60_000;

/** Counts the segments that each account moves. What is moved at once may exceed the limit: then the next waits longer. */
export function createMoves(clock: Pick<Clock, 'now'>) {
  /** What each account may still move; negative: too much was moved. Absent: everything. */
  const left = new Map<string, { segments: number; at: number }>();

  function leftOf(userId: string): number {
    const now = clock.now();
    const { segments, at } = left.get(userId) ?? { segments: MAX_A_MINUTE, at: now };
    const passedMs = Math.max(0, now - at); // the clock may be set back
    const filled = Math.min(MAX_A_MINUTE, segments + passedMs * PER_MS);
    if (filled < MAX_A_MINUTE) left.set(userId, { segments: filled, at: now });
    else left.delete(userId);
    return filled;
  }

  return {
    /** Throws `rate_limited` while the account has nothing left. */
    check(userId: string): void {
      const segments = leftOf(userId);
      if (segments > 0) return;
      throw new AppError(
        'rate_limited',
        `Too much was merged or split: ${MAX_A_MINUTE} segments may be moved in a minute`,
        { retryAfter: Math.ceil((1 - segments) / PER_MS / 1000) },
      );
    },
    charge(userId: string, segments: number): void {
      left.set(userId, { segments: leftOf(userId) - segments, at: clock.now() });
    },
  };
}
