import type { Clock } from '../../core/contract/model.ts';

export interface ManualClock extends Clock {
  /** Moves time on and wakes every sleeper that is due. */
  advance(ms: number): void;
  /** Resolves when someone sleeps for exactly `ms`: a way to wait until code is idle. */
  asleep(ms: number): Promise<void>;
}

/** A clock that a test moves. */
export function manualClock(startAt = Date.UTC(2026, 10, 2, 12)): ManualClock {
  let now = startAt;
  const sleepers = new Map<object, { until: number; wake(): void }>();
  const watchers = new Set<() => void>();

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal?.aborted) {
      reject(signal.reason);
      return promise;
    }
    const sleeper = {};
    const abort = () => {
      sleepers.delete(sleeper);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    sleepers.set(sleeper, {
      until: now + ms,
      wake() {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', abort);
        resolve();
      },
    });
    for (const look of [...watchers]) look();
    return promise;
  }

  return {
    now: () => now,
    sleep,
    advance(ms) {
      now += ms;
      for (const { until, wake } of [...sleepers.values()]) if (until <= now) wake();
    },
    asleep(ms) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (![...sleepers.values()].some(({ until }) => until === now + ms)) return;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
      return promise;
    },
  };
}
