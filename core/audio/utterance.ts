import type { Utterance } from '../contract/plugin.ts';
import { orAborted } from '../runtime/deadline.ts';
import { AppError } from '../runtime/errors.ts';
import { encodeWav } from './pcm.ts';
import { createSampleBuffer } from './sample-buffer.ts';

/** An utterance as its writer sees it. */
export interface GrowingUtterance extends Utterance {
  /** Appends samples. Throws once the utterance has ended. */
  append(samples: Int16Array): void;
  end(): void;
  /** Position after the last sample so far. */
  readonly endSample: number;
  /** Whether it may still grow. */
  readonly isOpen: boolean;
  /** Resolves when `end` is called. */
  readonly ended: Promise<void>;
  /** Frees the audio before this position; reading it then throws. */
  release(beforeSample: number): void;
  /** Memory held. */
  readonly bytes: number;
}

export function createUtterance(options: { startSample: number; channel: number }): GrowingUtterance {
  const { startSample, channel } = options;
  const audio = createSampleBuffer(startSample);
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<void>();
  const waiting = new Set<() => void>();
  let open = true;

  function wakeReaders() {
    const readers = [...waiting];
    waiting.clear();
    for (const wake of readers) wake();
  }

  /** Returns the samples from `position` on; null: there are none yet. */
  function read(position: number): Int16Array | null {
    if (position < audio.start) throw released(audio.start);
    return position < audio.end ? audio.slice(position, audio.end) : null;
  }

  // Written by hand: the `return` of an async generator waits for a pending `next`, which may wait for speech for ever.
  function pcm(from = startSample): AsyncIterableIterator<Int16Array> {
    let position = Math.max(from, startSample);
    let reading = true;
    let wake = () => {};

    const waitForGrowth = () =>
      new Promise<void>(resolve => {
        wake = resolve;
        waiting.add(resolve);
      });

    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        while (reading) {
          const samples = read(position);
          if (samples) {
            position += samples.length;
            return { done: false, value: samples };
          }
          if (!open) break;
          await waitForGrowth();
        }
        return { done: true, value: undefined };
      },
      async return() {
        reading = false;
        waiting.delete(wake);
        wake();
        return { done: true, value: undefined };
      },
    };
  }

  return {
    startSample,
    channel,
    ended,
    pcm,
    async wav(from = startSample, signal) {
      await orAborted(ended, signal);
      return encodeWav(read(Math.max(from, startSample)) ?? new Int16Array(0));
    },
    append(samples) {
      if (!open) throw new AppError('internal', 'An utterance that has ended cannot grow');
      audio.append(samples);
      wakeReaders();
    },
    end() {
      open = false;
      resolveEnded();
      wakeReaders();
    },
    release: audio.release,
    get isOpen() {
      return open;
    },
    get endSample() {
      return audio.end;
    },
    get bytes() {
      return audio.bytes;
    },
  };
}

function released(start: number): AppError {
  return new AppError(
    'internal',
    `The audio of this utterance before sample ${start} was released; read from there on`,
  );
}
