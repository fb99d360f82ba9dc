import type { Config } from '../../config/schema.ts';
import type { Clock, RateLimit } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import { networkOf } from '../domain/network.ts';
import { AppError } from '../runtime/errors.ts';

/** Kinds of requests, each with its own token bucket. */
type Bucket = 'read' | 'write' | 'batch' | 'transcript' | 'search';
/** Policy that a request is charged under. */
export type Policy = Bucket | 'notification';

/** Number of addresses whose failures are remembered, about 1 MB; past it the oldest is forgotten. */
const MAX_ADDRESSES = 10_000;

/** The credentials of an account together may make as many requests as this number of single ones. */
const SHARED_LIMITS = 2;
/** Subjects of the shared buckets. Apps have their own: what they use is not missing for their user. */
const ALL_KEYS = 'all keys';
const ALL_APPS = 'all apps';

/** Time in which an empty bucket fills. */
const FILLING_MS = 60_000;
/** Period for which notifications are counted. */
const HOUR_MS = 3600_000;

/** Result of taking a token. */
export interface Standing {
  headers: Record<string, string>;
  /** `rate_limited`, with the policy's name, when no token was left. */
  refusal: AppError | null;
}

/** Owner of the bucket. */
export interface Asker {
  userId: string;
  /** A key, the user with an ID token, or an app. */
  subject: string;
  isApp?: boolean;
}

export type RateLimits = ReturnType<typeof createRateLimits>;

/**
 * Token buckets: one for each credential and policy, one for all keys of an account and one for all its apps, and,
 * for each address, one for failures and one for attempts without a credential. The state of a bucket is one number,
 * the time at which it is full again, which is read from the storage at its first use, and written back by `flush`.
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
  /** Time at which its bucket is full again, by address. */
  const failures = new Map<string, number>();
  const attempts = new Map<string, number>();

  const { now, setBackMs } = createSteadyClock(clock);

  async function load(userId: string, subject: string, policy: Bucket): Promise<RateLimit> {
    const stored = await storage.rateLimits.get(userId, subject, policy);
    return { userId, subject, policy, fullAt: (stored?.fullAt ?? 0) + setBackMs() };
  }

  async function bucketOf(userId: string, subject: string, policy: Bucket): Promise<RateLimit> {
    const name = `${userId} ${subject} ${policy}`;
    const loading = buckets.get(name) ?? load(userId, subject, policy);
    buckets.set(name, loading);
    return loading.catch(error => {
      buckets.delete(name);
      throw error;
    });
  }

  /** Takes a token of the credential, and one of the account's shared bucket where there is one. */
  async function take({ userId, subject, isApp = false }: Asker, policy: Bucket): Promise<Standing> {
    const most = limits[policy];
    const own = await bucketOf(userId, subject, policy);
    const shared = await bucketOf(userId, isApp ? ALL_APPS : ALL_KEYS, policy);
    const at = now();
    const taken = takeToken(own.fullAt, at, most);
    const takenOfAll = takeToken(shared.fullAt, at, most * SHARED_LIMITS);
    if (takenOfAll.waitMs > taken.waitMs)
      return standing(
        policy,
        most * SHARED_LIMITS,
        takenOfAll,
        `a minute to all ${isApp ? 'apps' : 'keys'} together`,
      );
    if (taken.waitMs === 0) {
      own.fullAt = taken.fullAt;
      shared.fullAt = takenOfAll.fullAt;
    }
    return standing(policy, most, taken);
  }

  /**
   * Counts a failed authentication. Only requests that fail are ever refused because of it: others share the address.
   */
  function failed(address: string): Standing {
    return takeOfAddress(failures, 'failed', address);
  }

  /** Counts a request that needs no credential, such as a sign-in, before its body is read. */
  function attempted(address: string): Standing {
    return takeOfAddress(attempts, 'attempts', address);
  }

  function takeOfAddress(counts: Map<string, number>, policy: string, address: string): Standing {
    const from = networkOf(address);
    const taken = takeToken(counts.get(from) ?? 0, now(), limits.failed);
    counts.delete(from); // moved to the end of the order
    counts.set(from, taken.fullAt);
    if (counts.size > MAX_ADDRESSES) counts.delete(counts.keys().next().value ?? '');
    return standing(policy, limits.failed, taken);
  }

  /** Stores the state of the buckets, and forgets those that are full; the rest is read again at its next use. */
  async function flush(): Promise<void> {
    const at = now();
    for (const counts of [failures, attempts])
      for (const [from, fullAt] of counts) if (fullAt <= at) counts.delete(from);
    const known = await Promise.all(
      [...buckets].map(async ([name, loading]) => ({ name, loading, ...(await loading) })),
    );
    const lacking = known.filter(({ fullAt }) => fullAt > at);
    await storage.rateLimits.put(
      lacking.map(({ userId, subject, policy, fullAt }) => ({
        userId,
        subject,
        policy,
        fullAt: fullAt - setBackMs(),
      })),
    );
    await storage.rateLimits.removeFull(at - setBackMs());
    for (const { name, loading, fullAt } of known)
      if ((await loading).fullAt === fullAt) buckets.delete(name); // unless it was used while it was written
  }

  return { take, failed, attempted, flush };
}

/** A time that does not go back when the clock is set back, which would make buckets seem emptier than they are. */
function createSteadyClock(clock: Pick<Clock, 'now'>) {
  let last = Number.NEGATIVE_INFINITY;
  let setBackMs = 0;
  return {
    now(): number {
      const now = clock.now();
      setBackMs += Math.max(0, last - now);
      last = now;
      return now + setBackMs;
    },
    /** How far it is ahead of the clock. */
    setBackMs: () => setBackMs,
  };
}

export type NotificationLimit = ReturnType<typeof createNotificationLimit>;

/**
 * Limits the notifications that an app may send to a user in an hour, which begins with the first. They are few, so
 * each is counted in the storage itself, for all processes.
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
  /** Time until a token is available; 0: one was taken. */
  waitMs: number;
  /** Time until the bucket is full. */
  resetMs: number;
}

/**
 * @param requests tokens of a full bucket
 * @param fullAt if it is more than two fillings away, the clock was set back in the meantime, and the bucket counts
 * as full
 */
function takeToken(fullAt: number, now: number, requests: number): Taken {
  const everyMs = FILLING_MS / requests;
  const isKnown = fullAt - now <= 2 * FILLING_MS;
  const lackingMs = isKnown ? Math.min(Math.max(fullAt - now, 0), FILLING_MS) : 0;
  const waitMs = Math.ceil(lackingMs + everyMs - FILLING_MS - TOLERANCE_MS);
  const afterMs = waitMs > 0 ? lackingMs : lackingMs + everyMs;
  return {
    fullAt: now + afterMs,
    left: Math.floor((FILLING_MS - afterMs + TOLERANCE_MS) / everyMs),
    waitMs: Math.max(waitMs, 0),
    resetMs: afterMs,
  };
}
/** Compensates for rounding in sums of fractions. */
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
