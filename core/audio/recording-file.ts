/** Reads recordings as people have them: WAV directly, other formats by ffmpeg where it is installed. */
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AppError } from '../runtime/errors.ts';
import { shellWord } from '../runtime/terminal.ts';
import { mixToMono, parseWav, SAMPLE_RATE, type Wav } from './pcm.ts';

/** Four hours at 16 kHz; fewer for WAV files with higher rates. */
const MAX_BYTES = 4 * 3600 * SAMPLE_RATE * 2;
const MAX_SECONDS = 4 * 3600;
/** ffmpeg decodes an hour in seconds; one that takes longer than this hangs. */
const FFMPEG_MS = 5 * 60_000;

/**
 * Reads a recording of any format.
 * @throws {AppError} that names the file, and the command that converts it
 */
export async function readRecording(file: string): Promise<Wav> {
  const bytes = await readBounded(file);
  try {
    const found = wavOrReason(bytes);
    return typeof found === 'string' ? parseWav(await decode(file, found)) : found;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, `${file}: ${error.message}`, { cause: error });
  }
}

async function readBounded(file: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES)
      throw new AppError('too_large', `${file} has more than ${Math.floor(MAX_BYTES / 1e6)} MB`);
    return await readFile(file);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const isMissing = Object(error).code === 'ENOENT';
    const reason = isMissing
      ? 'there is no such file'
      : error instanceof Error
        ? error.message
        : String(error);
    throw new AppError('not_found', `${file}: ${reason}`, { cause: error });
  }
}

const NO_WAV = 'this is no WAV file';

/**
 * The samples, or the reason why ffmpeg is needed: another format, or a coding such as a telephone's A-law.
 */
function wavOrReason(bytes: Uint8Array): Wav | string {
  if (bytes.length === 0) throw new AppError('invalid_input', 'it is empty');
  if (!isRiff(bytes)) return NO_WAV;
  try {
    return parseWav(bytes);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isRiff(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(4, bytes.length)).toString('latin1') === 'RIFF';
}

/**
 * Resolves to a WAV file of 16-bit mono samples at 16 kHz.
 * @param reason why ffmpeg is needed
 */
function decode(file: string, reason: string): Promise<Uint8Array> {
  const format = ['-vn', '-ac', '1', '-ar', String(SAMPLE_RATE), '-c:a', 'pcm_s16le'];
  // With `file:`, ffmpeg cannot take a name such as concat:… for a protocol.
  const input = ['-protocol_whitelist', 'file,pipe', '-i', `file:${resolve(file)}`];
  const args = [
    '-nostdin',
    '-v',
    'error',
    ...input,
    ...format,
    '-t',
    String(MAX_SECONDS),
    '-f',
    'wav',
    'pipe:1',
  ];
  const limits = {
    encoding: 'buffer',
    timeout: FFMPEG_MS,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_BYTES + 1e6,
  } as const;
  return new Promise((done, fail) => {
    execFile('ffmpeg', args, limits, (error, stdout, stderr) => {
      if (error === null) return done(stdout);
      fail(error.code === 'ENOENT' ? noFfmpeg(file, reason) : undecodable(error, reason, stderr.toString()));
    });
  });
}

function noFfmpeg(file: string, reason: string): AppError {
  const stem = file.replace(/\.\w{1,5}$/, '');
  const wav = file === `${stem}.wav` ? `${stem}-converted.wav` : `${stem}.wav`;
  const command = `ffmpeg -i ${shellWord(file)} -ac 1 -ar ${SAMPLE_RATE} ${shellWord(wav)}`;
  return new AppError(
    'unsupported_media',
    `${reason}, and other formats need ffmpeg, which is not installed here. Install it (sudo apt-get install ffmpeg), or convert the file where it is: ${command}`,
  );
}

function undecodable(
  cause: Error & { killed?: boolean; code?: unknown },
  reason: string,
  said: string,
): AppError {
  const last = said.trim().split('\n').at(-1) || cause.message.split('\n')[0];
  const outcome = cause.killed === true ? `took longer than ${FFMPEG_MS / 60_000} minutes` : `says: ${last}`;
  const own = reason === NO_WAV ? '' : `${reason}, and `;
  return new AppError('unsupported_media', `${own}ffmpeg cannot decode it; it ${outcome}`, { cause });
}

/** Mixes channels to mono, and resamples to 16 kHz. */
export function toSpeech({ samples, channels, sampleRate }: Wav): Int16Array {
  return resample(mixToMono(samples, channels), sampleRate);
}

/** Zero crossings of the sinc on each side; enough for speech. */
const LOBES = 16;

/** Band-limited interpolation with a Hann-windowed sinc; cuts off at the lower of the two Nyquist rates. */
function resample(samples: Int16Array, rate: number): Int16Array {
  if (rate === SAMPLE_RATE) return samples;
  const step = rate / SAMPLE_RATE;
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
