import { SAMPLE_RATE } from '../audio/pcm.ts';

/** A channel this far behind counts as paused, and is mixed as silence. */
const LAG = 2 * SAMPLE_RATE;

/** Mixes the channels of one recording into one. */
export interface Mixer {
  /**
   * Adds samples of a channel that begin at `start`. Returns the samples that are complete now; after a break of more
   * than two seconds, `rest` holds what came before it.
   */
  push(channel: number, start: number, samples: Int16Array): { rest: Int16Array | null; ready: Int16Array };
  /** Returns the remainder. */
  end(): Int16Array;
}

/** @param channels the channel numbers */
export function createMixer(channels: readonly number[]): Mixer {
  let sums = new Int32Array(0);
  /** Position of the first sample in `sums`. */
  let base = 0;
  const ends = new Map<number, number>();
  const reached = () => Math.max(base, ...ends.values());

  function take(length: number): Int16Array {
    const taken = Int16Array.from(sums.subarray(0, length), sum => Math.round(sum / channels.length));
    sums = sums.slice(length);
    base += length;
    return taken;
  }

  function moveTo(start: number) {
    base = start;
    for (const channel of channels) ends.set(channel, start);
  }

  function add(start: number, samples: Int16Array) {
    const missing = start + samples.length - base - sums.length;
    if (missing > 0) {
      const longer = new Int32Array(sums.length + missing);
      longer.set(sums);
      sums = longer;
    }
    for (let i = Math.max(0, base - start); i < samples.length; i++)
      sums[start - base + i] = (sums[start - base + i] ?? 0) + (samples[i] ?? 0);
  }

  return {
    push(channel, start, samples) {
      let rest: Int16Array | null = null;
      if (ends.size === 0) moveTo(start);
      else if (start - reached() > LAG) {
        rest = take(sums.length);
        moveTo(start);
      }
      add(start, samples);
      ends.set(channel, Math.max(start + samples.length, ends.get(channel) ?? 0));
      const complete = Math.max(Math.min(...ends.values()), reached() - LAG);
      return { rest, ready: take(Math.max(0, complete - base)) };
    },
    end: () => take(sums.length),
  };
}
