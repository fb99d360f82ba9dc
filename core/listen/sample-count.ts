import type { AudioFormat } from '../audio/codecs.ts';
import { samplesIn } from '../audio/durations.ts';
import { SAMPLE_RATE } from '../audio/pcm.ts';
import { Deque } from './deque.ts';
import type { AudioEntry } from './spool/spool.ts';

/** Samples of a stream at its own rate, by message: counted as the messages come, before they are decoded. */
export interface SampleCount {
  /** The next message. */
  add(entry: AudioEntry): void;
  /** Skips samples (at 16 kHz) that an earlier connection has processed. */
  heardBefore(samples: number): void;
  /** Samples of the messages below `number`, gaps included. Called with numbers that grow. */
  below(number: number): number;
}

interface CountOptions {
  format: AudioFormat;
  /** The first byte of each message is its channel. */
  tagged: boolean;
  /** Samples before the first message, at 16 kHz, as far as they were heard. */
  before: number;
}

export function createSampleCount({ format, tagged, before }: CountOptions): SampleCount {
  const perMs = format.sampleRate / 1000;
  const ends = new Deque<{ end: number; samples: number }>();
  /** By channel: where what comes next begins. */
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
