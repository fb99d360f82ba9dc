import type { AudioFormat } from '../../audio/codecs.ts';
import { samplesIn } from '../../audio/durations.ts';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import { Deque } from '../../runtime/queue.ts';
import type { AudioEntry } from '../spool/spool.ts';

/** Counts the samples of a stream at its own rate, by message, as messages arrive and before they are decoded. */
export interface SampleCount {
  /** Counts the next message. */
  add(entry: AudioEntry): void;
  /** Skips samples (at 16 kHz) that an earlier connection has processed. */
  heardBefore(samples: number): void;
  /** Samples of the messages below `number`, gaps included. Must be called with growing numbers. */
  below(number: number): number;
}

interface CountOptions {
  format: AudioFormat;
  /** Whether the first byte of each message is its channel. */
  tagged: boolean;
  /** Known samples before the first message, at 16 kHz. */
  before: number;
}

export function createSampleCount({ format, tagged, before }: CountOptions): SampleCount {
  const perMs = format.sampleRate / 1000;
  const ends = new Deque<{ end: number; samples: number }>();
  /** By channel: position of the next sample. */
  const reached = new Map<number, number>();
  let base = before;
  let gaps = 0;
  let told = 0;

  return {
    add({ number, gapMs, bytes }) {
      const channel = tagged ? (bytes[0] ?? 0) : 0;
      gaps += gapMs * perMs;
      const samples = samplesIn(format, tagged ? bytes.subarray(1) : bytes);
      reached.set(channel, (reached.get(channel) ?? 0) + samples);
      ends.push({ end: number + 1, samples: gaps + Math.max(...reached.values()) });
    },
    heardBefore(samples) {
      base = samples;
    },
    below(number) {
      for (let next = ends.at(0); next && next.end <= number; next = ends.at(0)) {
        told = next.samples;
        ends.drop(1);
      }
      return Math.floor(told + base * (format.sampleRate / SAMPLE_RATE));
    },
  };
}
