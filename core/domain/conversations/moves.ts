import type { Clock } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';

/**
 * Segments that an account may move between conversations in a minute, as many as the largest conversation has. One
 * transaction moves all of a merge or split, some 20 µs each, and other accounts cannot write meanwhile.
 */
const MAX_A_MINUTE = 20_000;
const MINUTE_MS = 60_000;
const MS_EACH = MINUTE_MS / MAX_A_MINUTE;

/** Counts the segments that each account moves. */
export function createMoves(clock: Pick<Clock, 'now'>) {
  /** When each account may move as many as ever again. */
  const freeAt = new Map<string, number>();

  /** Throws `rate_limited` while the account may not move so many. */
  return function move(userId: string, segments: number): void {
    const now = clock.now();
    for (const [id, at] of freeAt) if (at <= now || at > now + 2 * MINUTE_MS) freeAt.delete(id); // the clock was set back
    const busyMs = (freeAt.get(userId) ?? now) - now;
    const waitMs = busyMs + Math.min(segments, MAX_A_MINUTE) * MS_EACH - MINUTE_MS;
    if (waitMs > 0)
      throw new AppError(
        'rate_limited',
        `Merging and splitting may move ${MAX_A_MINUTE} segments in a minute, and this would be more`,
        { retryAfter: Math.ceil(waitMs / 1000) },
      );
    freeAt.set(userId, now + busyMs + segments * MS_EACH);
  };
}
