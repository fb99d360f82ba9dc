import test, { type ExecutionContext } from 'ava';
import { NOTICE_JOB, REMINDER_JOB } from '../../../../core/domain/tasks/reminders.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/dev/user/action-items';
const BATCH = `${LIST}/batch`;
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const HOUR_MS = 3_600_000;

type Rest = Awaited<ReturnType<typeof start>>;
type Json = Record<string, unknown>;

async function start(t: ExecutionContext, open?: Parameters<typeof openRest>[1]) {
  const rest = await openRest(t, open);
  const { send, clock, storage, user } = rest;
  const inHours = (hours: number) => new Date(clock.now() + hours * HOUR_MS).toISOString();
  const create = async (body: Json): Promise<Json & { id: string }> => {
    const answer = await send('POST', LIST, body);
    t.is(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  /** Created one after the other, a second apart. */
  const createAll = async (bodies: Json[]) => {
    const ids: string[] = [];
    for (const body of bodies) {
      ids.push((await create({ description: 'x', ...body })).id);
      clock.advance(1000);
    }
    return ids;
  };
  const ids = async (query = '') => {
    const answer = await send('GET', `${LIST}?${query}`);
    t.is(answer.status, 200, query);
    return answer.body.map((item: Json) => item.id);
  };
  const edit = async (id: string, body: Json) => {
    const answer = await send('PATCH', `${LIST}/${id}`, body);
    t.is(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const lock = (id: string) => storage.actionItems.update(user.id, id, { locked: true });
  /** Takes pending notices of a kind, as a deliverer does. */
  const take = async (kind: string, now = clock.now()) => {
    const jobs = await storage.jobs.claim([kind], now, 1000, 100);
    for (const job of jobs) await storage.jobs.done(job);
    return jobs.map(({ payload, runAt }) => ({ ...payload, runAt }) as Json);
  };
  return { ...rest, inHours, create, createAll, ids, edit, lock, take };
}

for (const { name, open } of await openDatabases(test)) {
  const on = (title: string, run: (t: ExecutionContext, rest: Rest) => Promise<void>) =>
    test.serial(`${name}: ${title}`, async t => run(t, await start(t, open)));

  on('a created item is returned with every field, found again, and listed', async (t, rest) => {
    const { create, send, ids, clock, inHours } = rest;
    const now = new Date(clock.now()).toISOString();
    const bare = await create({ description: '  Call Eve\n', completed: null, due_at: null, more: 1 });
    t.deepEqual(bare, {
      id: bare.id,
      description: 'Call Eve',
      completed: false,
      created_at: now,
      updated_at: now,
      due_at: null,
      completed_at: null,
      conversation_id: null,
      segment_id: null,
    });
    t.regex(bare.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    const done = await create({ description: '🙂'.repeat(500), completed: true, due_at: inHours(1) });
    t.like(done, { completed: true, completed_at: now, due_at: inHours(1) });
    for (const item of [bare, done])
      t.like(await send('GET', `${LIST}/${item.id}`), { status: 200, body: item });
    t.deepEqual(await ids(), [bare.id, done.id]);
  });

  on('a batch is created in order, all or none', async (t, { send, ids }) => {
    const description = (at: number) => `${at}`;
    const action_items = Array.from({ length: 50 }, (_, at) => ({ description: description(at) }));
    const { status, body } = await send('POST', BATCH, { action_items });
    t.is(status, 200);
    t.is(body.created_count, 50);
    t.deepEqual(
      body.action_items.map((item: Json) => item.description),
      action_items.map(item => item.description),
    );
    t.is((await ids()).length, 50);
    t.like(await send('POST', BATCH, { action_items: [] }), {
      status: 200,
      body: { action_items: [], created_count: 0 },
    });
    for (const bad of [
      [...action_items, { description: 'too many' }],
      [{ description: 'good' }, { description: ' ' }],
    ])
      t.is((await send('POST', BATCH, { action_items: bad })).status, 422);
    t.is((await ids()).length, 50);
  });

  on('open items precede done ones; they are ordered by due date, then newest first', async (t, rest) => {
    const { createAll, ids, inHours, edit } = rest;
    const [later, old, done, sooner, fresh, doneLate, past] = await createAll([
      { due_at: inHours(9) },
      {},
      { completed: true },
      { due_at: inHours(1) },
      {},
      { completed: true, due_at: inHours(3) },
      { due_at: '2020-01-01' },
    ]);
    const order = [past, sooner, later, fresh, old, doneLate, done];
    t.deepEqual(await ids(), order);
    t.deepEqual(await ids('limit=2&offset=2'), order.slice(2, 4));
    t.deepEqual(await ids('completed=false'), order.slice(0, 5));
    t.deepEqual(await ids('completed=true'), order.slice(5));
    await edit(String(past), { completed: true });
    await edit(String(done), { completed: false });
    await edit(String(old), { due_at: inHours(0) });
    t.deepEqual(await ids(), [old, sooner, later, fresh, done, past, doneLate]);
  });

  on('items are filtered by creation time, and by conversation', async (t, rest) => {
    const { createAll, ids, clock, actionItems, user, create } = rest;
    const [first, second] = await createAll([{}, {}]);
    const at = (ms: number) => new Date(clock.now() + ms).toISOString();
    const rows: [string, unknown[]][] = [
      [`start_date=${at(-1000)}`, [second]],
      [`start_date=${at(-999)}`, []],
      [`end_date=${at(-2000)}`, [first]],
      [`end_date=${at(-2001)}`, []],
      [`start_date=${at(-2000)}&end_date=${at(-1000)}`, [second, first]],
      [`start_date=${at(0).slice(0, 10)}`, [second, first]],
      [`end_date=${at(0).slice(0, 10)}`, [second, first]],
      [`end_date=${at(-24 * HOUR_MS).slice(0, 10)}`, []],
      ['start_date=&end_date=&completed=&conversation_id=', [second, first]],
    ];
    for (const [query, expected] of rows) t.deepEqual(await ids(query), expected, query);
    const { id } = await completedConversation(rest, user.id);
    const heard = { description: 'heard', completed: false, dueAt: null };
    const [item] = await actionItems.create(user.id, [heard], id);
    t.deepEqual(await ids(`conversation_id=${id}`), [item?.id]);
    for (const unknown of [UNKNOWN, 'nonsense', '%00'])
      t.deepEqual(await ids(`conversation_id=${unknown}`), []);
    await create({ description: 'x' });
    t.is((await ids()).length, 4);
  });

  on('deleting a conversation keeps its tasks', async (t, rest) => {
    const { send, actionItems, user } = rest;
    const { id } = await completedConversation(rest, user.id);
    const [item] = await actionItems.create(
      user.id,
      [{ description: 'x', completed: false, dueAt: null }],
      id,
    );
    t.is((await send('GET', `${LIST}/${item?.id}`)).body.conversation_id, id);
    await send('DELETE', `/v1/dev/user/conversations/${id}`);
    t.is((await send('GET', `${LIST}/${item?.id}`)).body.conversation_id, null);
  });

  on('limits are clamped, and at most 1000 items are returned', async (t, rest) => {
    const { user, actionItems, ids } = rest;
    const drafts = Array.from({ length: 260 }, () => ({ description: 'x', completed: false, dueAt: null }));
    for (let batch = 0; batch < 4; batch += 1) await actionItems.create(user.id, drafts);
    const rows = { '': 100, 'limit=0': 1, 'limit=-5': 1, 'limit=1001': 1000, 'limit=1000&offset=-1': 1000 };
    for (const [query, count] of Object.entries(rows)) t.is((await ids(query)).length, count, query);
    t.is((await ids('limit=1000&offset=1000')).length, 40);
  });

  on(
    'a PATCH changes only the named fields; completed sets and clears the completion time',
    async (t, rest) => {
      const { create, edit, clock, send, inHours } = rest;
      const item = await create({ description: 'before', due_at: inHours(1) });
      clock.advance(1000);
      const done = await edit(item.id, { completed: true });
      const at = new Date(clock.now()).toISOString();
      t.deepEqual(done, { ...item, completed: true, completed_at: at, updated_at: at });
      clock.advance(1000);
      t.is((await edit(item.id, { completed: true })).completed_at, at, 'it was done already');
      const open = await edit(item.id, { completed: false, description: ' after ' });
      t.like(open, { completed: false, completed_at: null, description: 'after', due_at: item.due_at });
      t.is((await edit(item.id, { due_at: null })).due_at, null);
      const zoned = await edit(item.id, { due_at: '2026-05-04T09:00:00+02:00' });
      t.is(zoned.due_at, '2026-05-04T07:00:00.000Z');
      t.deepEqual((await send('GET', `${LIST}/${item.id}`)).body, zoned);
    },
  );

  on('concurrent edits lose nothing', async (t, { create, edit, send, inHours }) => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await create({ description: 'before' });
      const edits = [{ description: 'after' }, { completed: true }, { due_at: inHours(2) }];
      await Promise.all(edits.map(body => edit(id, body)));
      const { body } = await send('GET', `${LIST}/${id}`);
      t.like(body, { description: 'after', completed: true, due_at: inHours(2) });
      t.truthy(body.completed_at);
    }
  });

  on('each edit has a unique time, also concurrent ones', async (t, rest) => {
    const { create, edit } = rest;
    const { id, updated_at } = await create({ description: 'x' });
    const edits = Array.from({ length: 6 }, (_, at) => edit(id, { description: `x ${at}` }));
    const times = (await Promise.all(edits)).map(edited => edited.updated_at).sort();
    t.is(new Set([updated_at, ...times]).size, 7);
    t.true(times.every(time => String(time) > String(updated_at)));
  });

  on(
    'a due date may be as late as the last instant with a four-digit year',
    async (t, { create, issues }) => {
      const due_at = '9999-12-31T23:59:59.999Z';
      t.is((await create({ description: 'x', due_at })).due_at, due_at);
      const later = { description: 'x', due_at: '9999-12-31T23:59:59-01:00' };
      t.deepEqual(await issues('POST', LIST, later), { 'body.due_at': 'datetime_parsing' });
    },
  );

  on(
    'all errors are reported with their paths, and nothing is stored',
    async (t, { issues, ids, create, inHours, send }) => {
      const { id } = await create({ description: 'x', due_at: inHours(1) });
      const before = (await send('GET', `${LIST}/${id}`)).body;
      const rows: [string, string, unknown, Json][] = [
        ['POST', LIST, {}, { 'body.description': 'missing' }],
        ['POST', LIST, { description: null }, { 'body.description': 'string_type' }],
        ['POST', LIST, { description: ' \n' }, { 'body.description': 'string_too_short' }],
        ['POST', LIST, { description: '🙂'.repeat(501) }, { 'body.description': 'string_too_long' }],
        ['POST', LIST, { description: 'x', completed: 'no' }, { 'body.completed': 'bool_type' }],
        ['POST', LIST, { description: 'x', due_at: 'soon' }, { 'body.due_at': 'datetime_parsing' }],
        ['POST', LIST, { description: 'x', due_at: 5 }, { 'body.due_at': 'string_type' }],
        ['POST', LIST, [], { body: 'dict_type' }],
        ['POST', BATCH, {}, { 'body.action_items': 'missing' }],
        ['POST', BATCH, { action_items: {} }, { 'body.action_items': 'list_type' }],
        [
          'POST',
          BATCH,
          { action_items: [{ description: 'x' }, { description: '' }] },
          { 'body.action_items.1.description': 'string_too_short' },
        ],
        [
          'POST',
          BATCH,
          { action_items: Array.from({ length: 51 }, () => ({ description: 'x' })) },
          { 'body.action_items': 'too_long' },
        ],
        ['PATCH', `${LIST}/${id}`, {}, { body: 'missing' }],
        ['PATCH', `${LIST}/${id}`, { id: UNKNOWN, conversation_id: null }, { body: 'missing' }],
        ['PATCH', `${LIST}/${id}`, { description: null }, { 'body.description': 'string_type' }],
        ['PATCH', `${LIST}/${id}`, { completed: null, due_at: null }, { 'body.completed': 'bool_type' }],
        [
          'PATCH',
          `${LIST}/${id}`,
          { description: 'x'.repeat(501) },
          { 'body.description': 'string_too_long' },
        ],
        ['PATCH', `${LIST}/${id}`, { due_at: '' }, { 'body.due_at': 'datetime_parsing' }],
        [
          'GET',
          `${LIST}?limit=x&offset=1.5`,
          undefined,
          { 'query.limit': 'int_parsing', 'query.offset': 'int_parsing' },
        ],
        ['GET', `${LIST}?completed=maybe`, undefined, { 'query.completed': 'bool_parsing' }],
        ['GET', `${LIST}?start_date=soon`, undefined, { 'query.start_date': 'datetime_parsing' }],
        ['GET', `${LIST}?end_date=2026-02-30`, undefined, { 'query.end_date': 'datetime_parsing' }],
      ];
      for (const [method, path, body, expected] of rows)
        t.deepEqual(
          await issues(method, path, body),
          expected as never,
          `${method} ${path} ${JSON.stringify(body)?.slice(0, 60)}`,
        );
      t.deepEqual(await ids(), [id]);
      t.deepEqual((await send('GET', `${LIST}/${id}`)).body, before);
    },
  );

  on('an unknown item, another user’s and an invalid id get the same 404', async (t, rest) => {
    const { send, create, users, take } = rest;
    const { id } = await create({ description: 'anna’s', due_at: '2030-01-01' });
    await users.add('ben');
    const ben = await users.token('ben');
    await take(NOTICE_JOB);
    for (const unknown of [id, UNKNOWN, 'nonsense', '%00', id.toUpperCase()]) {
      for (const [method, body] of [['GET'], ['PATCH', { completed: true }], ['DELETE']] as const) {
        const answer = await send(method, `${LIST}/${unknown}`, body, ben);
        t.like(answer, { status: 404, body: { detail: 'Action item not found' } }, `${method} ${unknown}`);
      }
    }
    t.deepEqual((await send('GET', LIST, undefined, ben)).body, []);
    t.like(await send('GET', `${LIST}/${id}`), { body: { completed: false } });
    t.deepEqual(await take(NOTICE_JOB), []);
  });

  on(
    'a locked item is left out, not found, and not changed',
    async (t, { create, lock, send, ids, take, inHours }) => {
      const { id } = await create({ description: 'x', due_at: inHours(1) });
      await take(NOTICE_JOB);
      await lock(id);
      t.deepEqual(await ids(), []);
      t.is((await send('GET', `${LIST}/${id}`)).status, 404);
      const refused = { status: 423, body: { detail: 'Action item is locked' } };
      t.like(await send('PATCH', `${LIST}/${id}`, { completed: true }), refused);
      t.like(await send('DELETE', `${LIST}/${id}`), refused);
      t.deepEqual(await take(NOTICE_JOB), []);
    },
  );

  on('a deleted item is gone for good', async (t, { create, send, ids }) => {
    const { id } = await create({ description: 'x' });
    t.like(await send('DELETE', `${LIST}/${id}`), { status: 200, body: { success: true } });
    t.deepEqual(await ids(), []);
    for (const method of ['GET', 'DELETE']) t.is((await send(method, `${LIST}/${id}`)).status, 404);
  });

  on('each operation requires its scope', async (t, { send, keys, user, create }) => {
    const { id } = await create({ description: 'x' });
    const read = await keys.create(user.id, { name: 'r', scopes: ['action_items:read'] });
    const write = await keys.create(user.id, { name: 'w', scopes: ['action_items:write'] });
    const rows: [string, string, unknown, 'read' | 'write'][] = [
      ['GET', LIST, undefined, 'read'],
      ['GET', `${LIST}/${id}`, undefined, 'read'],
      ['POST', LIST, { description: 'x' }, 'write'],
      ['POST', BATCH, { action_items: [] }, 'write'],
      ['PATCH', `${LIST}/${id}`, { completed: true }, 'write'],
      ['DELETE', `${LIST}/${id}`, undefined, 'write'],
    ];
    for (const [method, path, body, scope] of rows) {
      const [able, unable] = scope === 'read' ? [read, write] : [write, read];
      const row = `${method} ${path}`;
      t.is((await send(method, path, body, null)).status, 401, row);
      t.like(
        await send(method, path, body, unable.key),
        { status: 403, body: { detail: `Insufficient permissions. Required scope: action_items:${scope}` } },
        row,
      );
      t.is((await send(method, path, body, able.key)).status, 200, row);
    }
  });

  on('each due date is announced once, whoever sets it', async (t, rest) => {
    const { create, send, edit, take, clock, inHours, actionItems, user } = rest;
    const dueAt = clock.now() + HOUR_MS;
    const told = (id: unknown, changes: Json = {}) => ({
      type: 'action_item_update',
      userId: user.id,
      id,
      description: 'x',
      completed: false,
      dueAt,
      runAt: clock.now(),
      ...changes,
    });
    const { id } = await create({ description: 'x', due_at: inHours(1) });
    t.deepEqual(await take(NOTICE_JOB), [told(id)], 'created');
    await create({ description: 'x' });
    t.deepEqual(await take(NOTICE_JOB), [], 'created without one');
    const action_items = [{ description: 'x', due_at: inHours(1) }, { description: 'y' }];
    const { body } = await send('POST', BATCH, { action_items });
    t.deepEqual(await take(NOTICE_JOB), [told(body.action_items[0].id)], 'in a batch');
    const [heard] = await actionItems.create(
      user.id,
      [{ description: 'x', completed: false, dueAt }],
      UNKNOWN,
    );
    t.deepEqual(await take(NOTICE_JOB), [told(heard?.id)], 'by the pipeline');
    await edit(id, { due_at: inHours(2) });
    t.deepEqual(await take(NOTICE_JOB), [told(id, { dueAt: dueAt + HOUR_MS })], 'moved');
    await edit(id, { due_at: inHours(2) });
    t.is((await take(NOTICE_JOB)).length, 1, 'set to what it was');
    await edit(id, { description: 'z' });
    t.deepEqual(await take(NOTICE_JOB), [], 'something else was changed');
    await edit(id, { due_at: inHours(3) });
    await edit(id, { due_at: inHours(1), completed: true });
    t.deepEqual(
      await take(NOTICE_JOB),
      [told(id, { description: 'z', completed: true })],
      'the newest alone',
    );
  });

  on('an obsolete announcement is withdrawn', async (t, { create, edit, send, take, inHours, ids }) => {
    const rows: [string, (id: string) => Promise<unknown>, string[]][] = [
      ['done', id => edit(id, { completed: true }), ['action_item_delete']],
      ['cleared', id => edit(id, { due_at: null }), ['action_item_delete']],
      ['deleted', id => send('DELETE', `${LIST}/${id}`), ['action_item_delete']],
      ['renamed', id => edit(id, { description: 'y' }), []],
    ];
    for (const [row, change, expected] of rows) {
      const { id } = await create({ description: row, due_at: inHours(1) });
      await take(NOTICE_JOB);
      await change(id);
      const told = await take(NOTICE_JOB);
      t.deepEqual(
        told.map(({ type, id: of }) => [type, of]),
        expected.map(type => [type, id]),
        row,
      );
    }
    const [, , done] = await ids();
    await edit(done, { completed: false });
    t.like((await take(NOTICE_JOB))[0], { type: 'action_item_update', id: done }, 'opened again');
    await edit(done, { completed: true });
    await take(NOTICE_JOB);
    await edit(done, { description: 'x' });
    await send('DELETE', `${LIST}/${done}`);
    t.deepEqual(await take(NOTICE_JOB), [], 'nobody waited for it');
  });

  on('a reminder is due when the item is, after all its changes', async (t, rest) => {
    const { create, edit, send, take, clock, inHours, user } = rest;
    const late = () => take(REMINDER_JOB, clock.now() + 100 * HOUR_MS);
    const at = (hours: number) => clock.now() + hours * HOUR_MS;
    const rows: [string, Json, Json[], number | null][] = [
      ['set', { due_at: inHours(2) }, [], 2],
      ['moved later', { due_at: inHours(2) }, [{ due_at: inHours(9) }], 9],
      ['moved earlier', { due_at: inHours(9) }, [{ due_at: inHours(2) }], 2],
      ['set later', {}, [{ due_at: inHours(2) }], 2],
      ['over already', { due_at: inHours(-1) }, [], null],
      ['moved to what is over', { due_at: inHours(1) }, [{ due_at: inHours(-1) }], null],
      ['cleared', { due_at: inHours(1) }, [{ due_at: null }], null],
      ['done', { due_at: inHours(1) }, [{ completed: true }], null],
      ['done and opened again', { due_at: inHours(1) }, [{ completed: true }, { completed: false }], 1],
      ['moved while done', { due_at: inHours(1) }, [{ completed: true }, { due_at: inHours(3) }], null],
      ['created done', { due_at: inHours(1), completed: true }, [], null],
      ['renamed', { due_at: inHours(1) }, [{ description: 'y' }], 1],
    ];
    for (const [row, draft, edits, due] of rows) {
      const { id } = await create({ description: row, ...draft });
      for (const body of edits) await edit(id, body);
      const expected = due === null ? [] : [{ userId: user.id, id, runAt: at(due) }];
      t.deepEqual(await late(), expected, row);
    }
    const { id } = await create({ description: 'x', due_at: inHours(1) });
    await send('DELETE', `${LIST}/${id}`);
    t.deepEqual(await late(), [], 'deleted');
  });
}
