/** The process in which pocketsphinx runs. */
import type { Piece } from '../../kit/engine/messages.ts';
import { type Decoding, type Recogniser, serve } from '../../kit/engine/serve.ts';
import {
  loadSphinx,
  SAMPLES_PER_FRAME,
  type SphinxDecoder,
  type SphinxPaths,
  type SphinxWord,
} from './sphinx-library.ts';

/** Samples (two seconds) that the decoder adapts to before it starts. */
const OPENING_SAMPLES = 32_000;
/** Fewer than three frames contain no word. */
const LEAST_SAMPLES = 3 * SAMPLES_PER_FRAME;

serve(options => load(options as SphinxPaths & { decoders: number }));

function load(options: SphinxPaths & { decoders: number }): Recogniser {
  const library = loadSphinx(options);
  // The first is created now, so that a broken model is noticed at the start; the others when they are needed.
  const free: SphinxDecoder[] = [library.createDecoder()];
  let made = 1;

  return {
    begin(startSample, emit) {
      const decoder = free.pop() ?? another();
      return decoder === null ? null : decode(decoder, startSample, emit);
    },
  };

  function another(): SphinxDecoder | null {
    if (made >= options.decoders) return null;
    const decoder = library.createDecoder();
    made += 1;
    return decoder;
  }

  function decode(decoder: SphinxDecoder, startSample: number, emit: (piece: Piece) => void): Decoding {
    const opening: Int16Array[] = [];
    let fed = 0;
    let running = false;
    return {
      feed(samples) {
        fed += samples.length;
        if (running) return decoder.process(samples);
        opening.push(samples);
        if (fed >= OPENING_SAMPLES) start();
      },
      finish() {
        if (!running && fed < LEAST_SAMPLES) return;
        if (!running) start();
        running = false;
        const piece = pieceOf(decoder.end(), startSample, fed);
        if (piece !== null) emit(piece);
      },
      release() {
        if (running) decoder.end();
        free.push(decoder);
      },
    };

    function start(): void {
      const samples = joined(opening.splice(0));
      decoder.start(samples);
      running = true;
      decoder.process(samples);
    }
  }
}

function joined(parts: Int16Array[]): Int16Array {
  const samples = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return samples;
}

/** Returns the words, without silence, noise and the numbers of pronunciation variants, as in `tomorrow(2)`. */
function pieceOf(words: SphinxWord[], startSample: number, fed: number): Piece | null {
  const spoken = words.filter(({ word }) => !/^[<[+]/.test(word));
  const first = spoken[0];
  const last = spoken.at(-1);
  if (first === undefined || last === undefined) return null;
  return {
    text: spoken.map(({ word }) => word.replace(/\(\d+\)$/, '')).join(' '),
    startSample: startSample + first.startFrame * SAMPLES_PER_FRAME,
    endSample: startSample + Math.min((last.endFrame + 1) * SAMPLES_PER_FRAME, fed),
  };
}
