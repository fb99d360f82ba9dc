import test from 'ava';
import { openRest } from '../../../helpers/rest.ts';

const KINDS = [
  ['/v1/dev/user/memories', 'content'],
  ['/v1/dev/user/action-items', 'description'],
  ['/v1/people', 'name'],
  ['/v1/dev/user/goals', 'title'],
] as const;

for (const [path, field] of KINDS)
  test(`PATCH ${path} rejects an edit based on another ${field}, with both versions`, async t => {
    const { send } = await openRest(t);
    const { body } = await send('POST', path, { [field]: 'Tea' });
    const one = `${path}/${body.id}`;
    const change = (to: string, from: string) =>
      send('PATCH', one, { [field]: to, expected: { [field]: from } });
    t.like(await change('Green tea', 'Tea'), { status: 200, body: { [field]: 'Green tea' } });

    const refused = await change('Black tea', 'Tea');
    t.is(refused.status, 409);
    t.like(refused.body.detail, { current: { [field]: 'Green tea' }, yours: { [field]: 'Black tea' } });
    const { body: shown } = await send('GET', path);
    t.is(shown[0][field], 'Green tea');

    t.is((await change('Green tea', 'Tea')).status, 200, 'it says so already');
    t.is(
      (await send('PATCH', one, { [field]: 'Coffee' })).status,
      200,
      'without expected nothing is compared',
    );
    t.is((await send('PATCH', one, { [field]: 'x', expected: { [field]: 5 } })).status, 422);
  });

test('a task compares its date, however it was written', async t => {
  const { send } = await openRest(t);
  const due_at = '2027-01-01T09:00:00Z';
  const { body: task } = await send('POST', '/v1/dev/user/action-items', { description: 'Tea', due_at });
  const change = (body: object) => send('PATCH', `/v1/dev/user/action-items/${task.id}`, body);
  const later = { due_at: '2027-01-02T09:00:00Z' };
  t.is((await change({ ...later, expected: { due_at: '2027-01-01T10:00:00+01:00' } })).status, 200);
  const refused = await change({
    due_at: null,
    description: 'Coffee',
    expected: { description: 'Tea', due_at },
  });
  t.is(refused.status, 409);
  t.deepEqual(refused.body.detail.current, { description: 'Tea', due_at: '2027-01-02T09:00:00.000Z' });
  t.deepEqual(refused.body.detail.yours, { description: 'Coffee', due_at: null });
  t.is((await change({ ...later, expected: { due_at } })).status, 200, 'it is so already');
  t.is((await change({ due_at: null, expected: later })).status, 200);
  t.is((await change({ ...later, expected: { due_at: null } })).status, 200);
});

test('a goal compares numbers, dates in any notation, and empty fields', async t => {
  const { send } = await openRest(t);
  const draft = { title: 'Read', target_value: 12, horizon_at: '2027-01-01' };
  const { body: goal } = await send('POST', '/v1/dev/user/goals', draft);
  const change = (body: object) => send('PATCH', `/v1/dev/user/goals/${goal.id}`, body);
  const seen = { unit: null, desired_outcome: '', current_value: 0, horizon_at: '2027-01-01T01:00:00+01:00' };
  t.is((await change({ current_value: 1, expected: seen })).status, 200);

  const refused = await change({ current_value: 2, unit: 'books', expected: seen });
  t.is(refused.status, 409);
  t.deepEqual(refused.body.detail.current, {
    ...{ unit: null, desired_outcome: '', current_value: 1, horizon_at: '2027-01-01T00:00:00.000Z' },
  });
  t.deepEqual(refused.body.detail.yours, { unit: 'books', current_value: 2 });
  t.like((await send('GET', `/v1/dev/user/goals/${goal.id}`)).body, { current_value: 1, unit: null });
  t.is((await change({ current_value: 1, expected: { current_value: 0 } })).status, 200, 'it is so already');
  t.is((await change({ current_value: 2, expected: { is_active: false } })).status, 200, 'is not compared');
});

test('concurrent additions to a goal all count', async t => {
  const { send } = await openRest(t);
  const { body: goal } = await send('POST', '/v1/dev/user/goals', { title: 'Read', max_value: 3 });
  const add = () => send('PATCH', `/v1/dev/user/goals/${goal.id}/progress?current_value=1&adds=true`);
  const answers = await Promise.all([add(), add(), add()]);
  t.deepEqual(answers.map(({ body }) => body.current_value).sort(), [1, 2, 3]);
  const refused = await add();
  t.is(refused.status, 422);
  t.deepEqual(refused.body.detail[0].loc, ['query', 'current_value']);
});
