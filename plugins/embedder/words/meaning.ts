/** Computes the meaning of a text as the mean of its words' vectors. Pure. */
import { addScaled, DIMENSIONS, lengthOf, type WordTable } from './table.ts';

/** A word that the table does not have stands for itself: a name, a number, a slip of the pen. */
const UNKNOWN_WEIGHT = 0.5;
/** Nothing is longer; what is, was never a word. */
const MAX_WORD = 40;

/** Letters with their accents off, digits, and dashes and apostrophes between them. */
export function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll('’', "'").toLowerCase();
  const found = plain.match(/(?<![\p{L}\p{N}])[a-z0-9]+(?:[-'][a-z0-9]+)*(?![\p{L}\p{N}])/gu) ?? [];
  return found.flatMap(withoutApostrophes);
}

/** `o'brien` is obrien, `anna's` and `she'll` lose their ends, `don't` says nothing. */
function withoutApostrophes(word: string): string[] {
  if (word.endsWith("n't")) return [];
  return [word.replace(/'(?:s|re|ve|ll|d|m)$/, '').replaceAll("'", '')];
}

/** A vector of length 1 for these words, or of zeros where they say nothing. */
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

/** Words that it may be a form of. */
function stemsOf(word: string): string[] {
  return ENDINGS.flatMap(([ending, instead]) =>
    ending.test(word) ? instead.map(each => word.replace(ending, each)) : [],
  ).filter(stem => stem.length > 2);
}

/** The same for the same word, near for words that are written alike, and of no direction that means anything. */
function addUnknown(word: string, sum: Float32Array): void {
  const whole = `<${word}>`;
  const own = new Float32Array(DIMENSIONS);
  for (let at = 0; at + 3 <= whole.length; at += 1) addNoise(whole.slice(at, at + 3), own);
  addScaled(sum, own, UNKNOWN_WEIGHT / lengthOf(own));
}

/** +1 or -1 in each dimension, by the bits of a hash (FNV-1a, then xorshift). */
function addNoise(letters: string, into: Float32Array): void {
  let bits = 0x811c9dc5;
  for (const letter of letters) bits = Math.imul(bits ^ letter.charCodeAt(0), 0x01000193);
  bits ||= 1; // from 0 it would not move
  for (let index = 0; index < into.length; index += 1) {
    bits ^= bits << 13;
    bits ^= bits >>> 17;
    bits ^= bits << 5;
    into[index] = (into[index] ?? 0) + (bits < 0 ? 1 : -1);
  }
}
