/** The category of a conversation, by words that tell it. */
import type { Category } from '../../../core/domain/conversations/categories.ts';
import { CATEGORY_WORDS } from './category-words.ts';
import { withoutAccents } from './tokens.ts';

/** A word may be so much longer than the one that tells the category: "meetings". */
const MAX_ENDING = 3;
const MIN_PREFIX = 4;
/** From so many letters, a word also tells where it ends another one: "Kindergeburtstag". */
const MIN_COMPOUND_PART = 6;
/** Categories by word; a word of several categories counts for each in part. */
const byWord = new Map<string, Category[]>();
for (const [category, words] of Object.entries(CATEGORY_WORDS) as [Category, string][])
  for (const word of new Set(words.split(/\s+/))) byWord.set(word, [...(byWord.get(word) ?? []), category]);

/** A word that comes once in a long conversation tells little: so many hits are expected, one in so many words. */
const WORDS_PER_HIT = 250;

/**
 * @param words in lower case
 * @param fallback where no words tell
 */
export function categoryOf(words: readonly string[], fallback: Category): Category {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const scores = new Map<Category, { hits: number; score: number }>();
  for (const [word, count] of counts)
    for (const { category, weight } of told(withoutAccents(word))) {
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

function told(word: string): { category: Category; weight: number }[] {
  const categories = byWord.get(word) ?? byPart(word) ?? [];
  return categories.map(category => ({ category, weight: 1 / Math.sqrt(categories.length) }));
}

function byPart(word: string): Category[] | undefined {
  for (let end = word.length - 1; end >= Math.max(MIN_PREFIX, word.length - MAX_ENDING); end--) {
    const categories = byWord.get(word.slice(0, end));
    if (categories) return categories;
  }
  for (let from = 1; from <= word.length - MIN_COMPOUND_PART; from++) {
    const categories = byWord.get(word.slice(from));
    if (categories) return categories;
  }
  for (let end = word.length - MAX_ENDING - 1; end >= MIN_COMPOUND_PART; end--) {
    const categories = byWord.get(word.slice(0, end));
    if (categories) return categories;
  }
  return undefined;
}
