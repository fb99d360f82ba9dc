/** Reads the answer of an embeddings endpoint as vectors. Pure. */
import { createHash } from 'node:crypto';
import { isRecord } from '../../kit/kit.ts';

/** Returns vectors of length 1, in the order of the texts; null when the answer does not match `count` texts. */
export function readVectors(body: unknown, count: number): Float32Array[] | null {
  if (!isRecord(body) || !Array.isArray(body.data) || body.data.length !== count) return null;
  const vectors = new Map<unknown, Float32Array>();
  for (const [place, item] of body.data.entries()) {
    if (!isRecord(item) || !isNumbers(item.embedding)) return null;
    vectors.set(item.index ?? place, normalised(item.embedding));
  }
  const found = Array.from({ length: count }, (_, index) => vectors.get(index));
  return found.every(vector => vector !== undefined) ? found : null;
}

/**
 * Names the space of comparable vectors: model, dimensions, revision. When the model's name contains characters that
 * have to be replaced, part of its hash keeps the name unique.
 */
export function nameSpace(model: string, dimensions: number, revision: string | undefined): string {
  const plain = model
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .slice(0, 50);
  const hash = createHash('sha256').update(model).digest('hex').slice(0, 8);
  const parts = [plain === model ? plain : `${plain}-${hash}`, String(dimensions)];
  return [...parts, ...(revision === undefined ? [] : [revision])].join('.');
}

function normalised(numbers: readonly number[]): Float32Array {
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, number => (length === 0 ? 0 : number / length));
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isFinite);
}
