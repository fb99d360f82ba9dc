import { setTimeout as delay } from 'node:timers/promises';

/** Time, injected so that tests can control it. */
export interface Clock {
  /** UTC epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The system's clock; `now` is passed in by the process's main file. */
export function createClock(now: () => number): Clock {
  return {
    now,
    async sleep(ms, signal) {
      await delay(ms, undefined, signal ? { signal } : {});
    },
  };
}
