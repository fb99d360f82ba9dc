/** Share of one stream in the event loop: a stream with much work pauses now and then so that others can run. */
export interface Turn {
  /**
   * Starts a piece of work.
   * @param late the work has been waiting: pauses within it, such as for the disk, count as work
   */
  begin(late?: boolean): void;
  /** Ends a piece of work. Returns what to await before the next one, if anything. */
  end(): Promise<void> | undefined;
}

/** Continuous work after which other streams run. */
const TURN_MS = 3;
/** Longest pause between two pieces of work that still counts as continuous: thousands of tiny pieces add up. */
const PAUSE_MS = 1;
/** Half-life of the recorded usage of a stream. */
const HALF_LIFE_MS = 1000;
const LATE_MS = 500;

/** Creates the share of one stream. Uses monotonic time, as it is about processor time rather than the date. */
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
/** A stream with this much recent usage waits behind this many later arrivals. */
const STANDS_BACK = 10;

/**
 * Queue for all long work that can wait. One caller proceeds in each round of the event loop, so that a stream with
 * little work waits for at most one piece of the others'. A stream with much recent usage lets one that lags behind its
 * speaker go first.
 * @param takenMs recent usage of the caller
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
