/** How much of a word counts: what is longer is no word that anyone looks for. */
const MAX_WORD_CHARS = 64;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
const ACCENTS = /[\u0300-\u036f]/g;
const NO_WORD = /[^\p{L}\p{N}\p{M}]+/u;

/** The words of a text as they are searched for: small letters and digits without accents, the same on any database. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(ACCENTS, '').toLowerCase().normalize('NFKC');
  return [...segmenter.segment(plain)]
    .filter(({ isWordLike }) => isWordLike)
    .flatMap(({ segment }) => segment.split(NO_WORD))
    .filter(word => word !== '')
    .map(word => word.slice(0, MAX_WORD_CHARS));
}
