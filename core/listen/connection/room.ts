import { hash } from 'node:crypto';
import type { Clock } from '../../contract/model.ts';
import { networkOf } from '../../domain/network.ts';
import { AppError } from '../../runtime/errors.ts';
import { type Bucket, createBucket, type Rate } from './pace.ts';

interface RoomLimits {
  maxConnections: number;
  maxConnectionsPerUser: number;
}

/** Place of one connection, from its upgrade until its socket is closed and its audio is stored. */
export interface Seat {
  /** Shared by all connections of the account. */
  bucket: Bucket;
  /** Whether its socket is closing: it does not count towards the limit. */
  isLeaving: boolean;
  free(): void;
}

/** Limits the number of connections before they cost anything: per account, and separately for unauthenticated ones. */
export interface Room {
  /**
   * Returns a seat for a connection of this user; a connection of the same stream replaces the older one. Throws
   * `rate_limited`, `unavailable`.
   * @param credential its `Authorization` header
   */
  take(userId: string, stream?: string | null, credential?: string | null): Seat;
  /**
   * Tells why a connection with this credential is refused without authenticating it: its account began too many
   * connections a moment ago. Null: not refused.
   */
  refusal(credential: string): AppError | null;
  /**
   * Reserves a place for an unauthenticated connection; returns how to give it back. Where all are taken, the oldest is
   * given up.
   * @throws `rate_limited` where this address has too many
   */
  wait(address: string, giveUp: () => void): () => void;
}

/** Message rate per account. */
const ACCOUNT_RATE: Rate = { perSecond: 20_000, burst: 40_000 };
/**
 * Connections that an account may begin at once, for each that it may hold; a minimum; and the time until it may again.
 */
const BEGUN_PER_PLACE = 6;
const MIN_BEGUN = 300;
const BEGUN_AGAIN_S = 60;
/** Connections of one stream, closing ones included: each replaces the one before. */
const MAX_PER_STREAM = 8;
/**
 * Remembered credentials that were refused for their rate; the oldest is forgotten, at the price of one authentication.
 */
const MAX_REFUSED = 1000;
const MAX_WAITING = 200;
const MAX_WAITING_PER_NETWORK = 20;

interface Account {
  seats: Set<Seat & { stream: string | null }>;
  bucket: Bucket;
}

export function createRoom(limits: RoomLimits, clock: Pick<Clock, 'now'>): Room {
  const accounts = new Map<string, Account>();
  /** Rate buckets by account. They outlive connections, and there are only as many as accounts. */
  const begun = new Map<string, Bucket>();
  const burst = Math.max(MIN_BEGUN, BEGUN_PER_PLACE * limits.maxConnectionsPerUser);
  const begunRate: Rate = { perSecond: burst / BEGUN_AGAIN_S, burst };
  /** By hash of the credential. */
  const refused = new Map<string, { from: number; until: number; error: AppError }>();
  const waiting = new Set<{ network: string; giveUp(): void }>();
  let total = 0;
  let leaving = 0;

  function check({ seats }: Account, stream: string | null) {
    if (isFull({ total, staying: total - leaving }, limits.maxConnections))
      throw new AppError('unavailable', 'Too many live connections on this server (listen.maxConnections)');
    const all = [...seats];
    const own = all.filter(seat => stream !== null && seat.stream === stream);
    if (own.length >= MAX_PER_STREAM)
      throw limited(`Too many connections of the stream ${stream?.slice(0, 100)} at once`);
    const staying = all.filter(seat => !seat.isLeaving && !own.includes(seat)).length;
    if (isFull({ total: all.length, staying }, limits.maxConnectionsPerUser))
      throw limited('Too many live connections of this user (listen.maxConnectionsPerUser)');
  }

  function checkRate(userId: string, credential: string | null) {
    const bucket = begun.get(userId) ?? createBucket(begunRate, clock);
    begun.set(userId, bucket);
    const waitMs = bucket.take();
    if (waitMs === 0) return;
    const error = limited('Too many connections of this user in a minute', Math.ceil(waitMs / 1000));
    if (credential !== null) remember(credential, { from: clock.now(), until: clock.now() + waitMs, error });
    throw error;
  }

  function remember(credential: string, refusal: { from: number; until: number; error: AppError }) {
    const [oldest] = refused.keys();
    if (refused.size >= MAX_REFUSED && oldest !== undefined) refused.delete(oldest);
    refused.set(hash('sha256', credential), refusal);
  }

  return {
    take(userId, stream = null, credential = null) {
      checkRate(userId, credential);
      const account = accounts.get(userId) ?? {
        seats: new Set(),
        bucket: createBucket(ACCOUNT_RATE, clock),
      };
      check(account, stream);
      accounts.set(userId, account);
      total += 1;
      let isLeaving = false;
      const seat = {
        stream,
        bucket: account.bucket,
        get isLeaving() {
          return isLeaving;
        },
        set isLeaving(now) {
          leaving += Number(now) - Number(isLeaving);
          isLeaving = now;
        },
        free() {
          if (!account.seats.delete(seat)) return;
          total -= 1;
          seat.isLeaving = false;
          if (account.seats.size === 0) accounts.delete(userId);
        },
      };
      account.seats.add(seat);
      return seat;
    },
    refusal(credential) {
      if (refused.size === 0) return null;
      const key = hash('sha256', credential);
      const found = refused.get(key);
      if (!found) return null;
      const now = clock.now();
      if (found.from <= now && now < found.until) return found.error;
      refused.delete(key);
      return null;
    },
    wait(address, giveUp) {
      const network = networkOf(address);
      const own = [...waiting].filter(other => other.network === network);
      if (own.length >= MAX_WAITING_PER_NETWORK)
        throw limited('Too many connections of your address wait for their token');
      const place = { network, giveUp };
      waiting.add(place);
      const [oldest] = waiting;
      if (waiting.size > MAX_WAITING && oldest) {
        waiting.delete(oldest);
        oldest.giveUp();
      }
      return () => waiting.delete(place);
    },
  };
}

/** Tells whether there is no room. Leaving connections do not count, up to as many again as the limit. */
function isFull({ total, staying }: { total: number; staying: number }, most: number): boolean {
  return total >= 2 * most || staying >= most;
}

function limited(message: string, retryAfter = 1): AppError {
  return new AppError('rate_limited', message, { retryAfter });
}
