import loadSpeex from '@echogarden/speex-resampler-wasm/simd';
import { SAMPLE_RATE } from './pcm.ts';

/**
 * Brings a stream of mono samples to another rate. After n samples in, n × to / rate are out, rounded up, however they
 * were cut into pieces; the sound itself lags by the filter's half length (at most 5 ms).
 */
export interface Resampler {
  push(samples: Int16Array): Int16Array<ArrayBuffer>;
  close(): void;
}

/** Quality from 0 to 10; 5 keeps everything below 6.4 kHz at half the cost of 6. */
const QUALITY = 5;
/** Samples passed to the module in one call. */
const BLOCK = 4096;

type Speex = Awaited<ReturnType<typeof loadSpeex>>;
let loading: Promise<Speex> | undefined;

/**
 * @param sampleRate input rate in Hz
 * @param to output rate in Hz
 */
export async function createResampler(sampleRate: number, to = SAMPLE_RATE): Promise<Resampler> {
  loading ??= loadSpeex();
  return openResampler(await loading, sampleRate, to);
}

function openResampler(speex: Speex, sampleRate: number, to: number): Resampler {
  const blockOut = Math.ceil((BLOCK * to) / sampleRate) + 1;
  // A single block of the module's memory: two lengths, the input, the output.
  const memory = speex._malloc(8 + 2 * BLOCK + 2 * blockOut);
  const input = memory + 8;
  const output = input + 2 * BLOCK;
  const state = speex._speex_resampler_init(1, sampleRate, to, QUALITY, memory);
  if (!memory || !state) throw new Error(`No memory for a resampler from ${sampleRate} Hz`);
  let open = true;

  function convert(block: Int16Array): Int16Array<ArrayBuffer> {
    speex.HEAP16.set(block, input >> 1);
    speex.HEAPU32[memory >> 2] = block.length;
    speex.HEAPU32[(memory >> 2) + 1] = blockOut;
    speex._speex_resampler_process_int(state, 0, input, memory, output, memory + 4);
    const produced = speex.HEAPU32[(memory >> 2) + 1] ?? 0;
    return speex.HEAP16.slice(output >> 1, (output >> 1) + produced);
  }

  return {
    push(samples) {
      if (!open) throw new Error('The resampler is closed'); // copied, because the module reuses its memory
      const whole = new Int16Array(Math.ceil(samples.length / BLOCK) * blockOut);
      let length = 0;
      for (let at = 0; at < samples.length; at += BLOCK) {
        const part = convert(samples.subarray(at, at + BLOCK));
        whole.set(part, length);
        length += part.length;
      }
      return whole.slice(0, length);
    },
    close() {
      if (!open) return;
      open = false;
      speex._speex_resampler_destroy(state);
      speex._free(memory);
    },
  };
}
