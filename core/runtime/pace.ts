import { setImmediate as nextRound } from 'node:timers/promises';

/** Work at a stretch after which everything else gets a turn. */
const STRETCH_MS = 5;

let last: Promise<unknown> = Promise.resolve();

/** Resolves for one caller in each round of the event loop: many long pieces of work hold it no longer than one. */
export function othersTurn(): Promise<unknown> {
  last = last.then(() => nextRound());
  return last;
}

/** To be asked between pieces of long work: what to wait for before the next piece, if anything. */
export function createPace(): () => Promise<void> | undefined {
  let beganAt = performance.now();
  return () => {
    if (performance.now() - beganAt < STRETCH_MS) return undefined;
    return othersTurn().then(() => {
      beganAt = performance.now();
    });
  };
}
