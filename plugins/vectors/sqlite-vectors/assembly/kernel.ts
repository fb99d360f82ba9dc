/**
 * The inner loop of the search, in AssemblyScript: TypeScript that compiles to WebAssembly, here with vectors of sixteen
 * bytes. `kernel.wasm` beside this file is what runs; `npm run kernel` makes it anew.
 *
 * The first page of its memory (64 KiB) holds the query and the scores, every further one a block of rows.
 */
const VECTOR: usize = 16;

/** At most 4096 signed bytes. */
export const QUERY: usize = 0;
/** A 32-bit number for each row of a block: at most 4096, of 16 bytes each. */
export const SCORES: usize = 4096;

/** Multiplies `count` rows of `stride` signed bytes (a multiple of 16) with the query; their sums become the scores. */
export function score(rows: usize, count: i32, stride: usize): void {
  for (let row = 0; row < count; row++) {
    let sums = i32x4.splat(0);
    for (let at: usize = 0; at < stride; at += VECTOR) {
      const codes = v128.load(rows + at);
      const query = v128.load(QUERY + at);
      const low = i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(codes), i16x8.extend_low_i8x16_s(query));
      const high = i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(codes), i16x8.extend_high_i8x16_s(query));
      sums = i32x4.add(sums, i32x4.add(low, high));
    }
    const even = i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 2);
    const odd = i32x4.extract_lane(sums, 1) + i32x4.extract_lane(sums, 3);
    store<i32>(SCORES + ((<usize>row) << 2), even + odd);
    rows += stride;
  }
}
