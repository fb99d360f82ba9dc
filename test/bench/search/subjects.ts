/** Ways to find the nearest vectors. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { PluginContext, VectorItem } from '../../../core/contract/plugin.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { createLog } from '../../../core/runtime/log.ts';
import sqliteVectors from '../../../plugins/vectors/sqlite-vectors/index.ts';
import type { Corpus } from './corpora.ts';

/** User who searches. */
export const OWNER = 'user-0';

export interface Subject {
  put(items: VectorItem[]): Promise<void>;
  search(query: Float32Array, limit: number): Promise<{ id: string; score: number }[]>;
}

export async function index({ dimensions }: Pick<Corpus, 'dimensions'>, dataDir: string): Promise<Subject> {
  const context: Partial<PluginContext<unknown>> = {
    dataDir,
    log: createLog({ level: 'warn', format: 'json' }),
    clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
    onStop: () => {},
    error: (code, message, details) => new AppError(code, message, details),
    fail: error => {
      throw error;
    },
  };
  const options = sqliteVectors.options(z).parse({});
  const setUp = sqliteVectors.setup as (given: unknown) => ReturnType<typeof sqliteVectors.setup>; // it uses only this
  const { vectors } = await setUp({ ...context, options });
  const space = { name: 'memories.bench', dimensions };
  const signal = new AbortController().signal;
  return {
    put: items => vectors.upsert(space, items),
    search: (query, limit) => vectors.search(space, OWNER, query, limit, signal),
  };
}

/** All in one array of floats, without any overhead. */
export function exact({ dimensions }: Pick<Corpus, 'dimensions'>, count: number): Subject {
  const all = new Float32Array(count * dimensions);
  const scores = new Float32Array(count);
  const ids: string[] = [];
  let held = 0;
  return {
    async put(items) {
      for (const { id, vector } of items) {
        ids.push(id);
        all.set(vector, held++ * dimensions);
      }
    },
    async search(query, limit) {
      for (let row = 0, at = 0; row < held; row++) {
        let sum = 0;
        for (let i = 0; i < dimensions; i++, at++) sum += (all[at] ?? 0) * (query[i] ?? 0);
        scores[row] = sum;
      }
      const best: number[] = [];
      for (let row = 0; row < held; row++) {
        if (best.length === limit && (scores[row] ?? 0) <= (scores[best.at(-1) ?? 0] ?? 0)) continue;
        const place = best.findIndex(other => (scores[other] ?? 0) < (scores[row] ?? 0));
        best.splice(place === -1 ? best.length : place, 0, row);
        best.length = Math.min(best.length, limit);
      }
      return best.map(row => ({ id: ids[row] ?? '', score: scores[row] ?? 0 }));
    },
  };
}
