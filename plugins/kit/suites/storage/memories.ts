import assert from 'node:assert/strict';
import type { Storage } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { idsOf, memory, user } from './rows.ts';

/** Hostile search texts, which must be treated as plain words. */
const HOSTILE = [
  '"',
  "'; drop table memories; --",
  'tea AND (',
  'words : tea',
  'owner : anna',
  'NEAR(tea coffee)',
  'tea*',
  '-tea ^tea',
  "tea' | 'coffee & !tea <-> :*",
  '\\ \u0000 tea',
  '(((((((((',
  '🙂 %',
  'x'.repeat(100_000),
  'tea '.repeat(10_000),
];

async function annaWith(storage: Storage, contents: Record<string, string>): Promise<void> {
  await storage.users.insert(user('anna'));
  await storage.memories.insert(
    Object.entries(contents).map(([id, content]) => memory(id, 'anna', { content })),
  );
}

export const memoryChecks: StorageCheck[] = [
  {
    title: 'memories are returned as stored, changed by field, and removed once',
    async run({ storage: { users, memories }, another }) {
      await users.insert(user('anna'));
      const first = memory('m1', 'anna', {
        tags: ['a,b', '"', '🙂'],
        visibility: 'public',
        userReview: null,
        topic: 'home',
        sources: [{ conversationId: 'c1', segmentIds: ['s1', 's2'], saidAt: 7, wording: 'abc' }],
        history: [{ id: 'v1', content: 'old "🙂"', asOf: 5, supersededAt: 6, sources: [] }],
      });
      await memories.insert([first, memory('m2', 'anna', { manuallyAdded: false, reviewed: false })]);
      await memories.insert([]);
      const other = await another();
      assert.deepEqual(await other.memories.get('anna', 'm1'), first);
      await assert.rejects(memories.insert([memory('m3', 'anna'), first]), { code: 'conflict' });
      assert.equal(await memories.get('anna', 'm3'), null, 'all or nothing');

      const patch = {
        content: 'new',
        tags: [],
        edited: true,
        userReview: false,
        updatedAt: 1_793_620_800_001,
        topic: null,
        asOf: 1_793_620_800_002,
        sources: [],
        history: [],
      };
      assert.equal(await memories.update('anna', 'm1', patch), true);
      assert.equal(await memories.update('anna', 'm1', {}), true);
      assert.deepEqual(await other.memories.get('anna', 'm1'), { ...first, ...patch });
      assert.equal(await memories.update('anna', 'm4', patch), false);
      assert.equal(await memories.remove('anna', 'm1'), true);
      assert.equal(await memories.remove('anna', 'm1'), false);
      assert.equal(await other.memories.get('anna', 'm1'), null);
    },
  },
  {
    title: 'memories are listed by score, highest first, ties by id, in pages, without locked ones',
    async run({ storage: { users, memories } }) {
      await users.insert(user('anna'));
      const row = (id: string, scoring: string, changes = {}) => memory(id, 'anna', { scoring, ...changes });
      await memories.insert([
        row('m1', '00_997_1793620800', { category: 'work' }),
        row('m3', '01_997_1793620799'),
        row('m2', '01_997_1793620799'),
        row('m5', '01_999_1793620798', { category: 'system' }),
        row('m4', '01_998_1793620800', { locked: true }),
      ]);
      const list = async (filter: object) =>
        idsOf(await memories.list('anna', { limit: 10, offset: 0, ...filter }));
      assert.deepEqual(await list({}), ['m5', 'm2', 'm3', 'm1']);
      assert.deepEqual(await list({ limit: 2, offset: 1 }), ['m2', 'm3']);
      assert.deepEqual(await list({ offset: 9 }), []);
      assert.deepEqual(await list({ categories: ['work', 'system'] }), ['m5', 'm1']);
      assert.deepEqual(await list({ categories: ['hobbies'] }), []);
      assert.deepEqual(idsOf(await memories.page('anna', null, 3)), ['m1', 'm2', 'm3']);
      assert.deepEqual(idsOf(await memories.page('anna', 'm3', 3)), ['m4', 'm5'], 'locked ones too');
      const some = await memories.some('anna', ['m9', 'm4', 'm1', 'm4']);
      assert.deepEqual(idsOf(some).toSorted(), ['m1', 'm4']);
      assert.deepEqual(await memories.some('anna', []), []);
    },
  },
  {
    title: 'memories are filtered by review, and found by topic, locked ones too',
    async run({ storage: { users, memories } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await memories.insert([
        memory('m1', 'anna', { reviewed: false, topic: 'home', category: 'work' }),
        memory('m2', 'anna', { topic: 'home', locked: true }),
        memory('m3', 'anna', { reviewed: false, topic: 'Nora: home' }),
        memory('m4', 'ben', { reviewed: false, topic: 'home' }),
      ]);
      const list = async (filter: object) =>
        idsOf(await memories.list('anna', { limit: 10, offset: 0, ...filter }));
      assert.deepEqual(await list({ reviewed: false }), ['m1', 'm3']);
      assert.deepEqual(await list({ reviewed: true }), []);
      assert.deepEqual(await list({ reviewed: false, categories: ['work'] }), ['m1']);
      assert.deepEqual(await list({ reviewed: false, categories: ['work', 'other'] }), ['m1', 'm3']);
      assert.deepEqual(idsOf(await memories.ofTopic('anna', 'home')), ['m1', 'm2']);
      assert.deepEqual(await memories.ofTopic('anna', 'Home'), []);
    },
  },
  {
    title: 'forgotten memories are listed newest first, to their user alone, and removed',
    async run({ storage: { users, forgottenMemories }, another }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const forgotten = (id: string, userId: string, forgottenAt: number) => ({
        id,
        userId,
        forgottenAt,
        salt: 'abc',
        words: ['#12ab', '34cd'],
      });
      const [first, second] = [forgotten('f1', 'anna', 1), forgotten('f2', 'anna', 2)];
      for (const each of [first, second, forgotten('f1', 'ben', 3)]) await forgottenMemories.insert(each);
      const other = await another();
      assert.deepEqual(await other.forgottenMemories.list('anna', 10), [second, first]);
      assert.deepEqual(await forgottenMemories.list('anna', 1), [second]);
      await forgottenMemories.remove('anna', ['f1', 'f3']);
      await forgottenMemories.remove('anna', []);
      assert.deepEqual(await forgottenMemories.list('anna', 10), [second]);
      assert.equal((await forgottenMemories.list('ben', 10)).length, 1);
    },
  },
  {
    title: 'memories are found by words, ignoring case and accents, best first',
    async run({ storage }) {
      const { match } = storage.memories;
      await annaWith(storage, {
        m1: 'Drinks green tea in the morning',
        m2: 'Plays the violin, and drinks coffee',
        m3: 'José lives in Łódź, 27 Rue de l’Été',
        m4: '她住在北京',
      });
      assert.deepEqual(await match('anna', 'Green TEA?', 10), ['m1']);
      assert.deepEqual(await match('anna', 'who drinks coffee', 10), ['m2', 'm1']);
      assert.deepEqual(await match('anna', 'who drinks coffee', 1), ['m2']);
      for (const text of ['jose', 'JOSÉ', 'Jose\u0301', '27', 'ete'])
        assert.deepEqual(await match('anna', text, 10), ['m3'], text);
      assert.deepEqual(await match('anna', '北京', 10), ['m4']);
      for (const text of ['', ' ', '?!', 'gree', 'beer'])
        assert.deepEqual(await match('anna', text, 10), [], text);
    },
  },
  {
    title: 'search text is treated as data, whatever it contains',
    async run({ storage }) {
      await annaWith(storage, { m1: 'tea', m2: 'beer' });
      for (const text of HOSTILE) {
        const found = await storage.memories.match('anna', text, 10);
        assert.deepEqual(found, text.includes('tea') ? ['m1'] : [], text.slice(0, 40));
      }
      assert.deepEqual(await storage.memories.match('anna', 'owner anna', 10), []);
    },
  },
  {
    title: 'a memory is found by its current text, and not when it is locked or removed',
    async run({ storage }) {
      const { memories } = storage;
      await annaWith(storage, { m1: 'tea', m2: 'tea', m3: 'tea' });
      await memories.update('anna', 'm1', { content: 'coffee' });
      await memories.update('anna', 'm2', { locked: true });
      await memories.remove('anna', 'm3');
      assert.deepEqual(await memories.match('anna', 'tea', 10), []);
      assert.deepEqual(await memories.match('anna', 'coffee', 10), ['m1']);
      await memories.update('anna', 'm2', { locked: false });
      assert.deepEqual(await memories.match('anna', 'tea', 10), ['m2']);
      await memories.insert([memory('m3', 'anna', { content: 'water' })]);
      assert.deepEqual(await memories.match('anna', 'tea water', 10).then(found => found.toSorted()), [
        'm2',
        'm3',
      ]);
    },
  },
  {
    title: 'a rare word outweighs common ones',
    async run({ storage }) {
      await storage.users.insert(user('anna'));
      const ids = Array.from({ length: 6000 }, (_, n) => `m${String(n).padStart(4, '0')}`);
      for (let at = 0; at < ids.length; at += 200) {
        const some = ids.slice(at, at + 200);
        await storage.memories.insert(
          some.map(id => memory(id, 'anna', { content: id === 'm0007' ? 'the blue door' : 'the red house' })),
        );
      }
      assert.deepEqual(await storage.memories.match('anna', 'the the blue red door', 10), ['m0007']);
      assert.equal((await storage.memories.match('anna', 'the house', 10)).length, 10);
    },
  },
  {
    title: 'changes of memories are kept until they are settled; a newer change stays',
    async run({ storage: { users, embeddings } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const change = (id: string, changedAt: number) => ({ userId: 'anna', id, changedAt });
      await embeddings.note([change('m1', 1), change('m2', 1), change('m3', 1)]);
      await embeddings.note([]);
      const seen = await embeddings.changes('anna', 2);
      assert.deepEqual(seen, [change('m1', 1), change('m2', 1)]);
      await embeddings.note([change('m2', 2)]);
      await embeddings.settle(seen);
      assert.deepEqual(await embeddings.changes('anna', 10), [change('m2', 2), change('m3', 1)]);
    },
  },
  {
    title: 'missing vectors are reported: pending changes, or memories that are not in the space',
    async run({ storage: { users, memories, embeddings } }) {
      for (const id of ['a', 'b', 'c', 'd', 'e']) await users.insert(user(id));
      for (const id of ['b', 'c', 'd']) await memories.insert([memory('m1', id)]);
      assert.deepEqual(await embeddings.behind('new', null, 10), ['b', 'c', 'd']);
      await embeddings.put({ userId: 'b', space: 'new', cursor: null });
      await embeddings.put({ userId: 'c', space: 'new', cursor: 'm0' });
      await embeddings.put({ userId: 'd', space: 'old', cursor: null });
      await embeddings.note([{ userId: 'e', id: 'gone', changedAt: 1 }]);
      assert.deepEqual(await embeddings.behind('new', null, 10), ['c', 'd', 'e']);
      assert.deepEqual(await embeddings.behind('new', 'c', 1), ['d']);
      await embeddings.put({ userId: 'c', space: 'new', cursor: null });
      assert.deepEqual(await embeddings.get('c'), { userId: 'c', space: 'new', cursor: null });
      assert.equal(await embeddings.get('a'), null);
      assert.deepEqual(await embeddings.behind('new', null, 10), ['d', 'e']);
    },
  },
  {
    title: "another user's memories, and what is noted of them, are not found, changed or removed",
    async run({ storage: { users, memories, embeddings } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const annas = memory('m1', 'anna');
      await memories.insert([annas]);
      await embeddings.note([{ userId: 'anna', id: 'm1', changedAt: 5 }]);
      await embeddings.put({ userId: 'anna', space: 'a', cursor: null });
      assert.equal(await memories.get('ben', 'm1'), null);
      assert.deepEqual(await memories.some('ben', ['m1']), []);
      assert.deepEqual(await memories.list('ben', { limit: 10, offset: 0 }), []);
      assert.deepEqual(await memories.page('ben', null, 10), []);
      assert.deepEqual(await memories.match('ben', 'content', 10), []);
      assert.deepEqual(await embeddings.changes('ben', 10), []);
      assert.equal(await embeddings.get('ben'), null);

      assert.equal(await memories.update('ben', 'm1', { content: 'mine' }), false);
      assert.equal(await memories.remove('ben', 'm1'), false);
      await memories.insert([memory('m1', 'ben', { content: 'content of mine' })]);
      assert.deepEqual(await memories.match('anna', 'mine', 10), []);
      assert.equal(await memories.remove('ben', 'm1'), true);
      await embeddings.settle([{ userId: 'ben', id: 'm1', changedAt: 5 }]);
      await embeddings.put({ userId: 'ben', space: 'b', cursor: 'm0' });
      assert.deepEqual(await memories.get('anna', 'm1'), annas);
      assert.deepEqual(await memories.match('anna', 'content', 10), ['m1']);
      assert.equal((await embeddings.changes('anna', 10)).length, 1);
      assert.equal((await embeddings.get('anna'))?.space, 'a');
    },
  },
  {
    title: 'programs may read the memories of a user until access is switched off',
    async run({ storage: { users } }) {
      await users.insert(user('anna'));
      assert.equal(await users.setMemoryAccess('anna', false), true);
      assert.equal((await users.get('anna'))?.memoryAccess, false);
      await users.setMemoryAccess('anna', true);
      assert.deepEqual(await users.byName('name of anna'), user('anna'));
      assert.equal(await users.setMemoryAccess('ben', false), false);
    },
  },
];
