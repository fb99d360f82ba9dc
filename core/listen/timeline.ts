import type { StreamProgress } from '../model.ts';

export interface Timeline {
  /** Counts one binary message. False: it is held already (its number is below `received`) and must be dropped. */
  accept(): boolean;
  /** Moves the clock on before the next message; forgotten with that message when it is dropped. */
  gap(samples: number): void;
  /** Places the message just accepted, which decoded to `samples`; resolves to the position of its first sample. */
  place(samples: number): number;
  /** What to store when everything below `through` is done. */
  progress(through: number): StreamProgress;
  /** End of the last placed message. */
  readonly position: number;
}

/**
 * Which message of a stream lies where in time: turns the sample `through` into the message number from which a client
 * may resume. A gap belongs to the message after it, so sending both again counts it once.
 * @param from number of the first message that will come; null: the first that is not held yet
 */
export function createTimeline(stored: StreamProgress, from: number | null): Timeline {
  const heldBelow = stored.received;
  let next = from ?? heldBelow;
  let position = stored.receivedSample;
  let pendingGap = 0;
  let reached = { received: Math.max(heldBelow, next), receivedSample: position };
  const ends: { received: number; receivedSample: number }[] = [];

  return {
    accept() {
      next += 1;
      if (next > heldBelow) return true;
      pendingGap = 0;
      return false;
    },
    gap(samples) {
      pendingGap += samples;
    },
    place(samples) {
      const start = position + pendingGap;
      pendingGap = 0;
      position = start + samples;
      ends.push({ received: next, receivedSample: position });
      return start;
    },
    progress(through) {
      let done = 0;
      for (const end of ends) {
        if (end.receivedSample > through) break;
        reached = end;
        done += 1;
      }
      ends.splice(0, done);
      return { through, ...reached };
    },
    get position() {
      return position;
    },
  };
}
