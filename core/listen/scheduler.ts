/** The part of one stream in a thread that carries many: whoever has much to do at once rests now and then. */
export interface Turn {
  /** @param late it is work that waited: whoever pauses in it, for the disk, has not done with it */
  begin(late?: boolean): void;
  /** Ends a piece of work; returns what to await before the next one, if anything. */
  end(): Promise<void> | undefined;
}

/** Work at a stretch after which everyone else gets a turn. */
const TURN_MS = 3;
/** Longest time between two pieces of work that still counts as work: thousands of tiny pieces take theirs there. */
const PAUSE_MS = 1;
/** Half-life of the time that a stream has used. */
const HALF_LIFE_MS = 1000;
const LATE_MS = 500;

/** By the time that passes, whatever a server's clock says: it is about what the processor does. */
export function createTurn(): Turn {
  let beganAt = 0;
  let endedAt = 0;
  let workedMs = 0;
  let takenMs = 0;
  let countedAt = 0;
  return {
    begin(late = false) {
      beganAt = performance.now();
      const betweenMs = beganAt - endedAt;
      if (betweenMs <= PAUSE_MS) workedMs += betweenMs;
      else if (!late) workedMs = 0;
    },
    end() {
      endedAt = performance.now();
      workedMs += endedAt - beganAt;
      if (workedMs < TURN_MS) return undefined;
      takenMs = takenMs * 0.5 ** ((endedAt - countedAt) / HALF_LIFE_MS) + workedMs;
      countedAt = endedAt;
      workedMs = 0;
      return nextInLine(takenMs);
    },
  };
}

const waiting: { due: number; go(): void }[] = [];
/** Whoever has taken so much lately stands behind those who come so many times later. */
const STANDS_BACK = 10;

/**
 * The line of all that takes long and can wait: one of them goes on in each round of the event loop, so that whoever
 * has little to do at a time, as a stream that is spoken into, does not wait for more than one. A stream of which much
 * is heard at once lets one go first that has fallen behind its speaker.
 * @param takenMs what it took lately
 */
export function nextInLine(takenMs = 0): Promise<void> {
  return new Promise(go => {
    if (waiting.push({ due: performance.now() + takenMs * STANDS_BACK, go }) === 1) setImmediate(letOneGo);
  });
}

function letOneGo(): void {
  let first = 0;
  for (const [index, { due }] of waiting.entries()) if (due < (waiting[first]?.due ?? due)) first = index;
  const [next] = waiting.splice(first, 1);
  next?.go();
  if (waiting.length > 0) setImmediate(letOneGo);
}

/** Tells whether audio waited so long that it can be processed faster than real time. */
export function isLate(cameAt: number, now: number): boolean {
  return now - cameAt > LATE_MS;
}
