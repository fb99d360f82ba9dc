/** Longest word that is indexed or searched for. */
const MAX_WORD_CHARS = 64;

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
const ACCENTS = /[\u0300-\u036f]/g;
const NO_WORD = /[^\p{L}\p{N}\p{M}]+/u;

/** Characters read of a text, more than any indexed text or search has; normalising can take quadratic time. */
const MAX_TEXT_CHARS = 5000;

/**
 * Splits a text into the words that are searched for: lower-case letters and digits without accents, the same on every
 * database.
 */
export function wordsOf(text: string): string[] {
  const plain = text
    .slice(0, MAX_TEXT_CHARS)
    .toWellFormed()
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .toLowerCase()
    .normalize('NFKC');
  return [...segmenter.segment(plain)]
    .filter(({ isWordLike }) => isWordLike)
    .flatMap(({ segment }) => segment.split(NO_WORD))
    .filter(word => word !== '')
    .map(word => word.slice(0, MAX_WORD_CHARS));
}

/** Words that English questions consist of but are not about; other languages have no such list. */
const PLAIN = new Set(
  `a about after all also am an and any are as at be because been before being between both but by can could did do does
   doing done during each for from get gets go goes going got had has have having he her here hers him his how i if in
   into is it its just like likes make makes many me more most much must my no not now of off often on one only or other
   our out over own s she should so some such t than that the their them then there these they thing things this those
   through to too under until up use used uses usually very was we were what when where which while who whom whose why
   will with would you your`.split(/\s+/),
);

/** Returns the words that a question is about, or all of them if there are no others. */
export function askedOf(text: string): string[] {
  const words = wordsOf(text);
  const telling = words.filter(word => !PLAIN.has(word));
  return telling.length > 0 ? telling : words;
}
