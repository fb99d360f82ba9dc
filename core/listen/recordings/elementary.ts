/** Formats that consist of frames of one codec, decoded by packages that find the frames themselves. */
import { mixToMono } from '../../audio/pcm.ts';
import { createResampler, type Resampler } from '../../audio/resample.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Samples } from './audio-file.ts';

interface Decoded {
  channelData: Float32Array[];
  sampleRate: number;
}

export async function* mp3Samples(pieces: AsyncIterable<Uint8Array>): Samples {
  const { MPEGDecoder } = await import('mpg123-decoder').catch(missing('MP3', 'mpg123-decoder'));
  const decoder = new MPEGDecoder();
  await decoder.ready;
  yield* decoded(pieces, async piece => decoder.decode(piece));
}

export async function* flacSamples(pieces: AsyncIterable<Uint8Array>): Samples {
  const { FLACDecoder } = await import('@wasm-audio-decoders/flac').catch(
    missing('FLAC', '@wasm-audio-decoders/flac'),
  );
  const decoder = new FLACDecoder();
  await decoder.ready;
  yield* decoded(
    pieces,
    piece => decoder.decode(piece),
    () => decoder.flush(),
  );
}

/** Loads an optional package. */
export function missing(format: string, name: string) {
  return (cause: unknown): never => {
    throw new AppError('unsupported_media', `${format} needs the package ${name}: npm install ${name}`, {
      cause,
    });
  };
}

async function* decoded(
  pieces: AsyncIterable<Uint8Array>,
  decode: (piece: Uint8Array) => Promise<Decoded>,
  flush: () => Promise<Decoded | null> = async () => null,
): Samples {
  let line = { rate: 0, resampler: null as Resampler | null };
  let found = false;
  async function* steps() {
    for await (const piece of pieces) yield await decode(piece);
    yield await flush();
  }
  for await (const step of steps()) {
    const [first] = step?.channelData ?? [];
    if (!step || !first || first.length === 0) continue;
    found = true;
    if (line.rate !== step.sampleRate)
      line = { rate: step.sampleRate, resampler: await createResampler(step.sampleRate) };
    if (line.resampler) yield line.resampler.push(toMono(step.channelData, first.length));
  }
  if (!found) throw new AppError('invalid_input', 'no frame of it can be decoded');
}

function toMono(channels: readonly Float32Array[], length: number): Int16Array {
  const samples = new Int16Array(length * channels.length);
  for (const [number, values] of channels.entries())
    for (let at = 0; at < length; at++)
      samples[at * channels.length + number] = Math.max(
        -32_768,
        Math.min(32_767, Math.round((values[at] ?? 0) * 32_768)),
      );
  return mixToMono(samples, channels.length);
}
