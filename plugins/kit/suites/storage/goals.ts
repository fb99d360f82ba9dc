import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { conversation, goal, goalSuggestion, idsOf, user } from './rows.ts';

export const goalChecks: StorageCheck[] = [
  {
    title: 'a goal is returned as stored, changed by field, and removed once',
    async run({ storage: { users, goals } }) {
      await users.insert(user('anna'));
      const bare = goal('g1', 'anna');
      const full = goal('g2', 'anna', {
        desiredOutcome: 'a “full” shelf 📚',
        whyItMatters: "it's; -- fine",
        successCriteria: ['one', 'two'],
        horizonAt: 8_640_000_000_000_000,
        goalType: 'scale',
        startValue: -0.5,
        currentValue: 1 / 3,
        targetValue: 1e15,
        minValue: -1e300,
        maxValue: 1e300,
        unit: 'books',
        paused: true,
        reached: true,
      });
      for (const row of [bare, full]) await goals.insert(row);
      assert.deepEqual(await goals.get('anna', 'g1'), bare);
      assert.deepEqual(await goals.get('anna', 'g2'), full);
      await assert.rejects(goals.insert(bare), { code: 'conflict' });
      const patch = { targetValue: null, successCriteria: [], currentValue: 0.25, updatedAt: 7 };
      assert.equal(await goals.update('anna', 'g2', patch), true);
      assert.deepEqual(await goals.get('anna', 'g2'), { ...full, ...patch });
      assert.equal(await goals.update('anna', 'none', patch), false);
      assert.equal(await goals.remove('anna', 'g2'), true);
      assert.equal(await goals.remove('anna', 'g2'), false);
      assert.deepEqual(idsOf(await goals.list('anna', { active: false, limit: 9 })), ['g1']);
    },
  },
  {
    title: 'goals are listed newest first, ties by id, with or without inactive ones',
    async run({ storage: { users, goals } }) {
      await users.insert(user('anna'));
      await goals.insert(goal('c', 'anna', { createdAt: 5 }));
      await goals.insert(goal('b', 'anna', { createdAt: 5 }));
      await goals.insert(goal('d', 'anna', { createdAt: 9, paused: true }));
      await goals.insert(goal('a', 'anna', { createdAt: 1, reached: true }));
      const ids = async (active: boolean, limit: number, offset = 0) =>
        idsOf(await goals.list('anna', { active, limit, offset })).join('');
      assert.equal(await ids(false, 9), 'dbca');
      assert.equal(await ids(false, 2), 'db');
      assert.equal(await ids(true, 9), 'bc');
      assert.equal(await ids(true, 1), 'b');
      assert.equal(await ids(false, 2, 1), 'bc');
      assert.equal(await ids(true, 9, 2), '');
    },
  },
  {
    title: 'a suggestion for a goal is returned as stored, and answered once',
    async run({ storage: { users, goals, conversations, goalSuggestions } }) {
      for (const id of ['anna', 'ben']) await users.insert(user(id));
      const [run, talk] = [goal('g1', 'anna'), conversation('c1', 'anna')];
      await goals.insert(run);
      await conversations.insert(talk);
      const first = goalSuggestion('s1', run, talk, {
        value: 1 / 3,
        text: 'I “ran” 📚',
        segmentIds: ['a', 'b'],
      });
      const second = goalSuggestion('s2', run, talk, { createdAt: first.createdAt + 1, adds: false });
      for (const row of [first, second]) await goalSuggestions.insert(row);
      assert.deepEqual(await goalSuggestions.get('anna', 's1'), first);
      assert.equal(await goalSuggestions.get('ben', 's1'), null);
      await assert.rejects(goalSuggestions.insert(first), { code: 'conflict' });
      const missing = { code: 'not_found' };
      await assert.rejects(goalSuggestions.insert({ ...first, id: 'x', goalId: 'none' }), missing);
      await assert.rejects(goalSuggestions.insert({ ...first, id: 'x', conversationId: 'none' }), missing);
      await assert.rejects(goalSuggestions.insert({ ...first, id: 'x', userId: 'ben' }), missing);
      assert.deepEqual(await goalSuggestions.open('anna', 9), [second, first]);
      assert.deepEqual(await goalSuggestions.open('anna', 1), [second]);
      assert.deepEqual(await goalSuggestions.open('ben', 9), []);

      const taken = { state: 'refused' as const, value: 2, segmentIds: [] };
      assert.equal(await goalSuggestions.update('ben', 's1', taken), false);
      assert.equal(await goalSuggestions.update('anna', 's1', taken, 'accepted'), false);
      assert.equal(await goalSuggestions.update('anna', 's1', taken, 'open'), true);
      assert.equal(await goalSuggestions.update('anna', 's1', { state: 'accepted' }, 'open'), false);
      assert.deepEqual(await goalSuggestions.open('anna', 9), [second]);
      const all = await goalSuggestions.ofConversation('anna', 'c1', 9);
      assert.deepEqual(all, [{ ...first, ...taken }, second]);
      assert.deepEqual(idsOf(await goalSuggestions.ofConversation('anna', 'c1', 1)), ['s1']);
      assert.deepEqual(await goalSuggestions.ofConversation('ben', 'c1', 9), []);
      assert.equal(await goalSuggestions.remove('ben', 's2'), false);
      assert.equal(await goalSuggestions.remove('anna', 's2'), true);
      assert.equal(await goalSuggestions.remove('anna', 's2'), false);
    },
  },
  {
    title: 'a suggestion is removed with its goal and with its conversation',
    async run({ storage: { users, goals, conversations, goalSuggestions } }) {
      await users.insert(user('anna'));
      const [run, read] = [goal('g1', 'anna'), goal('g2', 'anna')];
      const [talk, call] = [conversation('c1', 'anna'), conversation('c2', 'anna')];
      for (const each of [run, read]) await goals.insert(each);
      for (const each of [talk, call]) await conversations.insert(each);
      await goalSuggestions.insert(goalSuggestion('a', run, talk));
      await goalSuggestions.insert(goalSuggestion('b', read, talk));
      await goalSuggestions.insert(goalSuggestion('c', read, call));
      await goals.remove('anna', 'g1');
      assert.deepEqual(idsOf(await goalSuggestions.open('anna', 9)), ['b', 'c']);
      await conversations.remove('anna', 'c1');
      assert.deepEqual(idsOf(await goalSuggestions.open('anna', 9)), ['c']);
    },
  },
  {
    title: 'the progress of a goal has one value a day, the last, and is removed with the goal',
    async run({ storage: { users, goals } }) {
      await users.insert(user('anna'));
      for (const id of ['g1', 'g2']) await goals.insert(goal(id, 'anna'));
      const on = (day: number, value: number, goalId = 'g1') => ({
        userId: 'anna',
        goalId,
        day,
        value,
        recordedAt: day * 10 + 1,
      });
      for (const progress of [on(3, 1.5), on(1, 1), on(2, 7), on(2, 0.1), on(2, 4, 'g2')])
        await goals.record(progress);
      assert.deepEqual(await goals.progress('anna', 'g1', 2), [on(2, 0.1), on(3, 1.5)]);
      await goals.forgetProgress('anna', 'g1', 3);
      assert.deepEqual(await goals.progress('anna', 'g1', 0), [on(3, 1.5)]);
      await assert.rejects(goals.record(on(1, 1, 'none')), { code: 'not_found' });
      await goals.remove('anna', 'g1');
      assert.deepEqual(await goals.progress('anna', 'g1', 0), []);
      assert.deepEqual(await goals.progress('anna', 'g2', 0), [on(2, 4, 'g2')]);
    },
  },
];
