import { readFile } from 'node:fs/promises';

const ACCEPTED = 'a WAV file of 16-bit PCM, one or two channels, 8000 to 48000 Hz, is accepted';
const PCM = 1;
const EXTENSIBLE = 0xfffe;
const TARGET_RATE = 16000;

/**
 * Reads a recording as 16 kHz mono samples; two channels are mixed, other rates resampled.
 * @throws Error that names the file and says what is accepted
 */
export async function readWav(path: string): Promise<Int16Array> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new Error(`cannot read the recording ${path}: ${error instanceof Error ? error.message : error}`);
  });
  try {
    const { channels, rate, samples } = parse(bytes);
    return resample(mix(samples, channels), rate);
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : error}; ${ACCEPTED}`);
  }
}

function parse(bytes: Buffer): { channels: number; rate: number; samples: Int16Array } {
  if (
    bytes.length < 12 ||
    bytes.toString('latin1', 0, 4) !== 'RIFF' ||
    bytes.toString('latin1', 8, 12) !== 'WAVE'
  )
    throw new Error('is not a WAV file');
  const chunks = new Map(chunksOf(bytes));
  const format = chunks.get('fmt ');
  const data = chunks.get('data');
  if (!format || format.length < 16) throw new Error('has no format chunk');
  if (!data) throw new Error('has no audio');
  const tag = format.readUInt16LE(0);
  const encoding = tag === EXTENSIBLE && format.length >= 26 ? format.readUInt16LE(24) : tag;
  const channels = format.readUInt16LE(2);
  const rate = format.readUInt32LE(4);
  const bits = format.readUInt16LE(14);
  if (encoding !== PCM || bits !== 16) throw new Error(`holds ${bits}-bit audio of encoding ${encoding}`);
  if (channels < 1 || channels > 2) throw new Error(`has ${channels} channels`);
  if (rate < 8000 || rate > 48000) throw new Error(`has ${rate} samples a second`);
  const samples = new Int16Array(Math.floor(data.length / 2));
  for (let i = 0; i < samples.length; i += 1) samples[i] = data.readInt16LE(i * 2);
  return { channels, rate, samples };
}

/** Chunks of an even length; a length past the end (as recorders that were cut off leave it) means up to the end. */
function* chunksOf(bytes: Buffer): Generator<[string, Buffer]> {
  for (let at = 12; at + 8 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 4);
    yield [bytes.toString('latin1', at, at + 4), bytes.subarray(at + 8, at + 8 + length)];
    at += 8 + length + (length % 2);
  }
}

function mix(samples: Int16Array, channels: number): Int16Array {
  if (channels === 1) return samples;
  return Int16Array.from({ length: Math.floor(samples.length / channels) }, (_, i) =>
    Math.round(((samples[i * 2] ?? 0) + (samples[i * 2 + 1] ?? 0)) / 2),
  );
}

/** Zero crossings of the sinc on each side; enough for speech. */
const LOBES = 16;

/** Band-limited interpolation with a Hann-windowed sinc; cuts off at the lower of the two Nyquist rates. */
function resample(samples: Int16Array, rate: number): Int16Array {
  if (rate === TARGET_RATE) return samples;
  const step = rate / TARGET_RATE;
  const cutoff = Math.min(1, 1 / step);
  const reach = LOBES / cutoff;
  return Int16Array.from({ length: Math.floor(samples.length / step) }, (_, i) => {
    const centre = i * step;
    let sum = 0;
    for (let j = Math.ceil(centre - reach); j <= centre + reach; j += 1) {
      const distance = j - centre;
      sum +=
        (samples[j] ?? 0) *
        cutoff *
        sinc(distance * cutoff) *
        (0.5 + 0.5 * Math.cos((Math.PI * distance) / reach));
    }
    return Math.max(-32768, Math.min(32767, Math.round(sum)));
  });
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}
