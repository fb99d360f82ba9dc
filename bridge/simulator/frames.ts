import { Encoder } from '@evan/opus/wasm/index.mjs';

/** Codecs of the simulated pendant by the id that it reports. */
export const CODECS = {
  0: { frameSamples: 160, encoder: pcm },
  20: { frameSamples: 160, encoder: opus },
  21: { frameSamples: 320, encoder: opus },
} as const;
export type CodecId = keyof typeof CODECS;

const SAMPLE_RATE = 16000;

/** Encoded frames of a recording, followed by silence without end. */
export interface Frames {
  /** Returns a frame. Frames are encoded once and shared. */
  at(index: number): Uint8Array;
  /** Number of frames in the recording. */
  readonly length: number;
  /** Duration of a frame. */
  readonly frameMs: number;
}

/** Number of silent frames after which the same one is repeated. */
const SILENT_FRAMES = 100;

/** @param samples 16 kHz mono */
export function createFrames(samples: Int16Array, codecId: CodecId): Frames {
  const { frameSamples, encoder } = CODECS[codecId];
  const encode = encoder();
  const length = Math.ceil(samples.length / frameSamples);
  const frames: Uint8Array[] = [];

  /** Encodes all frames up to this one in order, because the output of an encoder depends on earlier frames. */
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

/** Creates an Opus encoder with the settings of the firmware: 32 kbit/s VBR, complexity 3, low delay. */
function opus(): (frame: Int16Array) => Uint8Array {
  const encoder = new Encoder({
    channels: 1,
    sample_rate: SAMPLE_RATE,
    application: 'restricted_lowdelay',
  });
  return frame => encoder.encode(frame);
}
