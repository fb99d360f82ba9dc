import assert from 'node:assert/strict';
import type { ForeignImport, ForeignItem } from '../../../../core/contract/model.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, idsOf, NOON, person, segment, user, voiceSample } from './rows.ts';

function run(id: string, userId: string, changes: Partial<ForeignImport> = {}): ForeignImport {
  return {
    id,
    userId,
    format: 'Omi',
    name: 'omi.zip',
    state: 'running',
    counts: {},
    startedAt: NOON,
    endedAt: null,
    ...changes,
  };
}

function item(id: string, { userId, id: importId }: ForeignImport): ForeignItem {
  return { id, userId, importId, kind: 'memory' };
}

export const foreignImportChecks: StorageCheck[] = [
  {
    title: 'imports from other products are returned newest first, and belong to their owner alone',
    async run({ storage: { users, foreignImports } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const [first, second] = [run('a', 'anna'), run('b', 'anna', { startedAt: NOON + 1 })];
      for (const each of [first, second, run('a', 'ben', { name: 'his' })]) await foreignImports.insert(each);
      await assert.rejects(foreignImports.insert(first), { code: 'conflict' });
      assert.deepEqual(await foreignImports.list('anna', 9), [second, first]);
      assert.deepEqual(idsOf(await foreignImports.list('anna', 1)), ['b']);
      const patch = { state: 'done', counts: { memory: 2 }, endedAt: NOON + 5 } as const;
      assert.equal(await foreignImports.update('anna', 'a', patch), true);
      assert.deepEqual(await foreignImports.get('anna', 'a'), { ...first, ...patch });
      assert.equal((await foreignImports.get('ben', 'a'))?.name, 'his');
      assert.equal(await foreignImports.update('ben', 'b', patch), false);
      assert.equal(await foreignImports.get('ben', 'b'), null);
    },
  },
  {
    title: 'stored items are recorded with the last import that stored them, and removed with it',
    async run({ storage: { users, foreignImports } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const [first, second, his] = [run('a', 'anna'), run('b', 'anna'), run('a', 'ben')];
      for (const each of [first, second, his]) await foreignImports.insert(each);
      await foreignImports.note([]);
      await foreignImports.note([item('m2', first), item('m1', first), item('m3', first)]);
      await foreignImports.note([item('m1', his), item('m3', second)]);
      assert.deepEqual(await foreignImports.items('anna', 'a', 9), [item('m1', first), item('m2', first)]);
      assert.deepEqual(idsOf(await foreignImports.items('anna', 'b', 9)), ['m3']);
      assert.deepEqual(idsOf(await foreignImports.items('anna', 'a', 1)), ['m1']);
      assert.deepEqual(await Promise.all(['anna', 'ben'].map(id => foreignImports.has(id, 'm2'))), [
        true,
        false,
      ]);
      await foreignImports.forget('anna', ['m1', 'unknown']);
      assert.deepEqual(idsOf(await foreignImports.items('anna', 'a', 9)), ['m2']);
      assert.deepEqual(idsOf(await foreignImports.items('ben', 'a', 9)), ['m1']);
      await assert.rejects(foreignImports.note([item('m9', run('unknown', 'anna'))]), { code: 'not_found' });
      await users.remove('anna');
      assert.deepEqual(await foreignImports.items('anna', 'b', 9), []);
    },
  },
  {
    title: 'people without references are removed, and nobody else',
    async run({ storage: { users, people, conversations, segments, voices } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      for (const id of ['said', 'heard', 'nobody', 'kept']) await people.insert(person(id, 'anna'));
      await people.insert(person('nobody', 'ben'));
      const talk = conversation('c1', 'anna');
      await conversations.insert(talk);
      await segments.upsert([segment('s1', talk, { personId: 'said' })]);
      await voices.putSample(voiceSample('v1', 'anna', { personId: 'heard' }));
      await people.removeUnnamed('anna', ['said', 'heard', 'nobody', 'unknown']);
      assert.deepEqual(idsOf(await people.list('anna')).sort(), ['heard', 'kept', 'said']);
      assert.deepEqual(idsOf(await people.list('ben')), ['nobody']);
      await people.removeUnnamed('anna', []);
    },
  },
];
