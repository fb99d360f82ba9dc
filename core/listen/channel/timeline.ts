import type { StreamProgress } from '../../contract/model.ts';

export interface Timeline {
  /**
   * Places message `number`, decoded to `samples`, after a gap; returns the position of its first sample.
   * @param message.split whether its last sample ends in the next message: the two must be replayed together
   */
  place(message: { number: number; gap: number; samples: number; split?: boolean }): number;
  /** Returns the progress to store once everything below `through` is done. */
  progress(through: number): StreamProgress;
  /** End of the last placed message. */
  readonly position: number;
}

/**
 * Maps messages of a stream to their place in time: converts the sample `through` into the message number from which to
 * replay. Numbers may have holes; a lost message takes only the time of the gap that its client reports.
 */
export function createTimeline({ received, receivedSample }: StreamProgress): Timeline {
  let position = receivedSample;
  let reached = { received, receivedSample };
  const ends: (typeof reached)[] = [];

  return {
    place({ number, gap, samples, split = false }) {
      const start = position + gap;
      position = start + samples;
      if (!split) ends.push({ received: number + 1, receivedSample: position });
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
