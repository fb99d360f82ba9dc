import test from 'ava';
import { addDaySummaryIn } from '../../../../core/domain/notifications/day-summaries.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/daily-summaries';

test('Daily summaries are listed in pages, latest first, and found by their day', async t => {
  const rest = await openRest(t);
  const { send, storage, user, clock } = rest;
  const days = ['2026-11-02', '2026-11-03', '2026-11-04'];
  for (const day of days)
    await addDaySummaryIn(storage, user.id, {
      ...{ day, timeZone: 'Europe/Berlin', summary: `About ${day}`, createdAt: clock.now() },
      ...{ conversationIds: [day], actionItemIds: [] },
    });
  const dates = async (query: string) =>
    (await send('GET', `${LIST}${query}`)).body.map(({ date }: { date: string }) => date);
  t.deepEqual(await dates(''), days.toReversed());
  t.deepEqual(await dates('?limit=1&offset=1'), ['2026-11-03']);
  t.deepEqual(await dates('?limit=0'), ['2026-11-04'], 'brought into range');
  t.is((await send('GET', `${LIST}?limit=x`)).status, 422);
  t.deepEqual((await send('GET', `${LIST}/2026-11-03`)).body, {
    date: '2026-11-03',
    time_zone: 'Europe/Berlin',
    summary: 'About 2026-11-03',
    created_at: new Date(clock.now()).toISOString(),
    conversation_ids: ['2026-11-03'],
    action_item_ids: [],
  });
});

test('A daily summary is visible only to its owner, with the scope to read conversations', async t => {
  const { send, storage, user, users, keys, clock } = await openRest(t);
  const about = {
    timeZone: 'UTC',
    summary: 'Tea',
    createdAt: clock.now(),
    conversationIds: [],
    actionItemIds: [],
  };
  await addDaySummaryIn(storage, user.id, { day: '2026-11-02', ...about });
  await users.add('ben');
  const ben = await users.token('ben');
  t.deepEqual((await send('GET', LIST, undefined, ben)).body, []);
  for (const [day, credential] of [
    ['2026-11-02', ben],
    ['2026-11-09', undefined],
    ['yesterday', undefined],
  ] as const) {
    const { status, body } = await send('GET', `${LIST}/${day}`, undefined, credential);
    t.deepEqual([status, body], [404, { detail: 'Daily summary not found' }], day);
  }
  const { key } = await keys.create(user.id, { name: 'k', scopes: ['memories:read'] });
  t.is((await send('GET', LIST, undefined, key)).status, 403);
});
