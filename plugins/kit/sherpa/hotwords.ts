/** Words to expect in the pieces that a model is made of. Pure. */

/** How the pieces of a word are marked that begin it. */
const WORD_START = '▁';
const MAX_PHRASES = 200;

export interface Pieces {
  has(piece: string): boolean;
  /** The longest one, in characters. */
  longest: number;
  /** The model knows no small letters. */
  isUpperCase: boolean;
}

/** Reads a model's tokens.txt: a piece and its number in each line. */
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
 * Phrases as sherpa-onnx takes them for one stream: pieces with spaces between, phrases with a slash. A phrase that the
 * model has no pieces for is left out: a foreign piece could end the process. '' where nothing is left.
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

/** The longest piece first; null: there is none somewhere. */
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
