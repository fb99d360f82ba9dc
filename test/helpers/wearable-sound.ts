import { readFileSync } from 'node:fs';
import { Encoder } from '@evan/opus/wasm/index.mjs';
import lc3 from 'lc3codec';
import type { Sound } from '../../bridge/simulator/board.ts';
import { readWav } from '../../bridge/simulator/wav.ts';

const FIXTURES = new URL('../fixtures/', import.meta.url).pathname;
const SAMPLE_RATE = 16_000;
/** Control requests of libopus. */
const SET_BITRATE = 4002;
const SET_VBR = 4006;

/** Speech at 16 kHz. */
export const speech = await readWav(`${FIXTURES}tomorrow.wav`);

function soundOf(frames: readonly Uint8Array[], frameMs: number): Sound {
  const silence = frames.at(-1) ?? new Uint8Array();
  return { length: frames.length, frameMs, at: index => frames[index] ?? silence };
}

function framesOf<T extends Uint8Array>(frameMs: number, encode: (samples: Int16Array) => T): Uint8Array[] {
  const size = (SAMPLE_RATE * frameMs) / 1000;
  return Array.from({ length: Math.ceil(speech.length / size) }, (_, index) => {
    const samples = new Int16Array(size);
    samples.set(speech.subarray(index * size, (index + 1) * size));
    return Uint8Array.from(encode(samples));
  });
}

/** Encodes the speech as Opus frames of 20 ms. @param bytes constant size of a frame */
export function opusSound(bytes: number): Sound {
  const encoder = new Encoder({ channels: 1, sample_rate: SAMPLE_RATE, application: 'restricted_lowdelay' });
  encoder.ctl(SET_BITRATE, bytes * 8 * 50);
  encoder.ctl(SET_VBR, 0);
  return soundOf(
    framesOf(20, samples => encoder.encode(samples)),
    20,
  );
}

/** Returns the speech as 16-bit little-endian samples. */
export function pcmSound(sampleRate: 8000 | 16_000, frameMs: number): Sound {
  return soundOf(
    framesOf(frameMs, samples => {
      const bytes = Buffer.alloc((sampleRate * frameMs * 2) / 1000);
      for (let at = 0; at < bytes.length / 2; at += 1)
        bytes.writeInt16LE(samples[(at * SAMPLE_RATE) / sampleRate] ?? 0, at * 2);
      return bytes;
    }),
    frameMs,
  );
}

/** Encodes the speech as LC3 frames of 10 ms and 30 bytes. */
export function lc3Sound(): Sound {
  const { LC3FrameDuration, LC3SampleRate } = lc3.Core;
  const encoder = new lc3.Encoder.LC3Encoder(LC3FrameDuration.NMS_10000US, LC3SampleRate.FS_16000);
  return soundOf(
    framesOf(10, samples => Uint8Array.from(encoder.encode(samples, 30))),
    10,
  );
}

/** Returns the speech as AAC in ADTS frames of 64 ms. */
export function aacSound(): Sound {
  const file = readFileSync(`${FIXTURES}tomorrow.aac`);
  const frames: Buffer[] = [];
  for (let at = 0; at + 7 <= file.length; ) {
    const length =
      ((file.readUInt8(at + 3) & 3) << 11) | (file.readUInt8(at + 4) << 3) | (file.readUInt8(at + 5) >> 5);
    frames.push(file.subarray(at, at + length));
    at += length;
  }
  return soundOf(frames, 64);
}
