import { setTimeout as delay } from 'node:timers/promises';

/** Time, passed in so that tests can own it. */
export interface Clock {
  /** UTC epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock over `now`, which the process's main file hands in. */
export function createClock(now: () => number): Clock {
  return {
    now,
    async sleep(ms, signal) {
      await delay(ms, undefined, signal ? { signal } : {});
    },
  };
}
