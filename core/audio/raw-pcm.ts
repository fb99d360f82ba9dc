import type { AudioFormat, Decoder } from './codecs.ts';
import { createConcealer } from './concealer.ts';
import { bytesToSamples, mixToMono, SAMPLE_RATE } from './pcm.ts';
import { createResampler } from './resample.ts';

/** Reads little-endian 16-bit samples. */
export const createPcm16Decoder = (format: AudioFormat) => createRawDecoder(format, 2, bytesToSamples);

/** Reads unsigned 8-bit samples, in which silence is 128. */
export const createPcm8Decoder = (format: AudioFormat) => createRawDecoder(format, 1, widen);

/**
 * Decodes samples without a header, channels interleaved. An incomplete last frame is completed by the next
 * message.
 */
async function createRawDecoder(
  { sampleRate, channels }: AudioFormat,
  sampleBytes: number,
  toSamples: (bytes: Uint8Array) => Int16Array,
): Promise<Decoder> {
  const resampler = sampleRate === SAMPLE_RATE ? null : await createResampler(sampleRate);
  const concealer = createConcealer();
  const frameBytes = sampleBytes * channels;
  let carried = new Uint8Array(0);

  function wholeFrames(message: Uint8Array): Uint8Array {
    const bytes = carried.length === 0 ? message : joinBytes(carried, message);
    const whole = bytes.length - (bytes.length % frameBytes);
    carried = bytes.slice(whole);
    return bytes.subarray(0, whole);
  }

  return {
    decode(message) {
      const mono = mixToMono(toSamples(wholeFrames(message)), channels);
      const pcm = resampler ? resampler.push(mono) : mono;
      concealer.heard(pcm);
      return { pcm, bad: 0 };
    },
    conceal: concealer.conceal,
    get carries() {
      return carried.length > 0;
    },
    reset() {
      carried = new Uint8Array(0);
      concealer.reset();
    },
    close() {
      resampler?.close();
    },
  };
}

function widen(bytes: Uint8Array): Int16Array {
  return Int16Array.from(bytes, value => (value - 128) << 8);
}

function joinBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
