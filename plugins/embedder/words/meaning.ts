/** Computes the meaning of a text as the mean of its words' vectors. Pure. */
import { addScaled, DIMENSIONS, lengthOf, type WordTable } from './table.ts';

/** Weight of a word that the table lacks: a name, a number, a misspelling. */
const UNKNOWN_WEIGHT = 0.5;
/** Longest word; longer strings are no words. */
const MAX_WORD = 40;

/** Splits into words: letters without accents, digits, and the dashes and apostrophes between them. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll('’', "'").toLowerCase();
  const found = plain.match(/(?<![\p{L}\p{N}])[a-z0-9]+(?:[-'][a-z0-9]+)*(?![\p{L}\p{N}])/gu) ?? [];
  return found.flatMap(withoutApostrophes);
}

/** `o'brien` becomes obrien, `anna's` and `she'll` lose their endings, and `don't` is dropped. */
function withoutApostrophes(word: string): string[] {
  if (word.endsWith("n't")) return [];
  return [word.replace(/'(?:s|re|ve|ll|d|m)$/, '').replaceAll("'", '')];
}

/** Returns a vector of length 1 for these words, or zeros when none of them carries meaning. */
export function meaningOf(words: readonly string[], table: WordTable): Float32Array {
  const sum = new Float32Array(DIMENSIONS);
  for (const word of words) if (word.length <= MAX_WORD) addWord(word, table, sum);
  const length = lengthOf(sum);
  return length === 0 ? sum : sum.map(number => number / length);
}

function addWord(word: string, table: WordTable, sum: Float32Array): void {
  if (table.add(word, 1, sum)) return;
  const parts = word.split('-');
  if (parts.length > 1) for (const part of parts) addWord(part, table, sum);
  else if (!stemsOf(word).some(stem => table.add(stem, 1, sum))) addUnknown(word, sum);
}

const ENDINGS: readonly [ending: RegExp, instead: string[]][] = [
  [/ies$/, ['y']],
  [/(?:es|ed|er|est|ing)$/, ['', 'e']],
  [/(?<twice>[b-df-hj-np-tv-z])\k<twice>(?:ed|er|ing)$/, ['$<twice>']],
  [/(?:s|ly|ness|less)$/, ['']],
];

/** Base forms that the word may be derived from. */
function stemsOf(word: string): string[] {
  return ENDINGS.flatMap(([ending, instead]) =>
    ending.test(word) ? instead.map(each => word.replace(ending, each)) : [],
  ).filter(stem => stem.length > 2);
}

/**
 * Adds a pseudo-random vector for an unknown word: always the same for the same word, and similar for words spelt
 * alike.
 */
function addUnknown(word: string, sum: Float32Array): void {
  const whole = `<${word}>`;
  const own = new Float32Array(DIMENSIONS);
  for (let at = 0; at + 3 <= whole.length; at += 1) addNoise(whole.slice(at, at + 3), own);
  addScaled(sum, own, UNKNOWN_WEIGHT / lengthOf(own));
}

/** Adds +1 or -1 in each dimension, by the bits of a hash (FNV-1a, then xorshift). */
function addNoise(letters: string, into: Float32Array): void {
  let bits = 0x811c9dc5;
  for (const letter of letters) bits = Math.imul(bits ^ letter.charCodeAt(0), 0x01000193);
  bits ||= 1; // xorshift never leaves 0
  for (let index = 0; index < into.length; index += 1) {
    bits ^= bits << 13;
    bits ^= bits >>> 17;
    bits ^= bits << 5;
    into[index] = (into[index] ?? 0) + (bits < 0 ? 1 : -1);
  }
}
