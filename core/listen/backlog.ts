import type { Log } from '../log.ts';
import type { Clock } from '../model.ts';
import type { StreamName } from './spool.ts';

/** Streams whose audio is held and whose client is not here: each is worked through until its text is stored. */
export interface Backlog {
  /** Takes up what is left, and keeps the conversations that wait for it open. Resolves once these are. */
  takeUp(): Promise<void>;
  /** The client of a stream is here. Resolves when nothing works on it any more. */
  claim(streamId: string): Promise<Claim>;
  stop(): Promise<void>;
}

export interface Claim {
  /** Whether it was being worked on: it has come further. */
  wasWorking: boolean;
  /** The client has gone: what it left is taken up. */
  release(): void;
}

interface BacklogOptions {
  left(): StreamName[];
  /** Works a stream through; throws where that fails, and may be tried again. */
  work(stream: StreamName, signal: AbortSignal): Promise<void>;
  /** The conversation of the stream lives on, though nothing comes. Resolves to how soon to say so again, in ms. */
  touch(stream: StreamName): Promise<number>;
  /** How long a conversation is kept open for text that does not come. */
  maxWaitMs: number;
  clock: Clock;
  log: Log;
}

/** Pauses between tries; the last one goes on. */
const PAUSES_MS = [1000, 5000, 15_000, 60_000, 300_000];

export function createBacklog({ left, work, touch, maxWaitMs, clock, log }: BacklogOptions): Backlog {
  const working = new Map<string, { halt: AbortController; done: Promise<void> }>();
  const claimed = new Set<string>();
  let stopped = false;

  async function takeUp() {
    const fresh = stopped ? [] : left().filter(({ id }) => !working.has(id) && !claimed.has(id));
    await Promise.all(fresh.map(begin));
  }

  /** Resolves once its conversation is kept open. */
  function begin(stream: StreamName): Promise<unknown> {
    const halt = new AbortController();
    const kept = keepOpen(stream);
    const done = kept.then(() => run(stream, halt.signal)).finally(() => working.delete(stream.id));
    working.set(stream.id, { halt, done });
    return kept;
  }

  async function run(stream: StreamName, signal: AbortSignal) {
    const since = clock.now();
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        await work(stream, signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const pauseMs = PAUSES_MS[tries] ?? PAUSES_MS.at(-1) ?? 0;
        log.warn({ err: error, stream: stream.id, pauseMs }, 'audio waits for its text; trying again');
        await wait(stream, pauseMs, since + maxWaitMs, signal).catch(() => {});
      }
    }
  }

  /** Meanwhile its conversation is kept open, but not for ever. */
  async function wait(stream: StreamName, pauseMs: number, untilAt: number, signal: AbortSignal) {
    const endAt = clock.now() + pauseMs;
    while (clock.now() < endAt) {
      const soonMs = clock.now() < untilAt ? await keepOpen(stream) : pauseMs;
      await clock.sleep(Math.min(soonMs, endAt - clock.now()), signal);
    }
  }

  async function keepOpen(stream: StreamName): Promise<number> {
    return touch(stream).catch(error => {
      log.warn({ err: error, stream: stream.id }, 'could not keep the conversation open');
      return PAUSES_MS[0] ?? 0;
    });
  }

  return {
    takeUp,
    async claim(streamId) {
      claimed.add(streamId);
      const entry = working.get(streamId);
      entry?.halt.abort();
      await entry?.done;
      return {
        wasWorking: entry !== undefined,
        release() {
          claimed.delete(streamId);
          void takeUp();
        },
      };
    },
    async stop() {
      stopped = true;
      for (const { halt } of working.values()) halt.abort();
      await Promise.all([...working.values()].map(({ done }) => done));
    },
  };
}
