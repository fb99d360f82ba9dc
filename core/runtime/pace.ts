import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';

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

/** Called between pieces of long work. Returns a promise to await before the next piece, or undefined. */
export function createPace(): () => Promise<void> | undefined {
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

/** Paces long work that nobody waits for in the next seconds: as `createPace`, with a rest after each stretch. */
export function createBackgroundPace(): () => Promise<void> | undefined {
  let beganAt = performance.now();
  return () => {
    const stretchMs = performance.now() - beganAt;
    if (stretchMs < BACKGROUND_MS) return undefined;
    return sleep(Math.min(REST * stretchMs, MAX_REST_MS))
      .then(othersTurn)
      .then(() => {
        beganAt = performance.now();
      });
  };
}
