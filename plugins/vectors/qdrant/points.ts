/** Builds and reads requests about points (Qdrant's word for items): put, search, remove. Pure. */
import { createHash } from 'node:crypto';
import type { Schemas } from '@qdrant/js-client-rest';
import type { VectorItem, VectorSpace } from '../../../core/contract/plugin.ts';
import { directionOf } from '../../kit/geometry/direction.ts';

type Point = Schemas['PointStruct'];
type Upsert = Schemas['UpsertOperation'];

/** Numbers in one request: serialising that many blocks the thread for about 5 ms. */
const MAX_NUMBERS = 10_000;

/**
 * Builds the operations that put these items, one request each. Each is conditional on the stored item not being newer:
 * Qdrant checks and writes atomically, so writers on several machines do not undo each other. Missing items are added.
 */
export function upserts(space: VectorSpace, items: readonly VectorItem[]): Upsert[][] {
  const points = items.map(item => ({ updatedAt: item.updatedAt, point: pointOf(space, item) }));
  const atOnce = Math.max(1, Math.floor(MAX_NUMBERS / space.dimensions));
  const requests = Array.from({ length: Math.ceil(points.length / atOnce) }, (_, at) => at * atOnce);
  return requests.map(at => operationsOf(points.slice(at, at + atOnce)));
}

function operationsOf(points: readonly { updatedAt: number; point: Point }[]): Upsert[] {
  const ages = Map.groupBy(points, ({ updatedAt }) => updatedAt);
  return [...ages].map(([updatedAt, group]) => ({
    upsert: {
      points: group.map(({ point }) => point),
      update_filter: { must: [{ key: 'updated_at', range: { lte: updatedAt } }] },
    },
  }));
}

function pointOf(space: VectorSpace, { userId, id, vector, updatedAt }: VectorItem): Point {
  return {
    id: pointId(userId, id),
    vector: [...directionOf(vector, space)],
    payload: { user_id: userId, id, updated_at: updatedAt },
  };
}

export function ownedBy(userId: string): Schemas['FieldCondition'] {
  return { key: 'user_id', match: { value: userId } };
}

/** Derives the UUID that Qdrant requires from the owner and the id, so that users' items never collide. */
export function pointId(userId: string, id: string): string {
  const hash = createHash('sha256').update(`${userId}\0${id}`).digest('hex');
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}

/** Reads the hits, leaving out vectors of zeros, whose angle to others is undefined. */
export function readHits({ points }: Schemas['QueryResponse']): { id: string; score: number }[] {
  return points.flatMap(({ score, payload }) => {
    const id = payload?.id;
    return typeof id === 'string' && score !== 0 ? [{ id, score: Math.max(-1, Math.min(1, score)) }] : [];
  });
}
