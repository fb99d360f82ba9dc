import test from 'ava';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const PATH = '/v1/users/weekly-review';
const DAY_MS = 24 * 3600_000;
type Named = { title?: string; description?: string };
const names = (items: Named[]) => items.map(({ title, description }) => title ?? description);

test('A week is reviewed from its conversations, tasks, appointments and goals, only for their owner', async t => {
  const rest = await openRest(t);
  const { send, user, clock, actionItems, goals, storage, users } = rest;
  await send('PATCH', '/v1/notifications/settings', { time_zone: 'UTC' });
  const { id } = await completedConversation(rest, user.id);
  const conversation = await storage.conversations.get(user.id, id);
  if (!conversation) throw new Error('there is no conversation');
  const event = { description: '', duration: 30, created: false };
  await storage.conversations.update(user.id, id, {
    structured: {
      ...conversation.structured,
      title: 'Plans for the boat',
      category: 'travel',
      events: [
        { ...event, title: 'Regatta', startAt: clock.now() + 3 * DAY_MS },
        { ...event, title: 'Far away', startAt: clock.now() + 30 * DAY_MS },
      ],
    },
  });
  const drafts = [
    { description: 'Buy rope', completed: true, dueAt: null },
    { description: 'Paint the hull', completed: false, dueAt: clock.now() - DAY_MS },
    { description: 'Book the berth', completed: false, dueAt: clock.now() + 2 * DAY_MS },
    { description: 'Some day', completed: false, dueAt: null },
  ];
  await actionItems.create(user.id, drafts);
  const { body: goal } = await send('POST', '/v1/dev/user/goals', { title: 'Sail', target_value: 10 });
  clock.advance(1000);
  await goals.edit(user.id, goal.id, { currentValue: 4 });

  const { body } = await send('GET', PATH);
  t.is(body.conversations.count, 1);
  t.deepEqual(body.conversations.categories, [{ category: 'travel', count: 1 }]);
  t.deepEqual(names(body.conversations.longest), ['Plans for the boat']);
  t.deepEqual(names(body.tasks.completed), ['Buy rope']);
  t.deepEqual(names(body.tasks.overdue), ['Paint the hull']);
  t.deepEqual(names(body.tasks.due), ['Book the berth']);
  t.deepEqual(names(body.events), ['Regatta']);
  t.deepEqual(body.goals, [{ id: goal.id, title: 'Sail', before: 0, after: 4 }]);

  const other = await rest.weeklyReview((await users.add('ben')).id);
  t.deepEqual([other.conversations.count, other.tasks.completed, other.goals], [0, [], []]);
});

test('A week in the past ends on the requested day', async t => {
  const rest = await openRest(t);
  await completedConversation(rest, rest.user.id);
  const { body } = await rest.send('GET', `${PATH}?to=2020-02-29`);
  t.like(body, { from: '2020-02-23', to: '2020-02-29', conversations: { count: 0 } });
  t.is((await rest.send('GET', `${PATH}?to=soon`)).status, 422);
});
