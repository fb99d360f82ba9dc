/** Finds the category of a conversation by the words in it. */
import type { Category } from '../../../core/domain/conversations/categories.ts';
import { CATEGORY_WORDS } from './category-words.ts';
import type { Language } from './languages/language.ts';
import { withoutAccents } from './tokens.ts';

/** Maximum letters that a word may have beyond a listed one: "meetings" for "meeting". */
const MAX_ENDING = 3;
const MIN_PREFIX = 4;
/** Listed words that are shorter may only have these endings: "Dieter" is not "diet". */
const MIN_FREE_PREFIX = 6;
const INFLECTIONS = new Set(['s', 'es', 'n', 'en', 'e', 'x', 'ed', 'ing']);
/** Minimum letters of a listed word to be recognised at the end of a compound: "Kindergeburtstag". */
const MIN_COMPOUND_PART = 6;
/** Minimum letters of a listed word at the beginning of a German compound: "Kontonummer". */
const MIN_GERMAN_PART = 5;
const MIN_GERMAN_WORD = 9;
/** Categories by word. A word of several categories counts less for each. */
const byWord = new Map<string, Category[]>();
for (const [category, words] of Object.entries(CATEGORY_WORDS) as [Category, string][])
  for (const word of new Set(words.split(/\s+/))) byWord.set(word, [...(byWord.get(word) ?? []), category]);

/**
 * A category needs at least one hit per this many words, as a single word in a long conversation means
 * little.
 */
const WORDS_PER_HIT = 250;
/** Score of the category "personal" when a single person speaks, which another category has to exceed. */
const ALONE_SCORE = 1.5;

/**
 * @param words in lower case
 * @param language of the words; its common words and numbers are ignored
 * @param fallback category if no word indicates one
 */
export function categoryOf(words: readonly string[], language: Language, fallback: Category): Category {
  const counts = new Map<string, number>();
  for (const word of words) if (!isCommon(word, language)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const scores = new Map<Category, { hits: number; score: number }>();
  if (fallback === 'personal') scores.set(fallback, { hits: words.length, score: ALONE_SCORE });
  for (const [word, count] of counts)
    for (const { category, weight } of told(withoutAccents(word), language.code)) {
      const sum = scores.get(category) ?? { hits: 0, score: 0 };
      sum.hits += count;
      sum.score += Math.sqrt(count) * weight;
      scores.set(category, sum);
    }
  let best = { category: fallback, score: 0 };
  for (const [category, { hits, score }] of scores)
    if (hits * WORDS_PER_HIT >= words.length && score > best.score) best = { category, score };
  return best.category;
}

/** Returns whether a word is common, or a number: French "four" is an oven, and English "four" is not. */
function isCommon(word: string, { stopWords, dates }: Language): boolean {
  const token = { text: word, word, bare: word, start: 0, end: word.length, stop: '' as const };
  return stopWords.has(word) || dates.numbers.at([token], 0) !== null;
}

function told(word: string, code: string): { category: Category; weight: number }[] {
  const categories = byWord.get(word) ?? byPart(word, code) ?? [];
  return categories.map(category => ({ category, weight: 1 / Math.sqrt(categories.length) }));
}

function byPart(word: string, code: string): Category[] | undefined {
  for (let end = word.length - 1; end >= Math.max(MIN_PREFIX, word.length - MAX_ENDING); end--) {
    const isForm = end >= MIN_FREE_PREFIX || INFLECTIONS.has(word.slice(end));
    const categories = isForm ? byWord.get(word.slice(0, end)) : undefined;
    if (categories) return categories;
  }
  for (let from = 1; from <= word.length - MIN_COMPOUND_PART; from++) {
    const categories = byWord.get(word.slice(from));
    if (categories) return categories;
  }
  const shortest = code === 'de' && word.length >= MIN_GERMAN_WORD ? MIN_GERMAN_PART : MIN_COMPOUND_PART;
  for (let end = word.length - MAX_ENDING - 1; end >= shortest; end--) {
    const categories = byWord.get(word.slice(0, end));
    if (categories) return categories;
  }
  return undefined;
}
