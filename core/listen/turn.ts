import type { Clock } from '../model.ts';

/** The part of one stream in a thread that carries many: whoever has much to do at once rests now and then. */
export interface Turn {
  begin(): void;
  /** What to wait for before the next piece of work, if anything. */
  end(): Promise<void> | undefined;
}

/** Work in so short a time is much: who speaks now takes a tenth of a millisecond every 20. */
const MUCH_MS = 5;
const WITHIN_MS = 50;

export function createTurn(clock: Clock): Turn {
  let beganAt = 0;
  let since = 0;
  let workedMs = 0;
  return {
    begin() {
      beganAt = clock.now();
    },
    end() {
      const now = clock.now();
      if (now - since > WITHIN_MS) {
        since = now;
        workedMs = 0;
      }
      workedMs += now - beganAt;
      if (workedMs < MUCH_MS) return undefined;
      workedMs = 0;
      return nextInLine();
    },
  };
}

/** One line for all streams of the process: in each round of the event loop one goes on, however many wait. */
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
