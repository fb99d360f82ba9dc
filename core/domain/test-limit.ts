import type { Clock } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import { AppError } from '../runtime/errors.ts';

const MAX_TESTS = 20;
const HOUR_MS = 3_600_000;

/** Counts a test message of this kind. `rate_limited` after too many, because the receiver may be somebody else. */
export async function limitTests(
  { storage, clock }: { storage: Storage; clock: Clock },
  kind: 'notification' | 'webhook',
  userId: string,
): Promise<void> {
  const now = clock.now();
  const { count, until } = await storage.attempts.add(`${kind} test ${userId}`, 1, now, now + HOUR_MS);
  if (count > MAX_TESTS)
    throw new AppError('rate_limited', `At most ${MAX_TESTS} tests in an hour`, {
      retryAfter: (until - now) / 1000,
    });
}
