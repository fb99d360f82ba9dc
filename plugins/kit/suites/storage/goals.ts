import assert from 'node:assert/strict';
import type { StorageCheck } from '../storage.ts';
import { goal, idsOf, user } from './rows.ts';

export const goalChecks: StorageCheck[] = [
  {
    title: 'a goal comes back as it was stored, is changed where it is told to, and removed once',
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
    title: 'goals are listed newest first, ties by id, with or without those that are not active',
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
    title: 'the progress of a goal has one value for a day, the last, and goes with the goal',
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
