/** Measures how many of the query's words a text contains. Pure. */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Returns words in lower case without accents, without duplicates. */
function wordsOf(text: string): Set<string> {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return new Set(
    [...segmenter.segment(plain)].flatMap(({ segment, isWordLike }) => (isWordLike ? segment : [])),
  );
}

/**
 * Returns for each text a share from 0 (none of the words) to 1 (all of them). Words that distinguish these texts count more:
 * `his` counts little, a name much, and a word that occurs in none of them most.
 */
export function wordShares(asked: string, texts: readonly string[]): number[] {
  const wanted = [...wordsOf(asked)];
  const having = texts.map(text => {
    const words = wordsOf(text);
    return wanted.filter(word => words.has(word));
  });
  const counts = new Map(wanted.map(word => [word, 0]));
  for (const word of having.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const weigh = (words: readonly string[]) =>
    words.reduce((sum, word) => sum + rarity(counts.get(word) ?? 0, texts.length), 0);
  const whole = weigh(wanted);
  return having.map(words => (whole === 0 ? 0 : weigh(words) / whole));
}

/** Inverse document frequency, as in BM25. */
function rarity(count: number, total: number): number {
  return Math.log(1 + (total - count + 0.5) / (count + 0.5));
}
