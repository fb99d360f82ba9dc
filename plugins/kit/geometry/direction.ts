import type { VectorSpace } from '../../../core/contract/plugin.ts';

/**
 * Scales a vector to length 1; a zero vector stays.
 * @throws {RangeError} where it does not fit into the space
 */
export function directionOf(vector: Float32Array, { name, dimensions }: VectorSpace): Float32Array {
  if (vector.length !== dimensions)
    throw new RangeError(`${name} has ${dimensions} dimensions, and a vector has ${vector.length}`);
  let square = 0;
  for (const value of vector) square += value * value;
  if (!Number.isFinite(square)) throw new RangeError(`${name}: a vector holds what is no number`);
  const length = Math.sqrt(square);
  return length === 0 ? vector : vector.map(value => value / length);
}

export function isZero(direction: Float32Array): boolean {
  return direction.every(value => value === 0);
}
