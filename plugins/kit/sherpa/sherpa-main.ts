/** The process in which sherpa-onnx runs. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Hints, Piece } from '../engine/messages.ts';
import { type Decoding, type Recogniser, serve } from '../engine/serve.ts';
import { hotwordsOf, readPieces } from './hotwords.ts';
import { createOffline, type OfflineRecognizer } from './offline.ts';
import { readable } from './readable.ts';
import { configOf, kindOf } from './sherpa-kinds.ts';
import type { Punctuation, SherpaModel } from './sherpa-model.ts';

/** The part of sherpa-onnx-node that is used; it ships no types. */
interface OnlineRecognizer {
  createStream(): OnlineStream;
  isReady(stream: OnlineStream): boolean;
  decode(stream: OnlineStream): void;
  isEndpoint(stream: OnlineStream): boolean;
  reset(stream: OnlineStream): void;
  getResult(stream: OnlineStream): Result;
}
interface OnlineStream {
  acceptWaveform(audio: { samples: Float32Array; sampleRate: number }): void;
  inputFinished(): void;
}
interface Result {
  text: string;
  /** Time of each token in seconds, relative to `start_time`. */
  timestamps: number[];
  start_time: number;
}
interface Sherpa {
  OnlineRecognizer: new (config: object) => OnlineRecognizer;
  OfflineRecognizer: new (config: object) => OfflineRecognizer;
  OnlinePunctuation: new (config: object) => { addPunct(text: string): string };
}

export interface SherpaOptions extends SherpaModel {
  numThreads: number;
  /** The first of the model's languages. */
  language: string;
  /** Whether words to expect are used, which costs processor time. */
  hotwords: boolean;
  /** Model that adds capitals and punctuation, if any. */
  punctuation: Punctuation | null;
}

const SAMPLE_RATE = 16_000;
/** Silence that is added after the end: the encoder reads ahead, and would otherwise keep back the last words. */
const TAIL_SAMPLES = 0.8 * SAMPLE_RATE;
/** Assumed duration of the last token, since only beginnings are known. */
const TOKEN_SAMPLES = 0.16 * SAMPLE_RATE;

serve(options => load(options as SherpaOptions));

function load(options: SherpaOptions): Recogniser {
  const sherpa: Sherpa = createRequire(import.meta.url)('sherpa-onnx-node');
  const recogniser = kindOf(options.kind).streaming
    ? loadOnline(sherpa, options)
    : loadOffline(sherpa, options);
  return options.punctuation === null ? recogniser : punctuated(recogniser, sherpa, options.punctuation);
}

function loadOffline(sherpa: Sherpa, options: SherpaOptions): Recogniser {
  const kind = kindOf(options.kind);
  const hotwords = kind.takesHotwords && options.hotwords ? hotwordsFor(options) : () => '';
  const config = (language: string) => configOf(options, language);
  const recogniser = new sherpa.OfflineRecognizer(config(kind.needsLanguage ? options.language : ''));
  return createOffline({ recogniser, kind, config, hotwords, first: options.language });
}

function loadOnline(sherpa: Sherpa, options: SherpaOptions): Recogniser {
  const recogniser = new sherpa.OnlineRecognizer({
    ...configOf(options, ''),
    enableEndpoint: 1,
    rule1MinTrailingSilence: 2.4,
    rule2MinTrailingSilence: 0.6,
    rule3MinUtteranceLength: 60,
  });
  return { begin: (startSample, emit) => decode(recogniser, startSample, emit) };
}

function punctuated(recogniser: Recogniser, sherpa: Sherpa, { model, vocabulary }: Punctuation): Recogniser {
  const punctuation = new sherpa.OnlinePunctuation({
    model: { cnnBilstm: model, bpeVocab: vocabulary, numThreads: 1, provider: 'cpu', debug: 0 },
  });
  const written = (emit: (piece: Piece) => void) => (piece: Piece) =>
    emit({ ...piece, text: punctuation.addPunct(piece.text) });
  return { begin: (startSample, emit, hints) => recogniser.begin(startSample, written(emit), hints) };
}

function hotwordsFor({ files }: SherpaOptions): (vocabulary: Hints['vocabulary']) => string {
  const pieces = readPieces(readFileSync(files.tokens ?? '', 'utf8'));
  return vocabulary => hotwordsOf(vocabulary, pieces);
}

/** Streams are small, and share the one recogniser. */
function decode(recogniser: OnlineRecognizer, startSample: number, emit: (piece: Piece) => void): Decoding {
  const stream = recogniser.createStream();
  let fed = 0;
  let through = 0;

  return { feed, finish, release: () => undefined };

  function feed(samples: Int16Array): void {
    fed += samples.length;
    accept(Float32Array.from(samples, sample => sample / 32_768));
    if (!recogniser.isEndpoint(stream)) return;
    answer();
    recogniser.reset(stream);
  }

  function finish(): void {
    accept(new Float32Array(TAIL_SAMPLES));
    stream.inputFinished();
    run();
    answer();
  }

  function accept(samples: Float32Array): void {
    stream.acceptWaveform({ samples, sampleRate: SAMPLE_RATE });
    run();
  }

  function run(): void {
    while (recogniser.isReady(stream)) recogniser.decode(stream);
  }

  /** Tokens may have a time in the added silence: a piece must end within the speech. */
  function answer(): void {
    const { text, timestamps, start_time: offset } = recogniser.getResult(stream);
    const [first = 0, last = first] = [timestamps[0], timestamps.at(-1)];
    const end = Math.min(sampleAt(offset + last) + TOKEN_SAMPLES, fed);
    const start = Math.max(through, Math.min(sampleAt(offset + first), end - 1));
    if (text.trim() === '') return;
    through = end;
    emit({ text: readable(text), startSample: startSample + start, endSample: startSample + end });
  }
}

function sampleAt(seconds: number): number {
  return Math.round(seconds * SAMPLE_RATE);
}
