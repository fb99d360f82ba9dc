import type { WireFormat } from '../driver.ts';

/** Conversion to PCM of a codec that core does not support. */
export interface Conversion {
  format: WireFormat;
  convert(frame: Uint8Array): Uint8Array;
}

/** Creates the conversion for one track, as ADPCM has a state. Null: core supports the codec. */
export function conversionOf(format: WireFormat): Conversion | null {
  const { codec, sampleRate, frameMs, adpcm } = format;
  const pcm = { codec: 'pcm16', sampleRate, frameMs };
  if (codec === 'mulaw') return { format: pcm, convert: fromMulaw };
  return codec === 'ima-adpcm' ? { format: pcm, convert: adpcmDecoder(adpcm) } : null;
}

const MULAW_BIAS = 0x84;

/** ITU-T G.711. */
function fromMulaw(frame: Uint8Array): Uint8Array {
  const samples = Buffer.alloc(frame.length * 2);
  frame.forEach((byte, index) => {
    const code = ~byte & 0xff;
    const size = (((code & 0x0f) << 3) + MULAW_BIAS) << ((code >> 4) & 0x07);
    samples.writeInt16LE((code & 0x80) !== 0 ? MULAW_BIAS - size : size - MULAW_BIAS, index * 2);
  });
  return samples;
}

const STEPS = [
  7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97,
  107, 118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724,
  796, 876, 963, 1060, 1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026,
  4428, 4871, 5358, 5894, 6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500,
  20350, 22385, 24623, 27086, 29794, 32767,
];
const INDEX_STEPS = [-1, -1, -1, -1, 2, 4, 6, 8];
/** Header of a frame: predictor (16 bits), index, and an unused byte. */
const STATE_BYTES = 4;

/** IMA ADPCM, 4 bits a sample. */
function adpcmDecoder({ state = 'kept', nibbles = 'low-first' }: NonNullable<WireFormat['adpcm']> = {}) {
  let predictor = 0;
  let index = 0;

  function next(nibble: number): number {
    const step = STEPS[index] ?? 0;
    const change =
      (step >> 3) +
      ((nibble & 4) !== 0 ? step : 0) +
      ((nibble & 2) !== 0 ? step >> 1 : 0) +
      ((nibble & 1) !== 0 ? step >> 2 : 0);
    predictor = clamp(predictor + ((nibble & 8) !== 0 ? -change : change), -32768, 32767);
    index = clamp(index + (INDEX_STEPS[nibble & 7] ?? 0), 0, STEPS.length - 1);
    return predictor;
  }

  return (frame: Uint8Array): Uint8Array => {
    const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.length);
    const from = state === 'in-frame' ? STATE_BYTES : 0;
    if (bytes.length <= from) return new Uint8Array();
    if (state === 'in-frame') {
      predictor = bytes.readInt16LE(0);
      index = clamp(bytes[2] ?? 0, 0, STEPS.length - 1);
    }
    const samples = Buffer.alloc((bytes.length - from) * 4);
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      const [first, second] = nibbles === 'low-first' ? [byte & 15, byte >> 4] : [byte >> 4, byte & 15];
      samples.writeInt16LE(next(first), (at - from) * 4);
      samples.writeInt16LE(next(second), (at - from) * 4 + 2);
    }
    return samples;
  };
}

function clamp(value: number, from: number, to: number): number {
  return Math.max(from, Math.min(to, value));
}
