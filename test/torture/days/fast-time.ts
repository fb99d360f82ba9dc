/**
 * Simulated time for a whole process: replaces every timer and date in it, including those of the Bluetooth
 * library.
 */
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

/** Interval at which the simulated pendant checks what is due. */
const STEP_MS = 5;
/** Longest delay in real time that is made up for. */
const MOST_LATE_MS = 50;

const realSleep = sleep;
const turn = () => new Promise(resolve => setImmediate(resolve));

export interface FastTime {
  /** Advances time step by step, each after the effects of the previous one, until `isOver`. */
  pass(isOver: () => boolean): Promise<void>;
  /** Time stands still while it is on hold. */
  hold(on: boolean): void;
}

/**
 * Stops real time in this process; only `pass` advances it. Sockets and files work as before.
 * @param startAt UTC epoch ms
 * @param speed maximum multiple of real time
 */
export function fastTime(startAt: number, speed: number): FastTime {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: startAt });
  syncBuiltinESMExports(); // for modules that import timers by name

  let isHeld = false;

  return {
    hold(on) {
      isHeld = on;
    },
    async pass(isOver) {
      let seenAt = performance.now();
      let dueMs = 0;
      while (!isOver()) {
        const at = performance.now();
        dueMs += isHeld ? 0 : Math.min(at - seenAt, MOST_LATE_MS) * speed;
        seenAt = at;
        for (; dueMs >= STEP_MS && !isHeld && !isOver(); dueMs -= STEP_MS) {
          mock.timers.tick(STEP_MS);
          await turn();
          if (performance.now() - seenAt > MOST_LATE_MS) break;
        }
        if (dueMs < STEP_MS || isHeld) await realSleep(1);
        else await turn();
      }
    },
  };
}
