import type { AudioFormat } from '../../audio/codecs.ts';
import { samplesIn } from '../../audio/durations.ts';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { Stream } from '../../contract/model.ts';
import { Deque } from '../../runtime/queue.ts';
import type { AudioEntry } from '../spool/spool.ts';

/** Counts the samples of a stream at its own rate, by message, as messages arrive and before they are decoded. */
export interface SampleCount {
  /** Counts the next message. */
  add(entry: Pick<AudioEntry, 'number' | 'gapMs' | 'bytes'>): void;
  /** Samples of the messages below `number`, gaps included. Must be called with growing numbers. */
  below(number: number): number;
}

interface CountOptions {
  format: AudioFormat;
  /** Whether the first byte of each message is its channel. */
  tagged: boolean;
  /** Its channels, each with what was counted before: the first messages, and their samples at 16 kHz. */
  streams: readonly Pick<Stream, 'channel' | 'received' | 'receivedSample'>[];
}

export function createSampleCount({ format, tagged, streams }: CountOptions): SampleCount {
  const perMs = format.sampleRate / 1000;
  const channels = streams.map(({ channel, received, receivedSample }) => ({
    ...{ channel, received, samples: receivedSample * (format.sampleRate / SAMPLE_RATE) },
  }));
  const longest = () => Math.max(...channels.map(({ samples }) => samples));
  const ends = new Deque<{ end: number; samples: number }>();
  let next = 0;
  let told = longest();

  return {
    add({ number, gapMs, bytes }) {
      if (number < next) return; // written again after a failed write that had reached the disk
      next = number + 1;
      const samples = samplesIn(format, tagged ? bytes.subarray(1) : bytes);
      for (const each of channels) {
        if (number < each.received) continue;
        each.samples += gapMs * perMs;
        if (!tagged || bytes[0] === each.channel) each.samples += samples;
      }
      ends.push({ end: next, samples: longest() });
    },
    below(number) {
      for (let first = ends.at(0); first && first.end <= number; first = ends.at(0)) {
        told = first.samples;
        ends.drop(1);
      }
      return Math.floor(told);
    },
  };
}
