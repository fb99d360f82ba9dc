import type { ExecutionContext } from 'ava';
import type { Clock } from '../../core/contract/model.ts';
import { manualClock } from './manual-clock.ts';

export interface FastClock extends Clock {
  /** Speeds time up by this factor from now on. */
  hasten(factor: number): void;
}

const TICK_MS = 1;
/** Longest time between two ticks, so that on a busy machine the clock waits for the work. */
const MOST_MS = 5;

/** A clock that runs at normal speed until it is sped up. */
export function fastClock(t: ExecutionContext): FastClock {
  const clock = manualClock(Date.now());
  let factor = 1;
  let seenAt = performance.now();
  const timer = setInterval(() => {
    const at = performance.now();
    clock.advance(Math.min(at - seenAt, MOST_MS) * factor);
    seenAt = at;
  }, TICK_MS);
  t.teardown(() => clearInterval(timer));
  return {
    now: () => Math.floor(clock.now()),
    sleep: clock.sleep,
    hasten(times) {
      factor = times;
    },
  };
}
