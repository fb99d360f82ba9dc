import { type ChildProcess, spawn } from 'node:child_process';
import { extname, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { bytesToSamples, SAMPLE_RATE } from '../../audio/pcm.ts';
import type { Clock } from '../../contract/model.ts';
import { deadline } from '../../runtime/deadline.ts';
import { AppError, type ErrorCode } from '../../runtime/errors.ts';
import { lowerPriority } from '../../runtime/priority.ts';

/** An audio file. */
export interface AudioFile {
  path: string;
  /** File name from its owner; it may imply the codec, and messages show it. */
  name: string;
}
export type DecodeRequest = AudioFile;
export interface DecodeFailure {
  code: ErrorCode;
  message: string;
}

const ENTRY = fileURLToPath(new URL(`./decode-main${extname(import.meta.filename)}`, import.meta.url));
const MEMORY_MB = 256;
/** Time without output after which a decoder counts as hanging. */
const STALL_MS = 60_000;
const MAX_NAME_CHARS = 100;
const MAX_SAID_CHARS = 2000;

/**
 * Decodes an audio file to 16 kHz mono in small pieces, no faster than they are read: WAV, MP3, FLAC, Ogg/Opus, WebM/Opus,
 * M4A (AAC), AAC and raw samples by packages, any other format by ffmpeg, if that is installed. Throws `invalid_input` for a
 * damaged file, and `unsupported_media`, with instructions, if nothing on this machine can decode it.
 */
export async function* decodeFile(
  file: AudioFile,
  { clock, signal }: { clock: Pick<Clock, 'sleep'>; signal: AbortSignal },
): AsyncGenerator<Int16Array> {
  const reading = { clock, signal };
  try {
    yield* output(startDecoder(file), reading);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code !== 'unsupported_media') throw named(file, error);
    yield* byFfmpeg(file, error, reading);
  }
}

/** @param why reason why no package decodes it */
async function* byFfmpeg(
  { path, name }: AudioFile,
  why: AppError,
  reading: Reading,
): AsyncGenerator<Int16Array> {
  const child = spawn('ffmpeg', ffmpegArguments(path), { stdio: ['ignore', 'pipe', 'pipe'] });
  const failed = Promise.withResolvers<AppError | null>();
  const said = lastWords(child.stderr);
  child.once('error', cause => failed.resolve(noFfmpeg(name, why, cause)));
  child.once('close', status =>
    failed.resolve(
      status === 0
        ? null
        : new AppError('invalid_input', `${shown(name)}: ffmpeg cannot decode it`, {
            cause: new Error(said()),
          }),
    ),
  );
  yield* output({ child, failed: failed.promise, stdout: child.stdout }, reading);
}

/** `file:` keeps a name such as concat:… from being taken for a protocol. */
function ffmpegArguments(path: string): string[] {
  const input = ['-protocol_whitelist', 'file,pipe', '-i', `file:${resolve(path)}`];
  const format = [
    '-vn',
    '-ac',
    '1',
    '-ar',
    String(SAMPLE_RATE),
    '-c:a',
    'pcm_s16le',
    '-f',
    's16le',
    'pipe:1',
  ];
  return ['-nostdin', '-v', 'error', '-threads', '1', ...input, ...format];
}

function noFfmpeg(name: string, why: AppError, cause: Error): AppError {
  return new AppError(
    'unsupported_media',
    `${shown(name)}: ${why.message}. Send WAV, MP3, FLAC, M4A (AAC), Ogg or WebM (Opus); other formats need ffmpeg on the server, which is not installed there`,
    { cause },
  );
}

function named({ name }: AudioFile, error: AppError): AppError {
  return new AppError(error.code, `${shown(name)}: ${error.message}`, { cause: error });
}

function shown(name: string): string {
  return name.replaceAll(/\p{Cc}/gu, '').slice(0, MAX_NAME_CHARS) || 'The file';
}

interface Decoder {
  child: ChildProcess;
  stdout: Readable;
  /** Resolves at the end of the decoder, to its error; null: none. */
  failed: Promise<AppError | null>;
}
interface Reading {
  clock: Pick<Clock, 'sleep'>;
  signal: AbortSignal;
}

function startDecoder(file: AudioFile): Decoder {
  const memory = `--max-old-space-size=${MEMORY_MB}`;
  const child = spawn(process.execPath, [memory, ENTRY, JSON.stringify(file)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = lastWords(child.stderr);
  const { promise: failed, resolve: fail } = Promise.withResolvers<AppError | null>();
  child.once('error', cause => fail(new AppError('internal', 'The decoder cannot be started', { cause })));
  child.once('close', status => fail(status === 0 ? null : failureIn(said())));
  return { child, stdout: child.stdout, failed };
}

function lastWords(stderr: Readable): () => string {
  let said = '';
  stderr.setEncoding('utf8').on('data', text => {
    said = (said + text).slice(-MAX_SAID_CHARS);
  });
  return () => said.trim();
}

/** Parses the decoder's error from its last line; a decoder that crashed prints another one, or none. */
function failureIn(said: string): AppError {
  const line = said.split('\n').at(-1) ?? '';
  try {
    const { code, message }: DecodeFailure = JSON.parse(line);
    return new AppError(code, message);
  } catch {
    return new AppError('invalid_input', 'it breaks the decoder', { cause: new Error(said) });
  }
}

/** Yields the decoder's output to its end, and stops the decoder when the reader stops. */
async function* output(
  { child, stdout, failed }: Decoder,
  { clock, signal }: Reading,
): AsyncGenerator<Int16Array> {
  lowerPriority(child.pid);
  const pieces = stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const late = () => new AppError('invalid_input', 'it takes too long to decode');
  let carried = Buffer.alloc(0);
  try {
    for (;;) {
      const next = await deadline({ clock, limitMs: STALL_MS, late }, () => pieces.next(), signal);
      if (next.done) break;
      const bytes = carried.length === 0 ? next.value : Buffer.concat([carried, next.value]);
      carried = Buffer.from(bytes.subarray(bytes.length & ~1));
      yield bytesToSamples(bytes);
    }
    const failure = await failed;
    if (failure) throw failure;
  } finally {
    child.kill('SIGKILL');
    stdout.destroy();
  }
}
