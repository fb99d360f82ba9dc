/**
 * Reimplements existing third-party clients of this API: each parses responses as its own code does, and
 * fails as it would.
 */
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { accountOf } from '../helpers/accounts.ts';
import { connectListen } from '../helpers/listen-client.ts';
import { type Behaviour, startReceiver } from '../helpers/receiver.ts';
import { countingStt, openServer, type TestServer } from '../helpers/services.ts';

type Json = Record<string, unknown>;

/** One server, one account, and HTTP as those programs use it. */
async function start(t: ExecutionContext) {
  const server = await openServer(t, {
    ...countingStt(),
    delivery: { allowHosts: ['127.0.0.1'] },
    rateLimits: { enabled: false },
  });
  const owner = await accountOf(server, 'owner');
  const { key } = await owner.post('/v1/dev/keys', { name: 'foreign', scopes: SCOPES });
  const call = async (method: string, path: string, init: RequestInit = {}, credential = String(key)) => {
    const headers = { Authorization: `Bearer ${credential}`, ...init.headers };
    const response = await fetch(server.url + path, { method, ...init, headers });
    const body = (await response.json()) as Json & Json[];
    return { status: response.status, body };
  };
  const json = (method: string, path: string, body: unknown, credential?: string) =>
    call(
      method,
      path,
      { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) },
      credential,
    );
  return { server, owner, call, json, key: String(key) };
}

const SCOPES = ['conversations', 'memories', 'action_items', 'goals'].flatMap(each => [
  `${each}:read`,
  `${each}:write`,
]);

const Instant = z.iso.datetime().transform(text => new Date(text));
/** The data model of an existing receiver: without `is_user` the request is an error of its framework. */
const Segment = z.object({
  id: z.string(),
  text: z.string(),
  speaker: z.string().regex(/^SPEAKER_\d+$/),
  speaker_id: z.int(),
  speaker_name: z.string(),
  is_user: z.boolean(),
  person_id: z.string().nullable(),
  start: z.number(),
  end: z.number(),
});
const Memory = z.object({
  id: z.string(),
  created_at: Instant,
  started_at: Instant,
  finished_at: Instant,
  structured: z.object({ title: z.string(), overview: z.string(), action_items: z.array(z.unknown()) }),
  transcript_segments: z.array(Segment).min(1),
  discarded: z.boolean(),
});
const Transcript = z.object({ session_id: z.string(), uid: z.string(), segments: z.array(Segment).min(1) });

/** Answers like such a receiver: 422 to a body that it cannot parse. */
function strict(schema: z.ZodType, answer: (body: never) => unknown) {
  const refused: string[] = [];
  const read = (body: Buffer) => {
    const parsed = schema.safeParse(JSON.parse(body.toString()));
    if (!parsed.success) refused.push(z.prettifyError(parsed.error));
    return parsed.success ? { status: 200, body: answer(parsed.data as never) } : { status: 422, body: null };
  };
  return { read, refused };
}

const segmentsFrom = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    ...{ text: `We planned part ${at} of the garden.`, start: at * 4, end: at * 4 + 2 },
    ...{ speaker: `SPEAKER_0${at % 2}`, is_user: at % 2 === 0 },
  }));

test('a backup gets every row: it requests 1000, and takes a shorter page as the last', async t => {
  const { call, json } = await start(t);
  const made: string[] = [];
  for (let batch = 0; batch < 6; batch += 1)
    await Promise.all(
      Array.from({ length: 10 }, async (_, at) => {
        const body = { transcript_segments: segmentsFrom(3), client_session_id: `${batch} ${at}` };
        made.push(String((await json('POST', '/v1/dev/user/conversations/from-segments', body)).body.id));
      }),
    );
  t.is(new Set(made).size, 60);
  const memories = Array.from({ length: 25 }, (_, at) => ({ content: `Fact ${at}`, category: 'core' }));
  for (let batch = 0; batch < 5; batch += 1) {
    const { body } = await json('POST', '/v1/dev/user/memories/batch', { memories });
    t.is(body.created_count, 25);
  }

  async function all(path: string, limit: number) {
    const rows: Json[] = [];
    for (let offset = 0; ; offset += limit) {
      const { body } = await call('GET', `${path}limit=${limit}&offset=${offset}`);
      rows.push(...body);
      if (body.length < limit) return rows;
    }
  }
  for (const limit of [7, 50, 200, 1000]) {
    const found = await all('/v1/dev/user/conversations?include_transcript=true&', limit);
    t.deepEqual(found.map(({ id }) => id).sort(), made.toSorted(), `pages of ${limit}`);
    for (const each of found) t.is((each.transcript_segments as unknown[]).length, 3);
    t.is((await all('/v1/dev/user/memories?', limit)).length, 125, `pages of ${limit}`);
  }
});

