import type { Config } from '../../config/schema.ts';
import { networkOf } from '../domain/network.ts';
import { AppError } from '../errors.ts';
import type { Clock, RateLimit } from '../model.ts';
import type { Storage } from '../plugin.ts';

/** What a bucket is for: each kind of request has one of its own. */
type Bucket = 'read' | 'write' | 'batch' | 'transcript' | 'search';
/** What a request is counted as. */
export type Policy = Bucket | 'notification';

/** Addresses whose failures are remembered: about 1 MB. Past it the oldest is forgotten. */
const MAX_ADDRESSES = 10_000;

/** An empty bucket is full again after this. */
const FILLING_MS = 60_000;
/** In which notifications are counted. */
const HOUR_MS = 3600_000;

/** What came of asking for a token. */
export interface Standing {
  headers: Record<string, string>;
  /** `rate_limited`, naming the policy, when there was none. */
  refusal: AppError | null;
}

export type RateLimits = ReturnType<typeof createRateLimits>;

/**
 * Token buckets: one for each key (or user, with an ID token) and policy, and one of failures for each address. What a
 * bucket lacks is one number, the time at which it is full again; that is read from the storage at its first use, and
 * written back when `flush` is called. Between two flushes each process counts for itself.
 */
export function createRateLimits({
  storage,
  clock,
  limits,
}: {
  storage: Pick<Storage, 'rateLimits'>;
  clock: Clock;
  limits: Omit<Config['rateLimits'], 'enabled' | 'notification'>;
}) {
  const buckets = new Map<string, Promise<RateLimit>>();
  /** Address → when its bucket is full again. */
  const failures = new Map<string, number>();

  async function load(userId: string, subject: string, policy: Bucket): Promise<RateLimit> {
    const stored = await storage.rateLimits.get(userId, subject, policy);
    return stored ?? { userId, subject, policy, fullAt: 0 };
  }

  /** Takes a token, where there is one. */
  async function take(
    { userId, subject }: { userId: string; subject: string },
    policy: Bucket,
  ): Promise<Standing> {
    const name = `${userId} ${subject} ${policy}`;
    const loading = buckets.get(name) ?? load(userId, subject, policy);
    buckets.set(name, loading);
    const bucket = await loading.catch(error => {
      buckets.delete(name);
      throw error;
    });
    const taken = takeToken(bucket.fullAt, clock.now(), limits[policy]);
    bucket.fullAt = taken.fullAt;
    return standing(policy, limits[policy], taken);
  }

  /** Counts a credential that did not do. Only those that fail are ever refused for it: others share the address. */
  function failed(address: string): Standing {
    const from = networkOf(address);
    const taken = takeToken(failures.get(from) ?? 0, clock.now(), limits.failed);
    failures.delete(from); // to the end of the line
    failures.set(from, taken.fullAt);
    if (failures.size > MAX_ADDRESSES) failures.delete(failures.keys().next().value ?? '');
    return standing('failed', limits.failed, taken);
  }

  /** Stores what the buckets lack, and forgets what is full again; the rest is read anew at its next use. */
  async function flush(): Promise<void> {
    const now = clock.now();
    for (const [from, fullAt] of failures) if (fullAt <= now) failures.delete(from);
    const known = await Promise.all(
      [...buckets].map(async ([name, loading]) => ({ name, loading, ...(await loading) })),
    );
    const lacking = known.filter(({ fullAt }) => fullAt > now);
    await storage.rateLimits.put(
      lacking.map(({ userId, subject, policy, fullAt }) => ({ userId, subject, policy, fullAt })),
    );
    await storage.rateLimits.removeFull(now);
    for (const { name, loading, fullAt } of known)
      if ((await loading).fullAt === fullAt) buckets.delete(name); // or it was used while it was written
  }

  return { take, failed, flush };
}

export type NotificationLimit = ReturnType<typeof createNotificationLimit>;

/**
 * How many notifications an app may send to a user in an hour, which begins with the first. They are few: each is counted
 * in the storage itself, at once for all processes.
 */
export function createNotificationLimit({
  storage: { attempts },
  clock,
  perHour,
}: {
  storage: Pick<Storage, 'attempts'>;
  clock: Clock;
  perHour: number;
}) {
  return {
    async take({ userId, subject }: { userId: string; subject: string }): Promise<Standing> {
      const now = clock.now();
      await attempts.prune(now);
      const { count, until } = await attempts.add(`notification ${subject} ${userId}`, 1, now, now + HOUR_MS);
      const left = perHour - count;
      const resetMs = until - now;
      const taken = { left: Math.max(left, 0), waitMs: left < 0 ? resetMs : 0, resetMs };
      return standing('notification', perHour, taken, 'an hour');
    },
  };
}

interface Taken {
  fullAt: number;
  /** Whole tokens left. */
  left: number;
  /** Until there is a token; 0: one was taken. */
  waitMs: number;
  /** Until the bucket is full. */
  resetMs: number;
}

/**
 * @param requests tokens of a full bucket
 * @param fullAt at most one filling away, also after the clock was set back
 */
function takeToken(fullAt: number, now: number, requests: number): Taken {
  const everyMs = FILLING_MS / requests;
  const lackingMs = Math.min(Math.max(fullAt - now, 0), FILLING_MS);
  const waitMs = Math.ceil(lackingMs + everyMs - FILLING_MS - TOLERANCE_MS);
  const afterMs = waitMs > 0 ? lackingMs : lackingMs + everyMs;
  return {
    fullAt: now + afterMs,
    left: Math.floor((FILLING_MS - afterMs + TOLERANCE_MS) / everyMs),
    waitMs: Math.max(waitMs, 0),
    resetMs: afterMs,
  };
}
/** Sums of fractions are a little beside what they should be. */
const TOLERANCE_MS = 1e-3;

function standing(
  policy: string,
  requests: number,
  { left, waitMs, resetMs }: Omit<Taken, 'fullAt'>,
  span = 'a minute',
): Standing {
  const headers = {
    'X-RateLimit-Limit': String(requests),
    'X-RateLimit-Remaining': String(left),
    'X-RateLimit-Reset': String(Math.ceil(resetMs / 1000)),
  };
  if (waitMs === 0) return { headers, refusal: null };
  const retryAfter = Math.ceil(waitMs / 1000);
  const message = `Too many requests: dev:${policy} allows ${requests} ${span}; try again in ${retryAfter} s`;
  return { headers, refusal: new AppError('rate_limited', message, { retryAfter }) };
}
