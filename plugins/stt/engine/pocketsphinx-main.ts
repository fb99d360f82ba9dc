/** The process in which pocketsphinx runs. */
import type { Piece } from './messages.ts';
import { type Decoding, type Recogniser, serve } from './serve.ts';
import { loadSphinx, type SphinxDecoder, type SphinxPaths, type SphinxWord } from './sphinx-library.ts';

const SAMPLES_PER_FRAME = 160;

serve(options => load(options as SphinxPaths & { decoders: number }));

function load(options: SphinxPaths & { decoders: number }): Recogniser {
  const library = loadSphinx(options);
  // One at once, so that a broken model refuses the service; the others when they are first wanted.
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
    let fed = 0;
    let open = true;
    decoder.start();
    return {
      feed(samples) {
        decoder.process(samples);
        fed += samples.length;
      },
      finish() {
        open = false;
        const piece = pieceOf(decoder.end(), startSample, fed);
        if (piece !== null) emit(piece);
      },
      release() {
        if (open) decoder.end();
        free.push(decoder);
      },
    };
  }
}

/** The words without silence, noise and the numbers of pronunciation variants: `tomorrow(2)` is "tomorrow". */
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
