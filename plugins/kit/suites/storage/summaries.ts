import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { idsOf, summaryTemplate, user } from './rows.ts';

export const summaryChecks: StorageCheck[] = [
  {
    title: 'a summary template is returned as stored, changed and removed once, by its owner alone',
    async run({ storage: { users, summaries } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      const full = summaryTemplate('b', 'anna', { instructions: 'it’s “odd”; --\n📋', categories: ['work'] });
      const bare = summaryTemplate('a', 'anna', { createdAt: full.createdAt + 1 });
      for (const row of [full, bare]) await summaries.insert(row);
      await summaries.insert(summaryTemplate('b', 'ben', { name: 'his' }));
      assert.deepEqual(await summaries.get('anna', 'b'), full);
      assert.deepEqual(idsOf(await summaries.list('anna')), ['b', 'a']);
      await assert.rejects(summaries.insert(bare), { code: 'conflict' });
      const patch = { categories: [], updatedAt: 7 };
      assert.equal(await summaries.update('anna', 'b', patch), true);
      assert.deepEqual(await summaries.get('anna', 'b'), { ...full, ...patch });
      assert.equal((await summaries.get('ben', 'b'))?.name, 'his');
      assert.equal(await summaries.update('ben', 'a', patch), false);
      assert.equal(await summaries.remove('ben', 'a'), false);
      assert.equal(await summaries.remove('anna', 'b'), true);
      assert.equal(await summaries.remove('anna', 'b'), false);
      assert.equal(await summaries.get('anna', 'b'), null);
    },
  },
  {
    title: 'summary settings belong to one user, and the last write counts',
    async run({ storage: { users, summaries } }) {
      await users.insert(user('anna'));
      await users.insert(user('ben'));
      assert.equal(await summaries.settings('anna'), null);
      await summaries.putSettings({ userId: 'anna', language: 'de' });
      await summaries.putSettings({ userId: 'anna', language: null });
      await summaries.putSettings({ userId: 'ben', language: 'fr' });
      assert.deepEqual(await summaries.settings('anna'), { userId: 'anna', language: null });
    },
  },
];
