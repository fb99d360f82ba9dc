/** Converts words to expect into the tokens of a model. Pure. */

/** Mark of tokens that begin a word. */
const WORD_START = '▁';
const MAX_PHRASES = 200;

export interface Pieces {
  has(piece: string): boolean;
  /** Length of the longest token, in characters. */
  longest: number;
  /** Whether the model has only capital letters. */
  isUpperCase: boolean;
}

/** Parses a model's tokens.txt, which has a token and its number in each line. */
export function readPieces(text: string): Pieces {
  const all = new Set(text.split('\n').map(line => line.slice(0, line.lastIndexOf(' '))));
  const letters = [...all].filter(piece => !piece.startsWith('<')).join('');
  return {
    has: piece => all.has(piece),
    longest: Math.max(1, ...[...all].map(piece => piece.length)),
    isUpperCase: letters === letters.toUpperCase(),
  };
}

/**
 * Formats phrases for one stream of sherpa-onnx: tokens separated by spaces, phrases by slashes. Phrases that cannot be
 * split into the model's tokens are left out, because an unknown token could end the process. '' if nothing is left.
 */
export function hotwordsOf(vocabulary: readonly string[], pieces: Pieces): string {
  return vocabulary
    .slice(0, MAX_PHRASES)
    .map(phrase => piecesOf(phrase, pieces))
    .filter(phrase => phrase !== null)
    .join('/');
}

function piecesOf(phrase: string, pieces: Pieces): string | null {
  const cased = pieces.isUpperCase ? phrase.toUpperCase() : phrase;
  const words = cased.split(/[^\p{L}\p{M}\p{N}']+/u).filter(word => word !== '');
  const found = words.map(word => split(WORD_START + word, pieces));
  return words.length === 0 || found.includes(null) ? null : found.flat().join(' ');
}

/** Splits a word into the longest tokens; null: some part has none. */
function split(word: string, { has, longest }: Pieces): string[] | null {
  const found: string[] = [];
  for (let at = 0; at < word.length; ) {
    let end = Math.min(word.length, at + longest);
    while (end > at && !has(word.slice(at, end))) end -= 1;
    if (end === at) return null;
    found.push(word.slice(at, end));
    at = end;
  }
  return found;
}
