import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/model.ts';

export interface FastClock extends Clock {
  /** From now on an hour passes in the `factor`th of one; who sleeps already does so to the end. */
  hasten(factor: number): void;
}

/** Real time, until it is hastened. */
export function fastClock(): FastClock {
  let factor = 1;
  let since = { real: performance.now(), told: Date.now() };
  const now = () => since.told + (performance.now() - since.real) * factor;
  return {
    now: () => Math.floor(now()),
    sleep: (ms, signal) => sleep(Math.max(0, ms) / factor, undefined, signal ? { signal } : {}),
    hasten(times) {
      since = { real: performance.now(), told: now() };
      factor = times;
    },
  };
}
