import { Encoder } from '@evan/opus/wasm/index.mjs';

/** The codecs that the simulated pendant speaks, by the id that it reports. */
export const CODECS = {
  0: { frameSamples: 160, encoder: pcm },
  20: { frameSamples: 160, encoder: opus },
  21: { frameSamples: 320, encoder: opus },
} as const;
export type CodecId = keyof typeof CODECS;

const SAMPLE_RATE = 16000;

/** A recording as the device's encoder would send it: so many frames, then silence for ever. */
export interface Frames {
  /** Each is encoded once, whoever asks for it. */
  at(index: number): Uint8Array;
  /** Frames of the recording itself. */
  readonly length: number;
  /** Length of one frame. */
  readonly frameMs: number;
}

/** After so many silent frames they are all alike. */
const SILENT_FRAMES = 100;

/** @param samples 16 kHz mono */
export function createFrames(samples: Int16Array, codecId: CodecId): Frames {
  const { frameSamples, encoder } = CODECS[codecId];
  const encode = encoder();
  const length = Math.ceil(samples.length / frameSamples);
  const frames: Uint8Array[] = [];

  /** Encoders remember what was before, so all frames up to this one are made in their order. */
  function upTo(index: number): Uint8Array {
    while (frames.length <= index) {
      const from = frames.length * frameSamples;
      const frame = new Int16Array(frameSamples);
      frame.set(samples.subarray(from, from + frameSamples));
      frames.push(Uint8Array.from(encode(frame)));
    }
    return frames[index] ?? new Uint8Array();
  }

  return {
    at: index => upTo(Math.min(index, length + SILENT_FRAMES)),
    length,
    frameMs: (frameSamples * 1000) / SAMPLE_RATE,
  };
}

function pcm(): (frame: Int16Array) => Uint8Array {
  return frame => {
    const bytes = Buffer.alloc(frame.length * 2);
    frame.forEach((sample, i) => {
      bytes.writeInt16LE(sample, i * 2);
    });
    return bytes;
  };
}

/** As the firmware sets it up: 32 kbit/s with variable rate, complexity 3, the low-delay mode. */
function opus(): (frame: Int16Array) => Uint8Array {
  const encoder = new Encoder({
    channels: 1,
    sample_rate: SAMPLE_RATE,
    application: 'restricted_lowdelay',
  });
  encoder.bitrate = 32000;
  encoder.vbr = true;
  encoder.complexity = 3;
  return frame => encoder.encode(frame);
}
