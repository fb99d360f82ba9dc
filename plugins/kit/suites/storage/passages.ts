import assert from 'node:assert/strict';
import type { Storage } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { conversation, user } from './rows.ts';

async function conversations(storage: Storage, userId: string, texts: Record<string, string[]>) {
  await storage.users.insert(user(userId));
  for (const [id, said] of Object.entries(texts)) {
    await storage.conversations.insert(conversation(id, userId, { status: 'completed' }));
    await storage.passages.put(userId, id, said);
  }
}

const idsIn = async (storage: Storage, text: string, userId = 'anna') =>
  (await storage.passages.match(userId, text, 100))
    .map(({ conversationId }) => conversationId)
    .sort()
    .join(' ');

export const passageChecks: StorageCheck[] = [
  {
    title: 'conversations are found by words of their texts, best first, for their user alone',
    async run({ storage }) {
      await conversations(storage, 'anna', {
        c1: ['Tea', 'We drank tea, and then more tea.'],
        c2: ['Coffee with José', 'There was no tea.'],
        c3: ['Nothing'],
      });
      await conversations(storage, 'ben', { c1: ['tea'] });
      const found = await storage.passages.match('anna', 'TEA?', 10);
      assert.deepEqual(found, [
        { conversationId: 'c1', text: 'Tea We drank tea, and then more tea.' },
        { conversationId: 'c2', text: 'Coffee with José There was no tea.' },
      ]);
      assert.equal((await storage.passages.match('anna', 'tea', 1)).length, 1);
      assert.equal(await idsIn(storage, 'jose'), 'c2');
      assert.equal(await idsIn(storage, 'nothing', 'ben'), '');
      for (const text of ['', '?!', 'te', `tea' OR "x`, 'owner : anna'])
        assert.equal(await idsIn(storage, text), text.startsWith('tea') ? 'c1 c2' : '', text);
    },
  },
  {
    title: 'long texts are indexed in pieces, short ones together',
    async run({ storage }) {
      const words = Array.from({ length: 3000 }, (_, place) => `w${place}`);
      await conversations(storage, 'anna', { c1: ['start', words.join(' '), 'x'.repeat(1800), 'end'] });
      const [piece, ...others] = await storage.passages.match('anna', 'w1500', 10);
      assert.equal(others.length, 0);
      assert.ok(piece && piece.text.length <= 500 && /\bw1500\b/.test(piece.text));
      const all = await storage.passages.match(
        'anna',
        words.filter((_, place) => place % 100 === 0).join(' '),
        1000,
      );
      assert.ok(all.length > 20, 'they are of many passages');
      const [last] = await storage.passages.match('anna', 'end', 10);
      assert.match(last?.text ?? '', /^x{1,490} end$/);
    },
  },
  {
    title: 'the texts of a conversation replace its earlier ones, and are removed with it',
    async run({ storage }) {
      await conversations(storage, 'anna', { c1: ['tea', 'x'.repeat(600)], c2: ['tea'] });
      await storage.passages.put('anna', 'c1', ['coffee']);
      assert.equal(await idsIn(storage, 'tea'), 'c2');
      assert.equal(await idsIn(storage, 'coffee'), 'c1');
      await storage.passages.put('anna', 'c2', []);
      assert.equal(await idsIn(storage, 'tea'), '');
      await storage.conversations.remove('anna', 'c1');
      assert.equal(await idsIn(storage, 'coffee'), '');
      await storage.conversations.insert(conversation('c1', 'anna', { status: 'completed' }));
      await storage.passages.put('anna', 'c1', ['water']);
      assert.equal(await idsIn(storage, 'water coffee'), 'c1');
      await assert.rejects(storage.passages.put('anna', 'none', ['tea']), { code: 'not_found' });
    },
  },
  {
    title: 'the first text of a conversation is replaced alone, or nothing is replaced',
    async run({ storage }) {
      const long = 'water '.repeat(1000);
      await conversations(storage, 'anna', { c1: [' Tea ', 'with Eve', long], c2: [], c3: ['', 'milk'] });
      await conversations(storage, 'ben', { c1: ['Tea'] });
      const { retitle } = storage.passages;
      if (await retitle('anna', 'c1', ' Tea ', 'Coffee')) {
        assert.equal(await idsIn(storage, 'tea'), '');
        const [found] = await storage.passages.match('anna', 'coffee', 10);
        assert.match(found?.text ?? '', /^Coffee with Eve/);
        assert.equal((await storage.passages.match('anna', 'water', 1000)).length > 5, true);
      } else assert.equal(await idsIn(storage, 'tea'), 'c1');
      assert.equal(await retitle('anna', 'c1', 'Wine', 'Beer'), false);
      assert.equal(await retitle('anna', 'c2', '', 'Beer'), false);
      assert.equal(await idsIn(storage, 'beer'), '');
      if (await retitle('anna', 'c3', '', 'Beer')) assert.equal(await idsIn(storage, 'beer milk'), 'c3');
      assert.equal(await idsIn(storage, 'tea', 'ben'), 'c1');
    },
  },
  {
    title: 'conversations hidden from lists are not found, except for discarded ones on request',
    async run({ storage }) {
      await conversations(storage, 'anna', { c1: ['tea'], c2: ['tea'], c3: ['tea'], c4: ['tea'] });
      await storage.conversations.update('anna', 'c1', { discarded: true });
      await storage.conversations.update('anna', 'c2', { locked: true });
      await storage.conversations.update('anna', 'c3', { status: 'processing' });
      assert.equal(await idsIn(storage, 'tea'), 'c4');
      const all = await storage.passages.match('anna', 'tea', 10, { discarded: true });
      assert.deepEqual(all.map(({ conversationId }) => conversationId).sort(), ['c1', 'c4']);
    },
  },
];
