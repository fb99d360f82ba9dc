import assert from 'node:assert/strict';
import type { Recording } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { idsOf, NOON, user } from './rows.ts';

function recording(id: string, userId: string, changes: Partial<Recording> = {}): Recording {
  return {
    id,
    userId,
    name: 'a b.m4a',
    bytes: 5_000_000_000,
    state: 'waiting',
    error: null,
    startedAt: null,
    endedAt: NOON,
    language: 'multi',
    source: 'phone',
    silenceMs: 120_000,
    durationMs: null,
    heardMs: 0,
    conversationIds: [],
    createdAt: NOON,
    updatedAt: NOON,
    ...changes,
  };
}

export const recordingChecks: StorageCheck[] = [
  {
    title: 'recordings are returned as stored, newest first, and belong to one user',
    async run({ storage: { users, recordings } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const full = recording('b', 'anna', {
        error: 'It’s “odd”',
        conversationIds: ['c1', 'c2'],
        createdAt: NOON + 1,
      });
      for (const row of [recording('a', 'anna'), full, recording('b', 'ben')]) await recordings.insert(row);
      await assert.rejects(recordings.insert(full), { code: 'conflict' });
      assert.deepEqual(await recordings.get('anna', 'b'), full);
      assert.deepEqual(idsOf(await recordings.list('anna', { limit: 10, offset: 0 })), ['b', 'a']);
      assert.deepEqual(idsOf(await recordings.list('anna', { limit: 10, offset: 1 })), ['a']);
      assert.deepEqual(await recordings.waiting('anna'), { recordings: 2, bytes: 10_000_000_000 });
      const changes = {
        state: 'done' as const,
        heardMs: 5,
        durationMs: 6,
        startedAt: 7,
        conversationIds: ['c3'],
      };
      assert.equal(await recordings.update('anna', 'b', changes), true);
      assert.equal(await recordings.update('ben', 'a', changes), false);
      assert.deepEqual(await recordings.get('anna', 'b'), { ...full, ...changes });
      assert.deepEqual(await recordings.waiting('anna'), { recordings: 1, bytes: 5_000_000_000 });
      assert.deepEqual(await recordings.waiting('nobody'), { recordings: 0, bytes: 0 });
      await recordings.prune(NOON + 1);
      assert.deepEqual(idsOf(await recordings.list('anna', { limit: 10, offset: 0 })), ['a']);
      assert.equal(await recordings.remove('ben', 'a'), false);
      assert.equal(await recordings.remove('anna', 'a'), true);
      assert.equal((await recordings.get('ben', 'b'))?.state, 'waiting');
    },
  },
];
