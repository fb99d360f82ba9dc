/**
 * The inner loops of the search, in AssemblyScript: TypeScript that compiles to WebAssembly, here with vectors of sixteen
 * bytes. `kernel.wasm` beside this file is what runs; `npm run kernel` makes it anew.
 *
 * The first page of its memory (64 KiB) holds what comes in and goes out, every further one a block of rows.
 */
const VECTOR: usize = 16;
const GREATEST: f32 = 127;

/** At most 4096 signed bytes. */
export const QUERY: usize = 0;
/** A 32-bit number for each row of a block: at most 4096, of 16 bytes each. */
export const SCORES: usize = 4096;
/** What is to be encoded: at most 4096 numbers of 32 bits; zeros up to the next multiple of 16. */
export const NUMBERS: usize = SCORES + 4096 * 4;

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

/** Writes a signed byte for each of `stride` numbers, and answers what one step is worth; 0, and nothing, for zeros. */
export function encode(into: usize, stride: usize): f32 {
  let most = f32x4.splat(0);
  for (let at: usize = 0; at < stride; at += 4)
    most = f32x4.max(most, f32x4.abs(v128.load(NUMBERS + (at << 2))));
  const left = max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1));
  const greatest = max(left, max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)));
  if (greatest === 0) return 0;
  const factor = f32x4.splat(GREATEST / greatest);
  for (let at: usize = 0; at < stride; at += VECTOR) {
    const from = NUMBERS + (at << 2);
    const low = i16x8.narrow_i32x4_s(steps(from, factor), steps(from + VECTOR, factor));
    const high = i16x8.narrow_i32x4_s(steps(from + 2 * VECTOR, factor), steps(from + 3 * VECTOR, factor));
    v128.store(into + at, i8x16.narrow_i16x8_s(low, high));
  }
  return greatest / GREATEST;
}

/** Four numbers as whole ones. */
function steps(from: usize, factor: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(from), factor)));
}
