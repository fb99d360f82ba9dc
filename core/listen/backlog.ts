import type { Clock } from '../contract/model.ts';
import type { Log } from '../runtime/log.ts';
import { RETURN_MS } from './connection/parameters.ts';
import type { StreamName } from './spool/spool.ts';

/**
 * Streams whose audio is held while their client is disconnected. Each is transcribed until all of its text is stored.
 * A stream whose client may reconnect and continue in the middle of a word is left alone for a while first.
 */
export interface Backlog {
  /**
   * Starts on what an earlier process left, and keeps the conversations that wait for it open. Resolves once they are.
   */
  takeUp(): Promise<void>;
  /** Hands a stream to its client, which has connected. Resolves when nothing else works on it any more. */
  claim(streamId: string): Promise<Claim>;
  stop(): Promise<void>;
}

export interface Claim {
  /** Whether background work had begun on it, and the stream has progressed since. */
  wasWorking: boolean;
  /** Called when the client disconnects: the backlog takes over what it left. */
  release(): void;
}

interface BacklogOptions {
  left(): StreamName[];
  /** Transcribes a stream to its end. Throws on failure; may be tried again. */
  work(stream: StreamName, signal: AbortSignal): Promise<void>;
  /** Keeps the stream's conversation open although no audio arrives. */
  touch(stream: StreamName): Promise<Touched>;
  /** Longest time for which a conversation is kept open while its text is pending. */
  maxWaitMs: number;
  clock: Clock;
  log: Log;
}

interface Touched {
  /** Time until the next call of `touch`. */
  againMs: number;
  /** Whether the client may reconnect to this stream. */
  mayReturn: boolean;
}

/** Streams transcribed at the same time. */
const AT_ONCE = 4;
/** Longest sleep of a waiting stream before it checks again whether a place is free. */
const LOOK_MS = 60_000;
/** Pauses between tries; the last one repeats. */
const PAUSES_MS = [1000, 5000, 15_000, 60_000, 300_000];

interface Taken {
  stream: StreamName;
  halt: AbortController;
  /** Whether a try has begun. */
  wasWorking: boolean;
  /** Until when its conversation is kept open. */
  untilAt: number;
  done: Promise<unknown>;
}

export function createBacklog({ left, work, touch, maxWaitMs, clock, log }: BacklogOptions): Backlog {
  const taken = new Map<string, Taken>();
  const claimed = new Set<string>();
  let turns = AT_ONCE;
  let turnFreed = new AbortController();
  let stopped = false;

  async function takeUp() {
    const fresh = stopped ? [] : left().filter(({ id }) => !taken.has(id) && !claimed.has(id));
    await Promise.all(fresh.map(begin));
  }

  /** Resolves once its conversation is kept open. */
  function begin(stream: StreamName): Promise<unknown> {
    const halt = new AbortController();
    const kept = keepOpen(stream);
    const entry: Taken = { stream, halt, wasWorking: false, untilAt: clock.now() + maxWaitMs, done: kept };
    entry.done = kept
      .then(({ mayReturn }) => run(entry, mayReturn ? RETURN_MS : 0))
      .finally(() => taken.delete(stream.id));
    taken.set(stream.id, entry);
    return kept;
  }

  async function run(entry: Taken, waitMs: number) {
    const { stream, halt } = entry;
    await wait(entry, waitMs, halt.signal);
    for (let tries = 0; !halt.signal.aborted; tries++) {
      try {
        await inTurn(entry);
        return;
      } catch (error) {
        if (halt.signal.aborted) return;
        const pauseMs = PAUSES_MS[tries] ?? PAUSES_MS.at(-1) ?? 0;
        log.warn({ err: error, stream: stream.id, pauseMs }, 'audio waits for its text; trying again');
        await wait(entry, pauseMs, halt.signal);
      }
    }
  }

  async function inTurn(entry: Taken) {
    const { stream, halt } = entry;
    while (turns === 0 && !halt.signal.aborted)
      await wait(entry, LOOK_MS, AbortSignal.any([halt.signal, turnFreed.signal]));
    if (halt.signal.aborted) return;
    turns -= 1;
    entry.wasWorking = true;
    try {
      await work(stream, halt.signal);
    } finally {
      turns += 1;
      turnFreed.abort();
      turnFreed = new AbortController();
    }
  }

  /** Sleeps; meanwhile the conversation is kept open, for a limited time. */
  async function wait({ stream, untilAt }: Taken, ms: number, signal: AbortSignal) {
    const endAt = clock.now() + ms;
    while (clock.now() < endAt && !signal.aborted) {
      const { againMs } = clock.now() < untilAt ? await keepOpen(stream) : { againMs: ms };
      await clock.sleep(Math.max(0, Math.min(againMs, endAt - clock.now())), signal).catch(() => {});
    }
  }

  async function keepOpen(stream: StreamName): Promise<Touched> {
    return touch(stream).catch(error => {
      log.warn({ err: error, stream: stream.id }, 'could not keep the conversation open');
      return { againMs: PAUSES_MS[0] ?? 0, mayReturn: false };
    });
  }

  return {
    takeUp,
    async claim(streamId) {
      claimed.add(streamId);
      const entry = taken.get(streamId);
      entry?.halt.abort();
      await entry?.done;
      return {
        wasWorking: entry?.wasWorking ?? false,
        release() {
          claimed.delete(streamId);
          void takeUp();
        },
      };
    },
    async stop() {
      stopped = true;
      for (const { halt } of taken.values()) halt.abort();
      await Promise.all([...taken.values()].map(({ done }) => done));
    },
  };
}
