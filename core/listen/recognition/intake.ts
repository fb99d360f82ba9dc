import { PassThrough } from 'node:stream';
import { type AudioFormat, createDecoder } from '../../audio/codecs.ts';
import { AppError } from '../../runtime/errors.ts';

/** Speech of one request, between a socket and a recogniser. */
export interface Intake {
  /** Accepts bytes. @throws {AppError} `too_large` beyond the limit */
  take(bytes: Uint8Array): void;
  /** Ends the speech. */
  end(): void;
  /** Whether the reader lags behind: the socket is paused, so its silence is not a fault of the client. */
  readonly isFull: boolean;
  readonly isOver: boolean;
  /** 16 kHz mono. Throws when the signal is aborted. */
  samples(): AsyncGenerator<Int16Array>;
}

interface Options {
  /** Format with 16 bits per sample. */
  format: AudioFormat;
  /** Maximum length. */
  seconds: number;
  /** Where it comes from. */
  source: { pause(): unknown; resume(): unknown };
  signal: AbortSignal;
}

/** Bytes in memory from which the source is paused. */
const HELD_BYTES = 256 * 1024;

export function createIntake({ format, seconds, source, signal }: Options): Intake {
  const bytes = new PassThrough({ highWaterMark: HELD_BYTES, signal });
  const most = seconds * format.sampleRate * format.channels * 2;
  let taken = 0;
  bytes.on('drain', () => source.resume());
  bytes.on('error', () => undefined); // it is thrown to the reader

  async function* samples() {
    const decoder = await createDecoder(format);
    try {
      for await (const chunk of bytes) yield (await decoder.decode(chunk)).pcm;
    } finally {
      decoder.close();
    }
  }

  return {
    take(chunk) {
      taken += chunk.byteLength;
      if (taken > most)
        throw new AppError(
          'too_large',
          `A request has ${seconds} s of speech at most: connect again for more, or raise --seconds`,
        );
      if (!bytes.write(chunk)) source.pause();
    },
    end: () => void bytes.end(),
    get isFull() {
      return bytes.writableNeedDrain;
    },
    get isOver() {
      return bytes.writableEnded;
    },
    samples,
  };
}
