import { AppError } from '../runtime/errors.ts';

/** The internal form of audio: signed 16-bit samples, mono, at this rate in Hz. */
export const SAMPLE_RATE = 16_000;

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const WAV_HEADER_BYTES = 44;
const PCM = 1;
const EXTENSIBLE = 0xfffe;

/** Interleaved 16-bit samples as stored in a file. */
export interface Wav {
  sampleRate: number;
  channels: number;
  samples: Int16Array<ArrayBuffer>;
}

/** Builds a WAV file of 16-bit mono samples. */
export function encodeWav(samples: Int16Array, sampleRate = SAMPLE_RATE): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(WAV_HEADER_BYTES + samples.byteLength);
  const view = new DataView(file.buffer);
  writeTag(file, 0, 'RIFF');
  view.setUint32(4, file.length - 8, true);
  writeTag(file, 8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, PCM, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  writeTag(file, 36, 'data');
  view.setUint32(40, samples.byteLength, true);
  file.set(samplesToBytes(samples), WAV_HEADER_BYTES);
  return file;
}

/** Reads a WAV file of any sample rate, number of channels and depth. Throws `invalid_input` for anything else. */
export function parseWav(file: Uint8Array): Wav {
  const { sampleRate, channels, dataStart, dataBytes, decode } = readWavLayout(file);
  return { sampleRate, channels, samples: decode(file.subarray(dataStart, dataStart + dataBytes)) };
}

/** Position and format of the samples of a WAV file. */
interface WavLayout {
  sampleRate: number;
  channels: number;
  /** Bytes of one sample of each channel. */
  frameBytes: number;
  dataStart: number;
  /** Length according to the file; wrong where a recorder was switched off. */
  dataBytes: number;
  /** Decodes whole frames into interleaved samples. */
  decode(bytes: Uint8Array): Int16Array<ArrayBuffer>;
}

/**
 * @param head the file's beginning, at least up to its samples
 * @throws AppError `invalid_input`
 */
export function readWavLayout(head: Uint8Array): WavLayout {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  if (readTag(head, 0) !== 'RIFF' || readTag(head, 8) !== 'WAVE') throw notWav('it has no RIFF/WAVE header');
  let format: Format | null = null;
  for (const chunk of chunks(head, view)) {
    if (chunk.tag === 'fmt ') format = readFormat(view, chunk.start, chunk.length);
    if (chunk.tag !== 'data') continue;
    if (!format) throw notWav('its data comes before its format');
    const { sampleRate, channels, coding, bits } = format;
    return {
      sampleRate,
      channels,
      frameBytes: (channels * bits) / 8,
      dataStart: chunk.start,
      dataBytes: chunk.told,
      decode: bytes => decodeSamples(bytes, coding, bits),
    };
  }
  throw notWav('it has no data');
}

/** Yields the chunks of a RIFF file, each cut to the bytes that exist. */
function* chunks(file: Uint8Array, view: DataView) {
  let at = 12;
  while (at + 8 <= file.length) {
    const start = at + 8;
    const told = view.getUint32(at + 4, true);
    yield { tag: readTag(file, at), start, told, length: Math.min(told, file.length - start) };
    at = start + told + (told % 2);
  }
}

interface Format {
  sampleRate: number;
  channels: number;
  coding: number;
  bits: number;
}

function readFormat(view: DataView, start: number, length: number): Format {
  if (length < 16) throw notWav('its format is cut off');
  const tag = view.getUint16(start, true);
  // The extensible format gives the actual one in the first two bytes of its GUID.
  const coding = tag === EXTENSIBLE && length >= 26 ? view.getUint16(start + 24, true) : tag;
  const bits = view.getUint16(start + 14, true);
  if (READERS[`${coding}/${bits}`] === undefined) throw notWav(`it holds coding ${coding} with ${bits} bits`);
  const channels = view.getUint16(start + 2, true);
  const sampleRate = view.getUint32(start + 4, true);
  if (channels === 0 || sampleRate === 0) throw notWav('it names no channels or no sample rate');
  if (channels > MAX_CHANNELS || sampleRate < MIN_RATE || sampleRate > MAX_RATE)
    throw notWav(
      `it has ${channels} channels at ${sampleRate} Hz; at most ${MAX_CHANNELS}, and ${MIN_RATE} to ${MAX_RATE} Hz, can be read`,
    );
  return { channels, sampleRate, coding, bits };
}

const MAX_CHANNELS = 32;
const MIN_RATE = 1000;
const MAX_RATE = 384_000;

/** Returns one sample, from -1 to 1, according to the file's coding and bit depth. */
type Reader = (view: DataView, at: number) => number;
const READERS: Readonly<Record<string, Reader>> = {
  '1/8': (view, at) => (view.getUint8(at) - 128) / 128,
  '1/16': (view, at) => view.getInt16(at, true) / 2 ** 15,
  '1/24': (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23,
  '1/32': (view, at) => view.getInt32(at, true) / 2 ** 31,
  '3/32': (view, at) => view.getFloat32(at, true),
  '3/64': (view, at) => view.getFloat64(at, true),
};

/** Converts to 16-bit samples: clips what is too loud, and replaces NaN by silence. */
function decodeSamples(bytes: Uint8Array, coding: number, bits: number): Int16Array<ArrayBuffer> {
  const read = READERS[`${coding}/${bits}`];
  if (read === undefined || (coding === PCM && bits === 16)) return bytesToSamples(bytes);
  const size = bits / 8;
  const samples = new Int16Array(Math.floor(bytes.length / size));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < samples.length; i++) {
    const value = Math.round(read(view, i * size) * 2 ** 15);
    samples[i] = Math.max(-32768, Math.min(32767, value));
  }
  return samples;
}

/** Reads little-endian bytes as samples; an odd last byte is ignored. */
export function bytesToSamples(bytes: Uint8Array): Int16Array<ArrayBuffer> {
  const samples = new Int16Array(bytes.length >> 1);
  const copied = Buffer.from(samples.buffer);
  copied.set(bytes.subarray(0, samples.byteLength)); // far faster than sample by sample
  if (!IS_LITTLE_ENDIAN) copied.swap16();
  return samples;
}

/** Returns samples as little-endian bytes. */
export function samplesToBytes(samples: Int16Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < samples.length; i++) view.setInt16(2 * i, samples[i] ?? 0, true);
  return bytes;
}

/** Mixes interleaved channels to one; an incomplete last frame is ignored. */
export function mixToMono(samples: Int16Array, channels: number): Int16Array {
  if (channels === 1) return samples;
  const mono = new Int16Array(Math.floor(samples.length / channels));
  for (let i = 0; i < mono.length; i++) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) sum += samples[i * channels + channel] ?? 0;
    mono[i] = Math.round(sum / channels);
  }
  return mono;
}

export function concatSamples(parts: readonly Int16Array[]): Int16Array<ArrayBuffer> {
  const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function writeTag(file: Uint8Array, at: number, tag: string) {
  for (let i = 0; i < tag.length; i++) file[at + i] = tag.charCodeAt(i);
}

function readTag(file: Uint8Array, at: number): string {
  return String.fromCharCode(...file.subarray(at, at + 4));
}

function notWav(reason: string): AppError {
  return new AppError('invalid_input', `This is no WAV file that can be read: ${reason}`);
}
