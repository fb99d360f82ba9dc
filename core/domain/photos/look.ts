/** A picture is too dark if 99 % of its pixels are darker than this; 0 to 255. */
const DARK = 28;
/** Minimum variance of the Laplacian; sharp pictures have hundreds. */
const LEAST_SHARPNESS = 6;

/** Judges a picture by its brightness (0 to 255), row by row. */
export function sharpnessOf(gray: Uint8Array, width: number): { dark: boolean; blurred: boolean } {
  return { dark: brightest(gray) < DARK, blurred: laplacianVariance(gray, width) < LEAST_SHARPNESS };
}

/** Returns the brightness that all but the brightest hundredth stay below: those may be noise. */
function brightest(gray: Uint8Array): number {
  const counts = new Uint32Array(256);
  for (const value of gray) counts[value] = (counts[value] ?? 0) + 1;
  let above = 0;
  for (let value = 255; value > 0; value--) {
    above += counts[value] ?? 0;
    if (above * 100 > gray.length) return value;
  }
  return 0;
}

/** Laplacian, which is large at edges. */
function laplacianVariance(gray: Uint8Array, width: number): number {
  const height = Math.floor(gray.length / width);
  let [sum, squares, count] = [0, 0, 0];
  for (let y = 1; y < height - 1; y++)
    for (let x = 1; x < width - 1; x++) {
      const at = y * width + x;
      const around =
        (gray[at - 1] ?? 0) + (gray[at + 1] ?? 0) + (gray[at - width] ?? 0) + (gray[at + width] ?? 0);
      const value = around - 4 * (gray[at] ?? 0);
      sum += value;
      squares += value * value;
      count += 1;
    }
  return count === 0 ? 0 : squares / count - (sum / count) ** 2;
}
