import assert from 'node:assert/strict';
import type { ActionItemFilter } from '../../../../core/contract/plugin.ts';
import type { StorageCheck } from '../storage.ts';
import { actionItem, idsOf, user } from './rows.ts';

export const actionItemChecks: StorageCheck[] = [
  {
    title: 'an action item is returned as stored until it is removed; several are stored all or none',
    async run({ storage: { users, actionItems } }) {
      await users.insert(user('anna'));
      const bare = actionItem('a1', 'anna');
      const full = actionItem('a2', 'anna', {
        description: 'buy “tea” 🫖',
        completed: true,
        dueAt: 8_640_000_000_000_000,
        completedAt: 7,
        conversationId: 'c1',
        locked: true,
      });
      await actionItems.insert([bare, full]);
      await actionItems.insert([]);
      assert.deepEqual(await actionItems.get('anna', 'a1'), bare);
      assert.deepEqual(await actionItems.get('anna', 'a2'), full);
      await assert.rejects(actionItems.insert([actionItem('a3', 'anna'), bare]), { code: 'conflict' });
      assert.equal(await actionItems.get('anna', 'a3'), null);
      assert.equal(await actionItems.remove('anna', 'a1'), true);
      assert.equal(await actionItems.remove('anna', 'a1'), false);
      assert.equal(await actionItems.get('anna', 'a1'), null);
    },
  },
  {
    title: 'action items are listed open before done, by due date, then newest first, ties by id',
    async run({ storage: { users, actionItems } }) {
      await users.insert(user('anna'));
      const done = { completed: true, completedAt: 1 };
      await actionItems.insert([
        actionItem('i', 'anna', { ...done, createdAt: 9 }),
        actionItem('h', 'anna', { ...done, createdAt: 1, dueAt: 5 }),
        actionItem('g', 'anna', { createdAt: 2 }),
        actionItem('f', 'anna', { createdAt: 7 }),
        actionItem('e', 'anna', { createdAt: 7 }),
        actionItem('d', 'anna', { createdAt: 2, dueAt: 8 }),
        actionItem('c', 'anna', { createdAt: 3, dueAt: 8 }),
        actionItem('b', 'anna', { createdAt: 3, dueAt: 8 }),
        actionItem('a', 'anna', { createdAt: 1, dueAt: -4 }),
      ]);
      const page = async (limit: number, offset: number) =>
        idsOf(await actionItems.list('anna', { limit, offset })).join('');
      assert.equal(await page(10, 0), 'abcdefghi');
      assert.equal(await page(3, 3), 'def');
      assert.equal(await page(3, 9), '');
    },
  },
  {
    title: 'action items are filtered by every field of the filter',
    async run({ storage: { users, actionItems } }) {
      await users.insert(user('anna'));
      await actionItems.insert([
        actionItem('a', 'anna', { createdAt: 4, conversationId: 'c1' }),
        actionItem('b', 'anna', { createdAt: 3, locked: true }),
        actionItem('c', 'anna', { createdAt: 2, completed: true, conversationId: 'c1', dueAt: 8 }),
        actionItem('d', 'anna', { createdAt: 1, completed: true, conversationId: 'c2', dueAt: 9 }),
      ]);
      const expected: [Partial<ActionItemFilter>, string][] = [
        [{ completed: true }, 'cd'],
        [{ completed: false }, 'ab'],
        [{ completed: undefined, locked: false }, 'acd'],
        [{ locked: true }, 'b'],
        [{ conversationId: 'c1' }, 'ac'],
        [{ conversationId: 'c3' }, ''],
        [{ createdFrom: 2, createdTo: 3 }, 'bc'],
        [{ dueFrom: 8, dueTo: 8 }, 'c'],
        [{ dueFrom: 9 }, 'd'],
        [{ dueTo: 9 }, 'cd'],
      ];
      for (const [filter, ids] of expected) {
        const found = await actionItems.list('anna', { limit: 10, offset: 0, ...filter });
        assert.equal(idsOf(found).join(''), ids, JSON.stringify(filter));
      }
    },
  },
  {
    title: 'an update of an action item changes the named fields, and its place in the list',
    async run({ storage: { users, actionItems } }) {
      await users.insert(user('anna'));
      const [first, second] = [actionItem('a', 'anna'), actionItem('b', 'anna')];
      await actionItems.insert([first, second]);
      assert.equal(await actionItems.update('anna', 'b', { dueAt: 7, updatedAt: 8 }), true);
      const changed = { ...second, dueAt: 7, updatedAt: 8 };
      assert.deepEqual(await actionItems.list('anna', { limit: 9, offset: 0 }), [changed, first]);
      assert.equal(await actionItems.update('anna', 'b', { dueAt: null, completed: true }), true);
      const again = { ...changed, dueAt: null, completed: true };
      assert.deepEqual(await actionItems.list('anna', { limit: 9, offset: 0 }), [first, again]);
      assert.equal(await actionItems.update('anna', 'none', { dueAt: 7 }), false);
    },
  },
  {
    title: 'all action items of a conversation move to another one, or to none',
    async run({ storage: { users, actionItems } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      await actionItems.insert([
        actionItem('a', 'anna', { conversationId: 'c1' }),
        actionItem('b', 'anna', { conversationId: 'c2' }),
        actionItem('a', 'ben', { conversationId: 'c1' }),
      ]);
      await actionItems.moveAll('anna', 'c1', 'c2');
      assert.equal((await actionItems.get('anna', 'a'))?.conversationId, 'c2');
      await actionItems.moveAll('anna', 'c2', null);
      assert.equal((await actionItems.get('anna', 'b'))?.conversationId, null);
      assert.equal((await actionItems.get('ben', 'a'))?.conversationId, 'c1');
    },
  },
];
