import { setImmediate as othersTurn } from 'node:timers/promises';

/** Work at a stretch after which everything else gets a turn. */
const STRETCH_MS = 10;

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
