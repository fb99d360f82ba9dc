import { Encoder } from '@evan/opus/wasm/index.mjs';

/** The codecs that the simulated pendant speaks, by the id that it reports. */
export const CODECS = {
  0: { frameSamples: 160, encoder: pcm },
  20: { frameSamples: 160, encoder: opus },
  21: { frameSamples: 320, encoder: opus },
} as const;
export type CodecId = keyof typeof CODECS;

const SAMPLE_RATE = 16000;

/** A recording as the device's encoder would send it: frame after frame, then silence for ever. */
export interface FrameSource {
  next(): Uint8Array;
  /** Frames of the recording itself. */
  readonly length: number;
  /** Of one frame. */
  readonly frameMs: number;
}

/** @param samples 16 kHz mono; `loop`: begins again instead of falling silent */
export function createFrames(
  samples: Int16Array,
  { codecId, loop = false }: { codecId: CodecId; loop?: boolean },
): FrameSource {
  const { frameSamples, encoder } = CODECS[codecId];
  const encode = encoder();
  const length = Math.ceil(samples.length / frameSamples);
  let index = 0;
  return {
    next() {
      const at = (loop ? index % length : index) * frameSamples;
      index += 1;
      const frame = new Int16Array(frameSamples);
      frame.set(samples.subarray(at, at + frameSamples));
      return encode(frame);
    },
    length,
    frameMs: (frameSamples * 1000) / SAMPLE_RATE,
  };
}

function pcm(): (frame: Int16Array) => Uint8Array {
  return frame => {
    const bytes = Buffer.alloc(frame.length * 2);
    frame.forEach((sample, i) => void bytes.writeInt16LE(sample, i * 2));
    return bytes;
  };
}

/** As the firmware sets it up: 32 kbit/s with variable rate, complexity 3, the low-delay mode. */
function opus(): (frame: Int16Array) => Uint8Array {
  const encoder = new Encoder({ channels: 1, sample_rate: SAMPLE_RATE, application: 'restricted_lowdelay' });
  encoder.bitrate = 32000;
  encoder.vbr = true;
  encoder.complexity = 3;
  return frame => encoder.encode(frame);
}
