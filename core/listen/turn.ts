import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Clock } from '../model.ts';

/** The part of one stream in a thread that carries many: whoever has much to do at once rests now and then. */
export interface Turn {
  begin(): void;
  /**
   * What to wait for before the next piece of work, if anything.
   * @param isLate the work was due long ago: of all such streams, one goes on in each round of the event loop
   */
  end(isLate?: boolean): Promise<void> | undefined;
}

/** Work after which everyone else gets a turn. */
const TURN_MS = 5;

export function createTurn(clock: Clock): Turn {
  let beganAt = 0;
  let workedMs = 0;
  return {
    begin() {
      beganAt = clock.now();
    },
    end(isLate = false) {
      workedMs += clock.now() - beganAt;
      if (workedMs < TURN_MS) return undefined;
      workedMs = 0;
      return isLate ? nextInLine() : othersTurn();
    },
  };
}

/** One line for all streams of the process. */
const waiting: (() => void)[] = [];

function nextInLine(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(letOneGo);
  });
}

function letOneGo(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneGo);
}