test('receivers that reject a segment without is_user accept the transcript, the live events and the finished conversation', async t => {
  const { server, owner } = await start(t);
  const inbox = async () => (await owner.get('/v1/notifications')).map(({ text }) => text);
  const transcript = strict(Transcript, ({ session_id, uid }: z.output<typeof Transcript>) => ({
    ...{ session_id, uid },
    message: 'That was heard',
  }));
  const finished = strict(Memory, ({ created_at }: z.output<typeof Memory>) => ({
    message: `Made in ${created_at.getUTCFullYear()}`,
  }));
  const byPath = new Map([
    ['/hook/transcript', transcript],
    ['/hook/memory', finished],
  ]);
  const receiver = await startReceiver(t);
  const respond: Behaviour = (response, request) => {
    const { pathname } = new URL(String(request.url), receiver.url);
    const { status = 404, body } = byPath.get(pathname)?.read(receiver.received.at(-1)?.body as Buffer) ?? {};
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  receiver.behaviour = respond;
  // each app limits itself to one message in 30 s
  for (const [name, trigger, path] of [
    ['Listener', 'realtime_transcript', 'transcript'],
    ['Archive', 'memory_creation', 'memory'],
  ]) {
    const app = await owner.post('/v1/apps', {
      name,
      external_integration: { triggers_on: trigger, webhook_url: `${receiver.url}/${path}` },
    });
    await owner.post(`/v1/apps/enable?app_id=${app.id}`);
  }
  const client = await suggest(t, server, server.key);
  const live = z.object({ status: z.string(), ...Memory.shape });
  const begun = live
    .omit({ transcript_segments: true })
    .parse((await client.until('memory_processing_started')).memory);
  const created = live.parse((await client.until('memory_created')).memory);
  t.deepEqual([begun.status, created.status], ['processing', 'completed']);
  t.is(begun.id, created.id);
  const year = new Date().getUTCFullYear();
  const wanted = [`Made in ${year}`, 'That was heard']; // in addition to the task found in the conversation
  for (let found: unknown[] = []; !wanted.every(each => found.includes(each)); ) found = await inbox();
  t.deepEqual([...transcript.refused, ...finished.refused], []);
});

/** Says something like an app with its own recogniser, and ends the conversation. */
async function suggest(t: ExecutionContext, server: TestServer, key: string) {
  const client = await connectListen(server.url, key, { custom_stt: 'enabled', language: 'en' });
  t.teardown(() => client.socket.close());
  await client.until('service_status', ({ status }) => status === 'ready');
  const said = { text: 'We have to water the plants in the garden tomorrow morning', is_user: true };
  const place = { speaker: 'SPEAKER_00', speaker_id: 0, person_id: null, start: 0, end: 4 };
  const message = { type: 'suggested_transcript', stt_provider: 'phone', segments: [{ ...said, ...place }] };
  client.socket.send(JSON.stringify(message));
  await client.until('segments');
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  return client;
}

test('an app reads what its user permits with its secret, in the format that its parser expects', async t => {
  const { server, owner, json, call } = await start(t);
  const app = await owner.post('/v1/apps', {
    name: 'Screen',
    external_integration: {
      actions: ['read_conversations', 'read_memories', 'read_tasks', 'create_facts', 'create_conversation'],
    },
  });
  const secret = String((await owner.post(`/v1/apps/${app.id}/keys`)).secret);
  await owner.post(`/v1/apps/enable?app_id=${app.id}`);
  await json('POST', '/v1/dev/user/conversations/from-segments', { transcript_segments: segmentsFrom(4) });
  await json('POST', '/v1/dev/user/action-items', {
    description: 'Call Eve',
    due_at: '9999-12-31T00:00:00Z',
  });
  const path = (name: string) => `/v2/integrations/${app.id}/${name}?uid=${server.userId}`;
  const read = async (name: string) => (await call('GET', `${path(name)}&limit=1000`, {}, secret)).body[name];
  const Own = { uid: z.literal(server.userId), layer: z.null(), content: z.string(), created_at: Instant };

  t.like(await json('POST', path('user/memories'), { text: 'Likes tea' }, secret), { status: 200, body: {} });
  t.is(z.array(z.object(Own)).parse(await read('memories')).length, 1);
  t.is(z.array(Memory).parse(await read('conversations')).length, 1);
  t.is(z.array(z.object({ due_at: Instant, description: z.string() })).parse(await read('tasks')).length, 1);
  const notice = await call('POST', `${path('notification')}&message=Hello`, {}, secret);
  t.deepEqual(notice, { status: 200, body: { status: 'Ok' } });
  const stranger = await call('GET', `/v2/integrations/${app.id}/memories?uid=nobody`, {}, secret);
  t.is(stranger.status, 404);
});

test('a goal tracker reads texts as texts, and finds a goal by either of its ids', async t => {
  const { json, call } = await start(t);
  const goals = '/v1/dev/user/goals';
  const Goal = z.object({
    ...{ id: z.string(), goal_id: z.string(), title: z.string(), desired_outcome: z.string() },
    ...{ source: z.string(), is_active: z.boolean(), created_at: Instant, updated_at: Instant },
  });
  const made = Goal.parse((await json('POST', goals, { title: 'Read', target_value: 12 })).body);
  t.is(made.goal_id, made.id);
  t.is(made.desired_outcome.toLowerCase(), '');
  const moved = Goal.parse((await call('PATCH', `${goals}/${made.goal_id}/progress?current_value=3`)).body);
  t.true(moved.updated_at > made.updated_at);
  t.is((await call('GET', `${goals}/${made.goal_id}/history?days=366`)).status, 422);
});

test('errors have the one form that clients read', async t => {
  const { call, json } = await start(t);
  const memories = '/v1/dev/user/memories';
  const Detail = z.object({ detail: z.string().min(1) });
  const Issues = z.object({
    detail: z.array(
      z.object({ loc: z.array(z.union([z.string(), z.int()])), msg: z.string(), type: z.string() }),
    ),
  });
  const form = await call('POST', memories, { body: new URLSearchParams({ content: 'Likes tea' }) });
  t.is(form.status, 415);
  Detail.parse(form.body);
  const headers = { 'Content-Type': 'application/json' };
  const broken = await call('POST', memories, { headers, body: "{'content': 'Likes tea'}" });
  t.is(Issues.parse(broken.body).detail[0]?.type, 'json_invalid');
  const twice = await json('POST', memories, JSON.stringify({ content: 'Likes tea' }));
  t.deepEqual(Issues.parse(twice.body).detail[0]?.loc, ['body'], 'JSON within JSON');
  const tooMany = await json('POST', memories, { content: 'x', tags: Array(51).fill('tea') });
  t.deepEqual(Issues.parse(tooMany.body).detail[0]?.loc, ['body', 'tags']);
  const nothing = await json('PATCH', `${memories}/x`, { nonsense: true });
  t.deepEqual(Issues.parse(nothing.body).detail[0]?.loc, ['body']);

  const created = await json('POST', memories, { content: 'Likes tea', color: 'green' });
  t.is(created.status, 200, 'fields of later versions are passed over');
  for (const id of ['undefined', 'null', '0', '01890000-0000-7000-8000-000000000000'])
    t.deepEqual(await call('GET', `${memories}/${id}`), {
      status: 404,
      body: { detail: 'Memory not found' },
    });
  for (const query of ['limit=', 'limit=0', 'limit=-1', 'limit=5000&offset=-2', 'categories=&page=3'])
    t.is((await call('GET', `${memories}?${query}`)).body.length, 1, query);
  t.is((await call('GET', '/v1/dev/user/conversations/search')).status, 200);
  t.is((await call('GET', memories, {}, 'omi_dev_wrong')).status, 401);
});
