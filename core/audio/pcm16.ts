import type { AudioFormat, Decoder } from './codecs.ts';
import { bytesToSamples, mixToMono, SAMPLE_RATE } from './pcm.ts';
import { createResampler } from './resample.ts';

/** Little-endian 16-bit samples, channels interleaved. What is no whole frame is carried over to the next message. */
export async function createPcm16Decoder({ sampleRate, channels }: AudioFormat): Promise<Decoder> {
  const resampler = sampleRate === SAMPLE_RATE ? null : await createResampler(sampleRate);
  const frameBytes = 2 * channels;
  let carried = new Uint8Array(0);

  function wholeFrames(message: Uint8Array): Uint8Array {
    const bytes = carried.length === 0 ? message : joinBytes(carried, message);
    const whole = bytes.length - (bytes.length % frameBytes);
    carried = bytes.slice(whole);
    return bytes.subarray(0, whole);
  }

  return {
    decode(message) {
      const mono = mixToMono(bytesToSamples(wholeFrames(message)), channels);
      return { pcm: resampler ? resampler.push(mono) : mono, bad: 0 };
    },
    close() {
      resampler?.close();
    },
  };
}

function joinBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
