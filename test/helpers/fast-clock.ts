import type { ExecutionContext } from 'ava';
import type { Clock } from '../../core/contract/model.ts';
import { manualClock } from './manual-clock.ts';

export interface FastClock extends Clock {
  /** From now on an hour passes in the `factor`th of one. */
  hasten(factor: number): void;
}

const TICK_MS = 1;
/** Between two ticks no more passes than this: on a machine that is busy, time waits for those who work. */
const MOST_MS = 5;

/** Time that passes as it does, until it is hastened. */
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
