import test, { type ExecutionContext } from 'ava';
import { openDatabases } from '../../../helpers/databases.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/goals';
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const DAY_MS = 24 * 3_600_000;

type Json = Record<string, unknown>;
type Rest = Awaited<ReturnType<typeof start>>;

async function start(t: ExecutionContext, open?: Parameters<typeof openRest>[1]) {
  const rest = await openRest(t, open);
  const { send, keys, user } = rest;
  // an ID token would not last as long as some of these goals
  const { key } = await keys.create(user.id, { name: 'k', scopes: ['goals:read', 'goals:write'] });
  const good = async (method: string, path: string, body?: Json) => {
    const answer = await send(method, LIST + path, body, key);
    t.is(answer.status, 200, `${method} ${path} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const create = (body: Json = {}) => good('POST', '', { title: 'Read', ...body });
  const edit = (id: string, body: Json) => good('PATCH', `/${id}`, body);
  const progress = (id: string, value: number | string) =>
    good('PATCH', `/${id}/progress?current_value=${value}`);
  const titles = async (query = '') => (await good('GET', `?${query}`)).map(({ title }: Json) => title);
  return { ...rest, good, create, edit, progress, titles };
}

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, rest: Rest) => Promise<void>) =>
    test.serial(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on('a goal is returned with every field, found again, and listed', async (t, { create, good, clock }) => {
    const now = new Date(clock.now()).toISOString();
    const bare = await create({ title: ' Run a marathon ', more: 1, unit: null });
    t.deepEqual(bare, {
      id: bare.id,
      goal_id: bare.id,
      source: 'user',
      title: 'Run a marathon',
      desired_outcome: '',
      why_it_matters: null,
      success_criteria: [],
      horizon_at: null,
      goal_type: 'boolean',
      target_value: 1,
      current_value: 0,
      min_value: 0,
      max_value: 1,
      unit: null,
      is_active: true,
      status: 'active',
      created_at: now,
      updated_at: now,
    });
    clock.advance(1);
    const words = {
      title: '🙂'.repeat(500),
      desired_outcome: 'o'.repeat(2000),
      why_it_matters: 'w'.repeat(2000),
      success_criteria: Array.from({ length: 20 }, (_, at) => `${at}`),
      horizon_at: '2030-01-02T00:00:00.000Z',
      unit: 'km',
    };
    const values = {
      goal_type: 'numeric',
      target_value: 42.195,
      current_value: -1.5,
      min_value: -2,
      max_value: 1e15,
    };
    const full = await create({ ...words, ...values });
    t.like(full, { ...words, ...values });
    t.deepEqual(await good('GET', `/${full.id}`), full);
    t.deepEqual(await good('GET', ''), [full, bare]);
  });

  on('the default of omitted fields depends on the type', async (t, { create }) => {
    const rows: [string, Json, [string, number | null, number, number | null, number | null]][] = [
      ['nothing', {}, ['boolean', 1, 0, 0, 1]],
      ['a target', { target_value: 12 }, ['numeric', 12, 0, null, null]],
      ['a value', { current_value: 5 }, ['numeric', null, 5, null, null]],
      ['a greatest value', { max_value: 9 }, ['numeric', 9, 0, null, 9]],
      ['a scale', { goal_type: 'scale' }, ['scale', 10, 0, 0, 10]],
      ['a scale of its own', { goal_type: 'scale', min_value: 2, max_value: 5 }, ['scale', 5, 2, 2, 5]],
      ['a number', { goal_type: 'numeric' }, ['numeric', null, 0, null, null]],
      ['all below zero', { max_value: -3, target_value: -5 }, ['numeric', -5, -3, null, -3]],
      ['yes or no', { goal_type: 'boolean', target_value: null }, ['boolean', 1, 0, 0, 1]],
    ];
    for (const [row, body, expected] of rows) {
      const { goal_type, target_value, current_value, min_value, max_value } = await create(body);
      t.deepEqual([goal_type, target_value, current_value, min_value, max_value], expected, row);
    }
  });

  on('the list contains active goals, newest first, ten by default', async (t, rest) => {
    const { create, edit, progress, titles, clock } = rest;
    const ids: string[] = [];
    for (let at = 1; at <= 12; at += 1) {
      ids.push((await create({ title: `${at}` })).id);
      clock.advance(1000);
    }
    await progress(String(ids[11]), 1);
    await edit(String(ids[10]), { is_active: false });
    const all = ['12', '11', '10', '9', '8', '7', '6', '5', '4', '3', '2', '1'];
    t.deepEqual(await titles(), all.slice(2));
    t.deepEqual(await titles('limit=2'), ['10', '9']);
    t.deepEqual(await titles('limit=0'), ['10']);
    t.deepEqual(await titles('limit=5000&include_inactive=true'), all);
    t.deepEqual(await titles('include_inactive=yes&limit='), all.slice(0, 10));
    t.deepEqual(await titles('include_inactive=false'), all.slice(2));
  });

  on('a goal is completed when its value reaches the target, from either side', async (t, rest) => {
    const { create, edit, progress } = rest;
    const rows: [string, Json, ['progress' | 'edit', number | Json, string][]][] = [
      [
        'upwards',
        { target_value: 10 },
        [
          ['progress', 9.9, 'active'],
          ['progress', 10, 'completed'],
          ['progress', 12, 'completed'],
          ['progress', 3, 'active'],
        ],
      ],
      [
        'downwards',
        { target_value: 70, current_value: 80 },
        [
          ['progress', 75, 'active'],
          ['progress', 70, 'completed'],
          ['progress', 71, 'active'],
          ['progress', -1, 'completed'],
        ],
      ],
      [
        'yes or no',
        {},
        [
          ['progress', 1, 'completed'],
          ['progress', 0, 'active'],
        ],
      ],
      [
        'in words',
        { target_value: 10 },
        [
          ['edit', { current_value: 10 }, 'completed'],
          ['edit', { target_value: 20 }, 'active'],
          ['edit', { title: 'x' }, 'active'],
          ['edit', { target_value: 5 }, 'completed'],
        ],
      ],
      ['without a target', { goal_type: 'numeric' }, [['progress', 1e9, 'active']]],
      [
        'put aside',
        { target_value: 5 },
        [
          ['edit', { is_active: false }, 'paused'],
          ['progress', 3, 'paused'],
          ['progress', 5, 'completed'],
          ['progress', 4, 'paused'],
          ['edit', { is_active: true }, 'active'],
        ],
      ],
    ];
    for (const [row, draft, steps] of rows) {
      const { id } = await create(draft);
      for (const [verb, value, status] of steps) {
        const goal = verb === 'edit' ? await edit(id, value as Json) : await progress(id, value as number);
        t.like(goal, { status, is_active: status === 'active' }, `${row}: ${JSON.stringify(value)}`);
      }
    }
    t.is((await create({ target_value: 3, current_value: 3 })).status, 'completed');
  });

  on('a PATCH changes only the named fields', async (t, { create, edit, good, clock }) => {
    const before = await create({ desired_outcome: 'before', success_criteria: ['a'] });
    clock.advance(1000);
    const changes = {
      title: 'after',
      why_it_matters: 'because',
      success_criteria: [],
      horizon_at: '2030-01-01T00:00:00.000Z',
    };
    const after = await edit(before.id, { ...changes, status: 'completed', created_at: null });
    t.deepEqual(after, { ...before, ...changes, updated_at: new Date(clock.now()).toISOString() });
    t.deepEqual(await good('GET', `/${before.id}`), after);
    const other = {
      goal_type: 'scale',
      min_value: 1,
      max_value: 5,
      target_value: 4,
      current_value: 2,
      unit: 'stars',
    };
    t.like(await edit(before.id, other), other);
    t.like(await edit(before.id, { desired_outcome: '' }), { desired_outcome: '' });
  });

  on('concurrent edits lose nothing', async (t, { create, edit, progress, good }) => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await create({ target_value: 10 });
      await Promise.all([
        edit(id, { title: 'after' }),
        progress(id, 10),
        edit(id, { unit: 'km' }),
        edit(id, { is_active: false }),
      ]);
      t.like(await good('GET', `/${id}`), {
        title: 'after',
        current_value: 10,
        unit: 'km',
        status: 'completed',
      });
    }
  });

  on('the history has the last value of each day, for up to a year', async (t, rest) => {
    const { create, progress, edit, good, clock, storage, user } = rest;
    const { id } = await create({ goal_type: 'numeric' });
    const date = (days = 0) => new Date(clock.now() - days * DAY_MS).toISOString().slice(0, 10);
    const history = async (query = '') =>
      (await good('GET', `/${id}/history?${query}`)).map(({ date, value }: Json) => [date, value]);
    t.deepEqual(await good('GET', `/${id}/history`), [
      { date: date(), value: 0, recorded_at: new Date(clock.now()).toISOString() },
    ]);
    clock.advance(DAY_MS);
    await progress(id, 1);
    await edit(id, { current_value: 2 });
    await edit(id, { title: 'no value' });
    clock.advance(28 * DAY_MS);
    t.deepEqual(await history(), [
      [date(29), 0],
      [date(28), 2],
    ]);
    await progress(id, '-1.5e1');
    clock.advance(DAY_MS);
    const all = [
      [date(30), 0],
      [date(29), 2],
      [date(1), -15],
    ];
    t.deepEqual(await history(), all.slice(1));
    t.deepEqual(await history('days=1'), []);
    t.deepEqual(await history('days=2'), all.slice(2));
    for (const query of ['days=31', 'days=365']) t.deepEqual(await history(query), all, query);
    clock.advance(335 * DAY_MS);
    t.deepEqual(await history('days=365'), [
      [date(364), 2],
      [date(336), -15],
    ]);
    await progress(id, 7);
    t.is((await storage.goals.progress(user.id, id, 0)).length, 3, 'what is older is not kept');
  });

  on('spoken progress on a goal is suggested, and counts once accepted', async (t, rest) => {
    const { create, good, send, run, processed, edit, clock } = rest;
    run();
    const goal = await create({ title: 'Run 100 km', target_value: 100, current_value: 10, unit: 'km' });
    await create({ title: 'Read 12 books', target_value: 12, unit: 'books' });
    const said = [
      { text: 'How was your day? I ran nine kilometres today.', start: 0, end: 3, speaker: 'SPEAKER_01' },
      { text: 'It was good. I ran five kilometres today.', start: 10, end: 14, is_user: true },
    ];
    const talk = async () =>
      (await send('POST', '/v1/dev/user/conversations/from-segments', { transcript_segments: said })).body.id;
    const again = async (id: string) => {
      const done = processed(1);
      t.is((await send('POST', `/v1/conversations/${id}/reprocess`, {})).status, 200);
      await done;
    };
    const suggestions = () => good('GET', '/suggestions');

    const first = await talk();
    const [suggestion] = await suggestions();
    const { id, segment_ids, ...others } = suggestion;
    t.deepEqual(others, {
      goal_id: goal.id,
      conversation_id: first,
      text: 'I ran five kilometres today.',
      current_value: 10,
      suggested_value: 15,
      created_at: new Date(clock.now()).toISOString(),
    });
    const { body: whole } = await send('GET', `/v1/dev/user/conversations/${first}?include_transcript=true`);
    t.deepEqual(segment_ids, [whole.transcript_segments[1].id]);
    t.is((await good('GET', `/${goal.id}`)).current_value, 10, 'nothing is changed unasked');
    await again(first);
    t.deepEqual(await suggestions(), [suggestion], 'one run more, no suggestion more');

    await edit(goal.id, { current_value: 20 });
    t.like((await suggestions())[0], { current_value: 20, suggested_value: 25 });
    t.like(await good('POST', `/suggestions/${id}/accept`), { id: goal.id, current_value: 25 });
    t.like((await good('GET', `/${goal.id}/history`)).at(-1), { value: 25 });
    t.deepEqual(await suggestions(), []);
    t.is((await send('POST', `${LIST}/suggestions/${id}/accept`)).status, 409);
    await again(first);
    t.deepEqual(await suggestions(), []);

    const second = await talk();
    const [refused] = await suggestions();
    t.is(refused.conversation_id, second);
    t.deepEqual(await good('POST', `/suggestions/${refused.id}/refuse`), { success: true });
    await again(second);
    t.deepEqual(await suggestions(), []);
    t.is((await good('GET', `/${goal.id}`)).current_value, 25);

    const third = await talk();
    t.is((await suggestions()).length, 1);
    await send('DELETE', `/v1/dev/user/conversations/${third}`);
    t.deepEqual(await suggestions(), []);
    await talk();
    t.is((await suggestions()).length, 1);
    await good('DELETE', `/${goal.id}`);
    t.deepEqual(await suggestions(), []);
    for (const verb of ['accept', 'refuse'])
      t.is((await send('POST', `${LIST}/suggestions/${UNKNOWN}/${verb}`)).status, 404);
  });

  on('all errors are reported with their paths, and nothing is stored', async (t, rest) => {
    const { issues, create, good } = rest;
    const { id } = await create({ goal_type: 'scale', current_value: 3 });
    const before = await good('GET', `/${id}`);
    const long = (count: number) => 'x'.repeat(count + 1);
    const rows: [string, string, unknown, Json][] = [
      ['POST', '', {}, { 'body.title': 'missing' }],
      ['POST', '', { title: ' ' }, { 'body.title': 'string_too_short' }],
      ['POST', '', { title: '🙂'.repeat(501) }, { 'body.title': 'string_too_long' }],
      [
        'POST',
        '',
        { title: 'x', desired_outcome: long(2000) },
        { 'body.desired_outcome': 'string_too_long' },
      ],
      ['POST', '', { title: 'x', why_it_matters: long(2000) }, { 'body.why_it_matters': 'string_too_long' }],
      ['POST', '', { title: 'x', unit: long(50) }, { 'body.unit': 'string_too_long' }],
      [
        'POST',
        '',
        { title: 'x', success_criteria: Array(21).fill('x') },
        { 'body.success_criteria': 'too_long' },
      ],
      [
        'POST',
        '',
        { title: 'x', success_criteria: ['x', ' '] },
        { 'body.success_criteria.1': 'string_too_short' },
      ],
      [
        'POST',
        '',
        { title: 'x', success_criteria: [long(500)] },
        { 'body.success_criteria.0': 'string_too_long' },
      ],
      ['POST', '', { title: 'x', horizon_at: 'soon' }, { 'body.horizon_at': 'datetime_parsing' }],
      ['POST', '', { title: 'x', goal_type: 'dream' }, { 'body.goal_type': 'enum' }],
      [
        'POST',
        '',
        { title: 'x', target_value: '5', max_value: true },
        { 'body.target_value': 'float_type', 'body.max_value': 'float_type' },
      ],
      ['POST', '', { title: 'x', min_value: 2, max_value: 1 }, { 'body.min_value': 'value_error' }],
      [
        'POST',
        '',
        { title: 'x', goal_type: 'scale', current_value: 11 },
        { 'body.current_value': 'value_error' },
      ],
      [
        'POST',
        '',
        { title: 'x', goal_type: 'scale', target_value: -1 },
        { 'body.target_value': 'value_error' },
      ],
      [
        'POST',
        '',
        { title: 'x', goal_type: 'boolean', current_value: 0.5 },
        { 'body.current_value': 'value_error' },
      ],
      ['PATCH', `/${id}`, {}, { body: 'missing' }],
      ['PATCH', `/${id}`, { status: 'completed' }, { body: 'missing' }],
      [
        'PATCH',
        `/${id}`,
        { title: null, horizon_at: null, target_value: null },
        { 'body.title': 'string_type', 'body.horizon_at': 'string_type', 'body.target_value': 'float_type' },
      ],
      [
        'PATCH',
        `/${id}`,
        { max_value: 2 },
        { 'body.current_value': 'value_error', 'body.target_value': 'value_error' },
      ],
      ['PATCH', `/${id}`, { min_value: 11 }, { 'body.min_value': 'value_error' }],
      ['PATCH', `/${id}`, { is_active: 'no' }, { 'body.is_active': 'bool_type' }],
      ['PATCH', `/${id}/progress`, undefined, { 'query.current_value': 'missing' }],
      ['PATCH', `/${id}/progress?current_value=`, undefined, { 'query.current_value': 'missing' }],
      ['PATCH', `/${id}/progress?current_value=ten`, undefined, { 'query.current_value': 'float_parsing' }],
      ['PATCH', `/${id}/progress?current_value=1e999`, undefined, { 'query.current_value': 'float_parsing' }],
      ['PATCH', `/${id}/progress?current_value=10.1`, undefined, { 'query.current_value': 'value_error' }],
      ['GET', `/${id}/history?days=all`, undefined, { 'query.days': 'int_parsing' }],
      ['GET', `/${id}/history?days=0`, undefined, { 'query.days': 'greater_than_equal' }],
      ['GET', `/${id}/history?days=366`, undefined, { 'query.days': 'less_than_equal' }],
      [
        'GET',
        '?limit=1.5&include_inactive=2',
        undefined,
        { 'query.limit': 'int_parsing', 'query.include_inactive': 'bool_parsing' },
      ],
    ];
    for (const [method, path, body, expected] of rows) {
      const row = `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`;
      t.deepEqual(await issues(method, LIST + path, body), expected as never, row);
    }
    t.deepEqual(await good('GET', '?include_inactive=true'), [before]);
    t.is((await good('GET', `/${id}/history`)).length, 1);
  });

  on('an unknown goal, another user’s and an invalid id get the same 404', async (t, rest) => {
    const { create, send, users, good } = rest;
    const annas = await create();
    await users.add('ben');
    const ben = await users.token('ben');
    const calls: [string, string, Json?][] = [
      ['GET', ''],
      ['PATCH', '', { title: 'x' }],
      ['PATCH', '/progress?current_value=1'],
      ['GET', '/history'],
      ['DELETE', ''],
    ];
    for (const unknown of [annas.id, UNKNOWN, 'nonsense'])
      for (const [method, rest, body] of calls) {
        const answer = await send(method, `${LIST}/${unknown}${rest}`, body, ben);
        t.like(answer, { status: 404, body: { detail: 'Goal not found' } }, `${method} ${rest} ${unknown}`);
      }
    t.deepEqual((await send('GET', LIST, undefined, ben)).body, []);
    t.deepEqual(await good('GET', `/${annas.id}`), annas);
  });

  on('a goal is deleted with its history', async (t, { create, good, send, storage, user }) => {
    const { id } = await create();
    t.deepEqual(await good('DELETE', `/${id}`), { success: true });
    for (const path of [`/${id}`, `/${id}/history`]) t.is((await send('GET', LIST + path)).status, 404);
    t.is((await send('DELETE', `${LIST}/${id}`)).status, 404);
    t.deepEqual(await storage.goals.progress(user.id, id, 0), []);
  });

  on('each operation requires its scope', async (t, { send, keys, user, create }) => {
    const { id } = await create();
    const read = await keys.create(user.id, { name: 'r', scopes: ['goals:read'] });
    const write = await keys.create(user.id, { name: 'w', scopes: ['goals:write'] });
    const rows: [string, string, Json | undefined, 'read' | 'write'][] = [
      ['GET', '', undefined, 'read'],
      ['GET', `/${id}`, undefined, 'read'],
      ['GET', `/${id}/history`, undefined, 'read'],
      ['POST', '', { title: 'x' }, 'write'],
      ['PATCH', `/${id}`, { title: 'x' }, 'write'],
      ['PATCH', `/${id}/progress?current_value=1`, undefined, 'write'],
      ['DELETE', `/${id}`, undefined, 'write'],
    ];
    for (const [method, path, body, scope] of rows) {
      const [able, unable] = scope === 'read' ? [read, write] : [write, read];
      const row = `${method} ${path}`;
      t.is((await send(method, LIST + path, body, null)).status, 401, row);
      const refused = await send(method, LIST + path, body, unable.key);
      t.is(refused.body.detail, `Insufficient permissions. Required scope: goals:${scope}`, row);
      t.is((await send(method, LIST + path, body, able.key)).status, 200, row);
    }
  });
}
