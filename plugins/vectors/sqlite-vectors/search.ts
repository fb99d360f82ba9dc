/** What the index's thread does: the file has the vectors, memory finds those that are worth a closer look. */
import { directionOf, isZero } from '../../kit/geometry/direction.ts';
import type { CodeMemory } from './codes.ts';
import type { Verbs } from './messages.ts';
import { createShelves } from './shelves.ts';
import { openVectorsFile } from './vectors-file.ts';

export interface Search extends Verbs {
  /** Goes on tidying up; false when there is nothing left. */
  tidy(): boolean;
  /** What was removed leaves the log of the file. */
  emptyLog(): void;
  close(): void;
}

/** Looked at closely for an answer of so many: bytes order nearly as the numbers do. */
const candidates = (limit: number) => 100 + 2 * limit;

/** @throws what SQLite says */
export function openSearch(path: string, memory: CodeMemory): Search {
  const file = openVectorsFile(path);
  const shelves = createShelves(file, memory);

  return {
    upsert(space, items) {
      for (const { owner, ...row } of file.upsert(space, items)) shelves.written(owner, row);
    },
    search({ name }, userId, vector, limit) {
      const space = file.space(name);
      if (space === null) return [];
      const direction = directionOf(vector, space);
      const owner = file.owner(space.key, userId);
      if (owner === null || isZero(direction)) return [];
      const hits = shelves.near(owner, direction, candidates(limit)).flatMap(row => {
        const item = file.item(owner, space.dimensions, row);
        return item ? [{ id: item.id, score: cosine(item.vector, direction) }] : [];
      });
      return hits.sort((a, b) => b.score - a.score).slice(0, limit);
    },
    remove({ name }, userId, ids) {
      const space = file.space(name);
      const owner = space && file.owner(space.key, userId);
      if (owner === null) return;
      for (const row of file.remove(owner, ids)) shelves.removed(owner, row);
    },
    spaces: () => file.spaces().map(({ name, id }) => ({ name, id })),
    drop(name) {
      file.drop(name);
      shelves.clear(); // nobody will search what was in it
    },
    tidy: file.sweep,
    emptyLog: file.emptyLog,
    close() {
      shelves.clear();
      file.close();
    },
  };
}

/** Of two vectors of length 1. */
function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return Math.max(-1, Math.min(1, sum));
}
