import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';

/** Called between pieces of long work. Returns a promise to await before the next piece, or undefined. */
export type Pace = () => Promise<void> | undefined;

/** Longest uninterrupted run of work before other tasks get a turn. */
const STRETCH_MS = 5;

let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves for one caller in each round of the event loop, so that many long tasks together block it no
 * longer than one does.
 */
export function othersTurn(): Promise<unknown> {
  last = last.then(() => nextRound());
  return last;
}

export function createPace(): Pace {
  let beganAt = performance.now();
  return () => {
    if (performance.now() - beganAt < STRETCH_MS) return undefined;
    return othersTurn().then(() => {
      beganAt = performance.now();
    });
  };
}

/** Longest stretch of background work without a rest. */
const BACKGROUND_MS = 3;
/** Rest after a stretch, as a multiple of it: the work takes a quarter of a processor at most. */
const REST = 3;
const MAX_REST_MS = 50;

/**
 * Paces long work that nobody waits for in the next seconds: as `createPace`, with a rest after each stretch. A stretch is
 * measured in time that the event loop was busy: waiting for a disk is no work, and the work of others prolongs the rest.
 * @param signal once aborted, the promises reject with its reason
 * @param busyMs milliseconds that the event loop has been busy
 */
export function createBackgroundPace(
  signal?: AbortSignal,
  busyMs: () => number = busySinceStart,
  rest: (ms: number) => Promise<unknown> = sleep,
): Pace {
  let began = busyMs();
  return () => {
    const stretchMs = busyMs() - began;
    if (stretchMs < BACKGROUND_MS) return undefined;
    return rest(Math.min(REST * stretchMs, MAX_REST_MS))
      .then(othersTurn)
      .then(() => {
        signal?.throwIfAborted();
        began = busyMs();
      });
  };
}

function busySinceStart(): number {
  return performance.eventLoopUtilization().active;
}
