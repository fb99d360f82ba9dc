/**
 * Decodes audio files of any format to 16 kHz mono samples in small pieces. Runs in a separate process, because a malicious
 * file may keep a decoder busy for ever.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { createOpusDecoder } from '../../audio/opus.ts';
import { mixToMono, readWavLayout, SAMPLE_RATE } from '../../audio/pcm.ts';
import { createPcm8Decoder, createPcm16Decoder } from '../../audio/raw-pcm.ts';
import { createResampler } from '../../audio/resample.ts';
import { AppError } from '../../runtime/errors.ts';
import { containerSamples } from './containers.ts';
import { flacSamples, mp3Samples } from './elementary.ts';
import { rawKindOf } from './raw-names.ts';

export type Samples = AsyncGenerator<Int16Array>;

const PIECE_BYTES = 64 * 1024;
/** Bytes that may precede the samples of a WAV file. */
const HEAD_BYTES = 1024 * 1024;
/** Maximum bytes of an Opus packet; those of wearables have a tenth of that. */
const MAX_PACKET_BYTES = 4096;
const OPUS_FRAME_MS = 20;

/** Formats by the first bytes of a file. */
const KINDS: readonly { isOf(head: Buffer): boolean; read(path: string): Samples }[] = [
  { isOf: head => tagOf(head, 0) === 'RIFF' && tagOf(head, 8) === 'WAVE', read: wavSamples },
  { isOf: head => tagOf(head, 0) === 'fLaC', read: path => flacSamples(piecesOf(path)) },
  { isOf: isMp3, read: path => mp3Samples(piecesOf(path)) },
  {
    isOf: head =>
      tagOf(head, 0) === 'OggS' ||
      tagOf(head, 4) === 'ftyp' ||
      head.subarray(0, 4).equals(EBML) ||
      isAdts(head),
    read: containerSamples,
  },
];
const EBML = Buffer.from([0x1a, 0x45, 0xdf, 0xa3]);

/**
 * Yields the samples of a file. Throws `unsupported_media` for an unknown format or codec, and `invalid_input` for a damaged
 * file.
 * @param name from the owner, which determines the codec of a file without a header
 */
export async function* samplesOf(path: string, name: string): Samples {
  const head = await headOf(path);
  if (head.length === 0) throw new AppError('invalid_input', 'the file is empty');
  const kind = KINDS.find(({ isOf }) => isOf(head));
  if (kind) return yield* kind.read(path);
  const raw = rawKindOf(name);
  if (!raw) throw new AppError('unsupported_media', 'its format is not known');
  if (raw.codec === 'opus') return yield* packetSamples(path);
  const decoder = await (raw.codec === 'pcm8' ? createPcm8Decoder(raw) : createPcm16Decoder(raw));
  for await (const piece of piecesOf(path)) yield (await decoder.decode(piece)).pcm;
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function tagOf(head: Buffer, at: number): string {
  return head.toString('latin1', at, at + 4);
}

/** MP3: begins with a tag, or with the sync word of layer III. */
function isMp3(head: Buffer): boolean {
  const [first = 0, second = 0] = head;
  return head.toString('latin1', 0, 3) === 'ID3' || (first === 0xff && (second & 0xe6) === 0xe2);
}

/** Frames of AAC: their layer is 0. */
function isAdts(head: Buffer): boolean {
  const [first = 0, second = 0] = head;
  return first === 0xff && (second & 0xf6) === 0xf0;
}

async function* piecesOf(path: string, from = 0, to = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  try {
    for (let at = from; at < to; ) {
      const piece = await readAt(file, at, Math.min(PIECE_BYTES, to - at));
      if (piece.length === 0) return;
      yield piece;
      at += piece.length;
    }
  } finally {
    await file.close();
  }
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

async function* wavSamples(path: string): Samples {
  const file = await open(path, 'r');
  const head = await readAt(file, 0, HEAD_BYTES).finally(() => file.close());
  const { sampleRate, channels, frameBytes, dataStart, dataBytes, decode } = readWavLayout(head);
  const resampler = sampleRate === SAMPLE_RATE ? null : await createResampler(sampleRate);
  const end = dataBytes === 0 ? Number.POSITIVE_INFINITY : dataStart + dataBytes; // 0: it was never finished
  let carried: Buffer = Buffer.alloc(0);
  for await (const piece of piecesOf(path, dataStart, end)) {
    const bytes = carried.length === 0 ? piece : Buffer.concat([carried, piece]);
    const whole = bytes.length - (bytes.length % frameBytes);
    carried = bytes.subarray(whole);
    const mono = mixToMono(decode(bytes.subarray(0, whole)), channels);
    yield resampler?.push(mono) ?? mono;
  }
}

/** Opus packets, each after its length in four bytes, as apps of wearables store them. */
async function* packetSamples(path: string): Samples {
  const decoder = createOpusDecoder(OPUS_FRAME_MS);
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of piecesOf(path)) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    while (at + 4 <= rest.length) {
      const length = rest.readUInt32LE(at);
      if (length > MAX_PACKET_BYTES) throw new AppError('invalid_input', 'it holds no Opus packets');
      if (at + 4 + length > rest.length) break;
      yield (await decoder.decode(rest.subarray(at + 4, at + 4 + length))).pcm;
      at += 4 + length;
    }
    rest = rest.subarray(at);
  }
}
