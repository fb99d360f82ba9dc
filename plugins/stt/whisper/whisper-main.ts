/** The process in which whisper.cpp runs. */
import { createRequire } from 'node:module';
import type { Hints, Piece } from '../../kit/engine/messages.ts';
import { type Decoding, type Recogniser, serve } from '../../kit/engine/serve.ts';
import { heard, piecesOf, promptOf } from '../../kit/engine/whisper-answer.ts';

/** Used part of @fugood/whisper.node, which may not be installed. It decodes on its own thread. */
interface Whisper {
  initWhisper(options: { filePath: string; useGpu: boolean }): Promise<Context>;
}
interface Context {
  transcribeData(
    samples: ArrayBuffer,
    options: { language: string; maxThreads: number; prompt?: string },
  ): { promise: Promise<Result> };
}
interface Result {
  language: string;
  /** Times are milliseconds. */
  segments: { text: string; t0: number; t1: number }[];
}

export interface WhisperOptions {
  path: string;
  numThreads: number;
}

/** whisper.cpp ignores audio shorter than 100 ms. */
const LEAST_SAMPLES = 1600;

serve(options => load(options as WhisperOptions));

async function load({ path, numThreads }: WhisperOptions): Promise<Recogniser> {
  const whisper: Whisper = createRequire(import.meta.url)('@fugood/whisper.node');
  const context = await whisper.initWhisper({ filePath: path, useGpu: false }).catch(cause => {
    throw new Error(`${path} is no model that whisper.cpp can load`, { cause });
  });
  let last: Promise<unknown> = Promise.resolve();
  return { begin: (startSample, emit, hints) => decode({ startSample, emit, hints, transcribe }) };

  /** Runs decodings one after the other, as each uses all threads. */
  function transcribe(samples: Int16Array<ArrayBuffer>, { language, vocabulary }: Hints): Promise<Result> {
    const prompt = promptOf(vocabulary);
    const spoken = language === 'multi' ? 'auto' : (language.split('-')[0] ?? '');
    const options = { language: spoken, maxThreads: numThreads, ...(prompt === '' ? {} : { prompt }) };
    const turn = last.then(() => context.transcribeData(samples.buffer, options).promise);
    last = turn.catch(() => undefined);
    return turn;
  }
}

interface Work {
  startSample: number;
  emit(piece: Piece): void;
  hints: Hints;
  transcribe(samples: Int16Array<ArrayBuffer>, hints: Hints): Promise<Result>;
}

function decode({ startSample, emit, hints, transcribe }: Work): Decoding {
  const parts: Int16Array[] = [];
  return {
    feed: samples => void parts.push(samples),
    async finish() {
      const samples = joined(parts);
      if (samples.length < LEAST_SAMPLES) return;
      const result = await transcribe(samples, hints);
      for (const piece of piecesOf(answerOf(result), startSample, startSample + samples.length)) emit(piece);
    },
    release: () => undefined,
  };
}

function answerOf({ language, segments }: Result) {
  const spoken = segments.map(({ text, t0, t1 }) => ({
    text: heard(text),
    start: t0 / 1000,
    end: t1 / 1000,
  }));
  return { text: '', language, segments: spoken.filter(({ text }) => text !== '') };
}

function joined(parts: Int16Array[]): Int16Array<ArrayBuffer> {
  const samples = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return samples;
}
