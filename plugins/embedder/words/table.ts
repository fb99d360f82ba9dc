/**
 * The file of word vectors, used in memory as it is stored: `EARWORDS`; the number of words (uint32, little endian);
 * the weight of each word (uint8), words sorted by their bytes; the vector of each word; the words, each followed by a
 * line feed. A vector has 100 numbers of 4 bits, low half first, which are indexes into LEVELS.
 */

export const DIMENSIONS = 100;

const MAGIC = 'EARWORDS';
const HEADER_BYTES = MAGIC.length + 4;
const VECTOR_BYTES = DIMENSIONS / 2;
const LINE_FEED = 0x0a;

/** Levels that represent normally distributed numbers in 4 bits with the least error (Max 1960, table I). */
const POSITIVE = [0.1284, 0.3881, 0.6568, 0.9424, 1.2562, 1.618, 2.069, 2.7326];
const LEVELS = [...POSITIVE.toReversed().map(level => -level), ...POSITIVE];

export interface WordVector {
  /** Consists of `a` to `z`, digits and dashes. */
  word: string;
  /** 0 to 1: how much meaning the word carries. */
  weight: number;
  /** Only its direction is kept. */
  vector: Float32Array;
}

export interface WordTable {
  size: number;
  /** Adds `scale` × the word's weight × its vector of length 1; false for an unknown word. */
  add(word: string, scale: number, sum: Float32Array): boolean;
}

/** @throws {Error} when the bytes are not a complete table */
export function readTable(bytes: Buffer): WordTable {
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error('it is no table of words');
  const size = bytes.readUInt32LE(MAGIC.length);
  const vectorsAt = HEADER_BYTES + size;
  const starts = startsOf(bytes, vectorsAt + size * VECTOR_BYTES, size);
  if (starts[size] !== bytes.length) throw new Error('it is not a whole table of words');
  const numbers = new Float32Array(DIMENSIONS);

  function add(word: string, scale: number, sum: Float32Array): boolean {
    const index = find(Buffer.from(word, 'latin1'));
    if (index === -1) return false;
    const weight = (bytes[HEADER_BYTES + index] ?? 0) / 255;
    unpack(bytes, vectorsAt + index * VECTOR_BYTES, numbers);
    addScaled(sum, numbers, (scale * weight) / lengthOf(numbers));
    return true;
  }

  function find(word: Buffer): number {
    let low = 0;
    let high = size;
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = bytes.compare(word, 0, word.length, starts[middle], (starts[middle + 1] ?? 0) - 1);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -1;
  }

  return { size, add };
}

/** Offsets of the words' starts, and of the end of the last one. */
function startsOf(bytes: Buffer, from: number, size: number): Uint32Array {
  const starts = new Uint32Array(Math.min(size, bytes.length) + 1); // a damaged file may state any size
  let index = 0;
  starts[0] = from;
  for (let at = from; at < bytes.length && index < size; at += 1) {
    if (bytes[at] !== LINE_FEED) continue;
    index += 1;
    starts[index] = at + 1;
  }
  return starts;
}

export function writeTable(words: readonly WordVector[]): Buffer {
  const sorted = words
    .map(each => ({ ...each, bytes: Buffer.from(`${each.word}\n`, 'latin1') }))
    .sort((one, other) => (one.word < other.word ? -1 : 1));
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 'latin1');
  header.writeUInt32LE(sorted.length, MAGIC.length);
  return Buffer.concat([
    header,
    Buffer.from(sorted.map(({ weight }) => Math.round(weight * 255))),
    ...sorted.map(({ vector }) => pack(vector)),
    ...sorted.map(({ bytes }) => bytes),
  ]);
}

function pack(vector: Float32Array): Buffer {
  const spread = lengthOf(vector) / Math.sqrt(DIMENSIONS); // scaled to the range of LEVELS
  const places = Array.from(vector, number => nearestLevel(number / spread));
  return Buffer.from(
    Array.from({ length: VECTOR_BYTES }, (_, at) => (places[2 * at] ?? 0) | ((places[2 * at + 1] ?? 0) << 4)),
  );
}

function unpack(bytes: Buffer, at: number, into: Float32Array): void {
  for (let index = 0; index < VECTOR_BYTES; index += 1) {
    const both = bytes[at + index] ?? 0;
    into[2 * index] = LEVELS[both & 15] ?? 0;
    into[2 * index + 1] = LEVELS[both >> 4] ?? 0;
  }
}

function nearestLevel(number: number): number {
  const distances = LEVELS.map(level => Math.abs(level - number));
  return distances.indexOf(Math.min(...distances));
}

export function lengthOf(vector: Float32Array): number {
  let squares = 0;
  for (const number of vector) squares += number * number;
  return Math.sqrt(squares);
}

export function addScaled(sum: Float32Array, vector: Float32Array, scale: number): void {
  for (let index = 0; index < sum.length; index += 1)
    sum[index] = (sum[index] ?? 0) + (vector[index] ?? 0) * scale;
}
