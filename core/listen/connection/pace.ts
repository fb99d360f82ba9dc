import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock } from '../../contract/model.ts';

/** Allowed rate of a connection or an account, in tokens; a frame costs one. */
export interface Rate {
  perSecond: number;
  /** Tokens available at once after a rest. */
  burst: number;
}

/** Token bucket that can go into debt. */
export interface Bucket {
  /** Takes the tokens; returns the milliseconds until the debt is paid, 0 where there is none. */
  spend(tokens: number): number;
  /** Takes one token if available, and never goes into debt; returns the milliseconds until one is available. */
  take(): number;
}

/** Longest wait for the debt of one network chunk. */
const MAX_DEBT_MS = 10_000;

export function createBucket({ perSecond, burst }: Rate, clock: Pick<Clock, 'now'>): Bucket {
  const msPerToken = 1000 / perSecond;
  /** When the bucket is full again. */
  let fullAt = 0;
  const fullMs = burst * msPerToken;
  return {
    spend(tokens) {
      const now = clock.now();
      const spent = Math.max(0, fullAt - now) + tokens * msPerToken;
      const lackingMs = Math.min(spent, fullMs + MAX_DEBT_MS);
      fullAt = now + lackingMs;
      return Math.max(0, lackingMs - fullMs);
    },
    take() {
      const now = clock.now();
      fullAt = Math.min(Math.max(fullAt, now), now + fullMs); // the clock may be set back
      const lackingMs = fullAt - now + msPerToken;
      if (lackingMs <= fullMs) fullAt = now + lackingMs;
      return Math.max(0, lackingMs - fullMs);
    },
  };
}

/** Pauses reading from a socket while anyone holds it, so that TCP slows the peer down. */
export interface Valve {
  hold(reason: Reason): void;
  release(reason: Reason): void;
}

export function createValve(socket: Pick<WebSocket, 'pause' | 'resume' | 'readyState' | 'OPEN'>): Valve {
  const reasons = new Set<Reason>();
  return {
    hold(reason) {
      reasons.add(reason);
      if (socket.readyState === socket.OPEN) socket.pause(); // a closing socket is read to its end
    },
    release(reason) {
      if (reasons.delete(reason) && reasons.size === 0) socket.resume();
    },
  };
}

/** Message rate per connection: fifty times real time in frames of 10 ms. */
export const CONNECTION_RATE: Rate = { perSecond: 5000, burst: 10_000 };

/** Reasons to hold a valve: unread messages, the rate of the connection, its sign-in, and its start. */
type Reason = 'backlog' | 'pace' | 'sign-in' | 'start';

/** Slows a connection down to its rates instead of closing it: a client that catches up sends everything at once. */
export interface Pace {
  /** Charges the connection. Returns what to wait for before expensive work; undefined: paid. */
  spend(tokens: number): Promise<void> | undefined;
  /** Adds a second bucket, which is charged as well from now on. */
  share(bucket: Bucket): void;
  end(): void;
}

export function createPace({ rate, valve, clock }: { rate: Rate; valve: Valve; clock: Clock }): Pace {
  const buckets = [createBucket(rate, clock)];
  const ended = new AbortController();
  let payAt = 0;
  let paying: Promise<void> | undefined;

  async function pay() {
    valve.hold('pace');
    for (let leftMs = payAt - clock.now(); leftMs > 0; leftMs = payAt - clock.now())
      await clock.sleep(Math.min(leftMs, MAX_DEBT_MS), ended.signal);
    paying = undefined;
    valve.release('pace');
  }

  return {
    spend(tokens) {
      const waitMs = Math.max(...buckets.map(bucket => bucket.spend(tokens)));
      if (waitMs === 0) return paying;
      payAt = clock.now() + waitMs;
      paying ??= pay().catch(() => {}); // the connection has ended
      return paying;
    },
    share: bucket => buckets.push(bucket),
    end: () => ended.abort(),
  };
}

/** Pongs are sent only while fewer unread bytes wait, for clients that do not read them. */
const MAX_UNREAD_PONGS_BYTES = 64 * 1024;
/**
 * Price of fragments, which no message event shows, by their processing time: one token per 20 µs, about one message.
 */
const TOKENS_PER_MS = 50;
/** Upper bound of that price: a process that was suspended meanwhile is not the client's fault. */
const MAX_CHUNK_TOKENS = 2000;
/** Price of bytes, so that few large messages cost as much as many small ones: 5,000 tokens a second are 10 MB. */
const BYTES_PER_TOKEN = 2048;

/**
 * Charges a connection for every frame and byte, and answers pings: of those that arrive together the last one alone,
 * as the protocol allows, because a chunk of 64 KiB may bring thousands of them.
 */
export function chargeFrames(socket: WebSocket, wire: Socket, pace: Pick<Pace, 'spend'>): void {
  let beganAt = 0;
  let pinged: Buffer | undefined;
  function answer() {
    if (socket.bufferedAmount < MAX_UNREAD_PONGS_BYTES) socket.pong(pinged);
    pinged = undefined;
  }
  wire.prependListener('data', () => {
    beganAt = performance.now();
  });
  wire.on('data', chunk => {
    const took = Math.min(MAX_CHUNK_TOKENS, (performance.now() - beganAt) * TOKENS_PER_MS);
    pace.spend(took + chunk.length / BYTES_PER_TOKEN);
  });
  socket.on('ping', data => {
    pace.spend(1);
    if (!pinged) setImmediate(answer);
    pinged = data;
  });
  socket.on('pong', () => pace.spend(1));
}
