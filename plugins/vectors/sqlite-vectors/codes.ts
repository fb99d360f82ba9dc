/**
 * The memory of the search: vectors with a byte for each number, in blocks of one page of WebAssembly's memory. The
 * page is what memory grows by; it does not shrink, so blocks are used again.
 */
import { readFile } from 'node:fs/promises';
import type { Ranking } from './ranking.ts';
import type { Row } from './vectors-file.ts';

export interface CodeMemory {
  /** An empty block for vectors of so many numbers; null when all are taken. */
  take(dimensions: number): Block | null;
  give(block: Block): void;
  /** One more, which is there at any time; empty when it is asked for. */
  spare(dimensions: number): Block;
  /** What blocks are ranked against from here on. */
  ask(vector: Uint8Array): void;
}

/** Rows of one owner, in order. */
export interface Block {
  readonly address: number;
  /** Rows that still fit. */
  room(): number;
  add(row: Row): void;
  /** Overwrites a row, or, without a vector, takes it away; nothing when it is not here. */
  change(row: number, vector: Uint8Array | null): void;
  /** Scores all rows against what was asked. */
  rank(into: Ranking): void;
}

interface Kernel {
  memory: WebAssembly.Memory;
  QUERY: { value: number };
  SCORES: { value: number };
  NUMBERS: { value: number };
  encode(into: number, stride: number): number;
  score(address: number, count: number, stride: number): void;
}

const KERNEL = new URL('./assembly/kernel.wasm', import.meta.url);
const PAGE = 65_536;
/** Bytes that the kernel takes at once. */
const STEP = 16;

/** @param maxBytes of all blocks */
export async function createCodeMemory(maxBytes: number): Promise<CodeMemory> {
  const { instance } = await WebAssembly.instantiate(await readFile(KERNEL));
  const kernel = instance.exports as Kernel; // a test compiles it anew
  const free: number[] = [];
  const maxPages = Math.floor(maxBytes / PAGE);
  const spareAt = kernel.memory.grow(1) * PAGE;
  let pages = 0;
  let bytes = new Uint8Array(kernel.memory.buffer);
  let scores = new Int32Array(kernel.memory.buffer, kernel.SCORES.value, PAGE / STEP);

  function address(): number | null {
    const used = free.pop();
    if (used !== undefined) return used;
    if (pages === maxPages) return null;
    pages++;
    const grown = kernel.memory.grow(1) * PAGE;
    // Growing detaches what looked at the memory before.
    bytes = new Uint8Array(kernel.memory.buffer);
    scores = new Int32Array(kernel.memory.buffer, kernel.SCORES.value, PAGE / STEP);
    return grown;
  }

  /** Writes a byte for each of the numbers, and answers what one step is worth. */
  function encode(vector: Uint8Array, into: number): number {
    const stride = strideOf(vector.length / Float32Array.BYTES_PER_ELEMENT);
    const from = kernel.NUMBERS.value;
    bytes.set(vector, from);
    bytes.fill(0, from + vector.length, from + stride * Float32Array.BYTES_PER_ELEMENT);
    return kernel.encode(into, stride);
  }

  function blockAt(start: number, dimensions: number): Block {
    const stride = strideOf(dimensions);
    const capacity = Math.floor(PAGE / stride);
    const rows = new Float64Array(capacity);
    /** What one step of a code is worth; 0: there is no row any more, or nothing but zeros in it. */
    const scales = new Float32Array(capacity);
    let count = 0;

    function write(at: number, vector: Uint8Array | null): void {
      scales[at] = vector === null ? 0 : encode(vector, start + at * stride);
    }

    return {
      address: start,
      room: () => capacity - count,
      add({ row, vector }) {
        rows[count] = row;
        write(count++, vector);
      },
      change(row, vector) {
        if (count === 0 || row < (rows[0] ?? 0) || row > (rows[count - 1] ?? 0)) return;
        const at = rows.subarray(0, count).indexOf(row);
        if (at !== -1) write(at, vector);
      },
      rank(into) {
        kernel.score(start, count, stride);
        for (let at = 0; at < count; at++) {
          const scale = scales[at] ?? 0;
          if (scale !== 0) into.offer(rows[at] ?? 0, (scores[at] ?? 0) * scale);
        }
      },
    };
  }

  return {
    take(dimensions) {
      const start = address();
      return start === null ? null : blockAt(start, dimensions);
    },
    give: block => void free.push(block.address),
    spare: dimensions => blockAt(spareAt, dimensions),
    ask: vector => void encode(vector, kernel.QUERY.value),
  };
}

function strideOf(dimensions: number): number {
  return Math.ceil(dimensions / STEP) * STEP;
}
