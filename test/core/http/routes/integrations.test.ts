import test, { type ExecutionContext } from 'ava';
import type { AppAction } from '../../../../core/contract/model.ts';
import { ACTIONS } from '../../../../core/domain/apps/apps.ts';
import { piecesOf } from '../../../../core/domain/text-pieces.ts';
import { createNotificationLimit } from '../../../../core/http/rate-limit.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { completedConversation } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const HOUR_MS = 3600_000;
const DAY_MS = 24 * HOUR_MS;

type Rest = Awaited<ReturnType<typeof openRest>>;
type Json = Record<string, unknown>;

/** An app of Ben's and the responses it gets; the user has installed it and granted every permission. */
async function asApp({ users, apps, user, send }: Rest) {
  const ben = await users.add('ben');
  const external = { actions: [...ACTIONS], triggersOn: [], webhookUrl: null };
  const { app } = await apps.create(ben.id, { name: 'Tea counter', ...external });
  await apps.install(user.id, app.id, {});
  const { secret, record } = await apps.createKey(ben.id, app.id);
  const path = (of: string, query = '') => `/v2/integrations/${app.id}/${of}?uid=${user.id}${query}`;
  return {
    app,
    ben,
    secret,
    record,
    path,
    get: async (of: string, query = '') => (await send('GET', path(of, query), undefined, secret)).body,
    post: (of: string, body?: unknown, query = '') => send('POST', path(of, query), body, secret),
    allow: (actions: AppAction[]) => apps.install(user.id, app.id, { actions }),
  };
}

const inboxOf = ({ storage, user }: Rest) => storage.notifications.list(user.id, { limit: 100 });
const texts = (of: { content?: string; description?: string }[]) =>
  of.map(({ content, description }) => content ?? description);
const titles = ({ conversations }: { conversations: { structured: { title: string } }[] }) =>
  conversations.map(({ structured }) => structured.title);

/** Behaviour of the integration API: one sentence per test. */
const RULES: [string, (t: ExecutionContext, rest: Rest) => Promise<void>][] = [
  [
    'a notification is forwarded unchanged, with its sender',
    async (t, rest) => {
      const { post, app, path, secret } = await asApp(rest);
      const sent = await post(
        'notification',
        undefined,
        `&message=${encodeURIComponent(' Tea ☕ is ready ')}`,
      );
      t.deepEqual([sent.status, sent.body], [200, { status: 'Ok' }]);
      const bodied = { uid: rest.user.id, aid: app.id, message: 'Again' };
      const again = await rest.send('POST', '/v1/integrations/notification', bodied, secret);
      t.deepEqual([again.status, again.body], [200, { status: 'Ok' }]);
      const said = {
        userId: rest.user.id,
        appId: app.id,
        event: 'app_message',
        title: 'Tea counter',
        data: {},
      };
      const rule = 'The app Tea counter, which you installed, sent it';
      const inbox = await inboxOf(rest);
      t.is(inbox.length, 2);
      t.like(
        inbox.find(({ text }) => text === 'Tea ☕ is ready'),
        { ...said, rule },
      );
      t.like(
        inbox.find(({ text }) => text === 'Again'),
        { ...said, rule },
      );
      t.is((await post('notification')).status, 422);
      t.is((await post('notification', undefined, '&message=%20')).status, 422);
      t.is((await post('notification', undefined, `&message=${'x'.repeat(4001)}`)).status, 422);
      const noUser = path('notification', '&message=Tea').replace(/uid=[^&]+/, 'uid=');
      t.is((await rest.send('POST', noUser, undefined, secret)).status, 422);
      t.is((await inboxOf(rest)).length, 2);
    },
  ],
  [
    'a notification needs no permission, and every other route its own',
    async (t, rest) => {
      const { post, path, secret, allow } = await asApp(rest);
      const routes: [AppAction, method: string, of: string, body?: unknown][] = [
        ['read_conversations', 'GET', 'conversations'],
        ['read_conversations', 'POST', 'search/conversations', { query: 'tea' }],
        ['read_memories', 'GET', 'memories'],
        ['read_tasks', 'GET', 'tasks'],
        ['create_conversation', 'POST', 'user/conversations', { text: 'Tea.' }],
        ['create_facts', 'POST', 'user/memories', { text: 'Likes tea.' }],
      ];
      for (const allowed of ACTIONS) {
        await allow([allowed]);
        t.is((await post('notification', undefined, '&message=Tea')).status, 200);
        for (const [action, method, of, body] of routes) {
          const answer = await rest.send(method, path(of), body, secret);
          if (action === allowed)
            t.is(answer.status, 200, `${allowed} ${of}: ${JSON.stringify(answer.body)}`);
          else
            t.deepEqual(
              [answer.status, answer.body],
              [403, { detail: `Insufficient permissions. Required action: ${action}` }],
              `${allowed} ${of}`,
            );
        }
      }
    },
  ],
  [
    'requests are checked for the secret, the user, the permission and the rate limit, in this order',
    async (t, rest) => {
      const { app, ben, secret, allow, path } = await asApp(rest);
      const other = await rest.apps.create(ben.id, { name: 'Coffee' });
      const { secret: others } = await rest.apps.createKey(ben.id, other.app.id);
      await rest.apps.install(rest.user.id, other.app.id, {});
      await allow([]);
      const ask = async (credential: string | null, appId = app.id, uid = rest.user.id, of = 'tasks') => {
        const query = of === 'tasks' ? '' : '&message=Tea';
        const url = `/v2/integrations/${appId}/${of}?uid=${uid}${query}`;
        const { status, body, headers } = await rest.send(
          of === 'tasks' ? 'GET' : 'POST',
          url,
          undefined,
          credential,
        );
        return { status, detail: body.detail, headers };
      };
      const { key } = await rest.keys.create(rest.user.id, { name: 'k' });
      const strangers = [null, 'nonsense', `sk_${'0'.repeat(32)}`, others, key, rest.token, `${secret}0`];
      for (const credential of strangers)
        for (const [appId, uid] of [
          [app.id, rest.user.id],
          [UNKNOWN, rest.user.id],
          ['nonsense', UNKNOWN],
        ] as const) {
          const { status, headers } = await ask(credential, appId, uid);
          t.is(status, 401, `${credential} ${appId}`);
          t.is(headers.get('www-authenticate'), 'Bearer');
        }
      t.is((await ask(secret, UNKNOWN)).status, 401);
      t.is((await ask(others)).detail, (await ask(`sk_${'0'.repeat(32)}`)).detail);
      const missing = 'User not found, or the app is not installed';
      for (const uid of [UNKNOWN, ben.id, 'nonsense', rest.user.id.toUpperCase()])
        t.like(await ask(secret, app.id, uid), { status: 404, detail: missing }, uid);
      t.is((await ask(secret)).status, 403);
      for (let sent = 0; sent < 10; sent += 1)
        t.is((await ask(secret, app.id, rest.user.id, 'notification')).status, 200);
      t.is((await ask(secret, app.id, rest.user.id, 'notification')).status, 429);
      t.is((await ask(secret, app.id, ben.id, 'notification')).status, 404);
      t.is((await ask(others, app.id, rest.user.id, 'notification')).status, 401);
      t.is((await rest.send('GET', path('tasks').replace(/\?.*/, ''), undefined, secret)).status, 422);
    },
  ],
  [
    'with all parameters in the body the checks have the same order',
    async (t, rest) => {
      const { app, ben, secret } = await asApp(rest);
      const body = { uid: rest.user.id, aid: app.id, message: 'Tea' };
      const ask = (changes: object, credential: string | null = secret) =>
        rest.send('POST', '/v1/integrations/notification', { ...body, ...changes }, credential);
      t.is((await ask({}, null)).status, 401);
      t.is((await ask({}, rest.token)).status, 401);
      t.is((await ask({ aid: UNKNOWN })).status, 401);
      t.is((await ask({ aid: 'nonsense', uid: UNKNOWN })).status, 401);
      for (const uid of [ben.id, UNKNOWN, 'nonsense']) t.is((await ask({ uid })).status, 404);
      t.is((await ask({ message: ' ' })).status, 422);
      t.is((await ask({ uid: 7 })).status, 422);
      t.is((await ask({}, 'x')).status, 401);
      t.deepEqual(await inboxOf(rest), []);
    },
  ],
  [
    'an app is refused as soon as it is uninstalled, or it or its secret is deleted',
    async (t, rest) => {
      const { app, ben, secret, record, path } = await asApp(rest);
      const ask = async () => (await rest.send('GET', path('tasks'), undefined, secret)).status;
      t.is(await ask(), 200);
      await rest.send('POST', `/v1/apps/disable?app_id=${app.id}`);
      t.is(await ask(), 404);
      await rest.send('POST', `/v1/apps/enable?app_id=${app.id}`);
      t.is(await ask(), 200);
      const { secret: second } = await rest.apps.createKey(ben.id, app.id);
      await rest.apps.removeKey(ben.id, app.id, record.id);
      t.is(await ask(), 401);
      t.is((await rest.send('GET', path('tasks'), undefined, second)).status, 200);
      await rest.apps.remove(ben.id, app.id);
      t.is((await rest.send('GET', path('tasks'), undefined, second)).status, 401);
    },
  ],
  [
    'ten notifications an hour are accepted, per app and user, by either route, also across a restart',
    async (t, rest) => {
      const { app, ben, secret, post } = await asApp(rest);
      const message = '&message=Tea';
      for (let left = 9; left >= 0; left -= 1) {
        const bodied = { uid: rest.user.id, aid: app.id, message: 'Tea' };
        const { status, headers } =
          left % 2 === 0
            ? await post('notification', undefined, message)
            : await rest.send('POST', '/v1/integrations/notification', bodied, secret);
        t.is(status, 200);
        t.is(headers.get('x-ratelimit-limit'), '10');
        t.is(headers.get('x-ratelimit-remaining'), String(left));
        t.is(headers.get('x-ratelimit-reset'), '3600');
      }
      rest.clock.advance(HOUR_MS / 2);
      const refused = await post('notification', undefined, message);
      t.is(refused.status, 429);
      t.is(refused.headers.get('retry-after'), '1800');
      t.is(refused.headers.get('x-ratelimit-remaining'), '0');
      t.is(refused.body.detail, 'Too many requests: dev:notification allows 10 an hour; try again in 1800 s');
      t.is((await inboxOf(rest)).length, 10);

      const whose = { userId: rest.user.id, subject: app.id };
      const restarted = createNotificationLimit({ ...rest, perHour: 10 });
      t.truthy((await restarted.take(whose)).refusal);
      t.falsy((await restarted.take({ ...whose, userId: ben.id })).refusal);
      t.falsy((await restarted.take({ ...whose, subject: UNKNOWN })).refusal);
      rest.clock.advance(HOUR_MS / 2);
      t.is((await post('notification', undefined, message)).status, 200);
    },
  ],
  [
    'conversations are returned newest first, with the start of their transcripts or as requested',
    async (t, rest) => {
      const { get, path, secret } = await asApp(rest);
      const { storage, user, clock } = rest;
      const ids: Record<string, string> = {};
      for (const title of ['first', 'second', 'third']) {
        const said = Array.from({ length: 4 }, (_, index) => `${title} ${index}`);
        ids[title] = (await completedConversation(rest, user.id, said, { title })).id;
        clock.advance(DAY_MS);
      }
      await storage.conversations.update(user.id, ids.second ?? '', { discarded: true });
      const open = { source: 'omi', deviceId: null, language: 'en', timeoutMs: 120_000 };
      const ongoing = await rest.conversations.open({ userId: user.id, ...open });
      const locked = await completedConversation(rest, user.id, ['x'], { title: 'locked', source: 'phone' });
      await storage.conversations.update(user.id, locked.id, { locked: true });

      const all = await get('conversations');
      t.deepEqual(titles(all), ['third', 'first']);
      const segmentsOf = (list: Json, place: number) =>
        (list.conversations as { transcript_segments: { text: string }[] }[])[place]?.transcript_segments.map(
          ({ text }) => text,
        );
      t.deepEqual(segmentsOf(all, 0), ['third 0', 'third 1', 'third 2', 'third 3']);
      t.deepEqual(segmentsOf(await get('conversations', '&max_transcript_segments=2'), 1), [
        'first 0',
        'first 1',
      ]);
      t.deepEqual(segmentsOf(await get('conversations', '&max_transcript_segments=0'), 1), []);
      t.is(segmentsOf(await get('conversations', '&max_transcript_segments=-1'), 0)?.length, 4);
      t.deepEqual(titles(await get('conversations', '&include_discarded=true')), [
        'third',
        'second',
        'first',
      ]);
      t.deepEqual(titles(await get('conversations', '&limit=1&offset=1')), ['first']);
      t.deepEqual(titles(await get('conversations', '&start_date=2026-11-03')), ['third']);
      t.deepEqual(titles(await get('conversations', '&end_date=2026-11-02')), ['first']);
      const both = '&statuses=completed&statuses=in_progress';
      t.deepEqual(
        (await get('conversations', both)).conversations.map((each: Json) => each.id),
        [ongoing.id, ids.third, ids.first],
      );
      t.is((await get('conversations', '&statuses=in_progress,processing')).conversations.length, 1);
      t.is(
        (await rest.send('GET', path('conversations', '&statuses=asleep'), undefined, secret)).status,
        422,
      );
    },
  ],
  [
    'the transcripts of many conversations are all returned, each with its own',
    async (t, rest) => {
      const { get } = await asApp(rest);
      for (let made = 0; made < 60; made += 1) {
        await completedConversation(rest, rest.user.id, [`said ${made}`], { source: `s${made}` });
        rest.clock.advance(1);
      }
      const { conversations } = await get('conversations', '&limit=1000');
      t.deepEqual(
        conversations.map(
          (each: { transcript_segments: { text: string }[] }) => each.transcript_segments[0]?.text,
        ),
        Array.from({ length: 60 }, (_, index) => `said ${59 - index}`),
      );
    },
  ],
  [
    'a search finds words, in pages, within a period, with or without discarded conversations',
    async (t, rest) => {
      const { post } = await asApp(rest);
      const { storage, user, clock } = rest;
      for (let made = 0; made < 5; made += 1) {
        const { id } = await completedConversation(rest, user.id, ['We had tea'], { title: `t${made}` });
        if (made === 4) await rest.conversations.edit(user.id, id, { discarded: true });
        clock.advance(DAY_MS);
      }
      await completedConversation(rest, user.id, ['coffee'], { title: 'other' });
      const search = async (body: object) =>
        (await post('search/conversations', { query: 'tea', ...body })).body;
      const first = await search({ per_page: 3 });
      t.like(first, { total_pages: 2, current_page: 1, per_page: 3 });
      const second = await search({ per_page: 3, page: 2 });
      t.like(second, { total_pages: 2, current_page: 2 });
      t.deepEqual([...titles(first), ...titles(second)].sort(), ['t0', 't1', 't2', 't3']);
      t.is('transcript_segments' in first.conversations[0], false);
      t.like(await search({ page: 3, per_page: 3 }), { conversations: [], total_pages: 2 });
      t.like(await search({}), { per_page: 10, total_pages: 1 });
      t.is((await search({ include_discarded: true })).conversations.length, 5);
      t.deepEqual(titles(await search({ start_date: '2026-11-03', end_date: '2026-11-03' })), ['t1']);
      t.deepEqual(titles(await search({ start_date: '2026-11-05T12:00:00Z' })), ['t3']);
      t.deepEqual(await search({ query: 'nothing' }), {
        ...{ conversations: [], total_pages: 0, current_page: 1, per_page: 10 },
      });
      for (const body of [{ query: ' ' }, { query: 'a', page: 0 }, { query: 'a', per_page: 101 }, {}])
        t.is((await post('search/conversations', body)).status, 422, JSON.stringify(body));
      t.is((await storage.conversations.list(user.id, { limit: 10, offset: 0 })).length, 6);
    },
  ],
  [
    'memories are listed, unless the operator closes them to programs',
    async (t, rest) => {
      const { get, path, secret } = await asApp(rest);
      for (const content of ['one', 'two', 'three']) {
        await rest.send('POST', '/v1/dev/user/memories', { content, category: 'other' });
        rest.clock.advance(1000);
      }
      t.deepEqual(texts((await get('memories')).memories), ['three', 'two', 'one']);
      t.deepEqual(texts((await get('memories', '&limit=1&offset=1')).memories), ['two']);
      const own = (await rest.send('GET', '/v1/dev/user/memories')).body;
      const uid = rest.user.id;
      t.deepEqual(
        (await get('memories')).memories,
        own.map((memory: object) => ({ ...memory, uid, layer: null })),
      );
      await rest.users.setMemoryAccess('anna', false);
      const closed = await rest.send('GET', path('memories'), undefined, secret);
      t.is(closed.status, 403);
      t.is(closed.body.detail.code, 'developer_memory_access_not_ready');
    },
  ],
  [
    'memories are created from a text, whole or in pieces, or one by one with tags',
    async (t, rest) => {
      const { post, get } = await asApp(rest);
      const single = await post('user/memories', { text: ' Likes tea. Has a cat. ' });
      t.deepEqual([single.status, single.body], [200, {}]);
      t.deepEqual(texts((await get('memories')).memories), ['Likes tea. Has a cat.']);
      rest.clock.advance(1000);
      const memories = [{ content: 'Walks', tags: ['sport'] }, { content: 'Reads' }];
      t.deepEqual((await post('user/memories', { memories, text: 'Sings' })).body, {});
      const made = (await get('memories', '&limit=3')).memories;
      t.deepEqual(texts(made).sort(), ['Reads', 'Sings', 'Walks']);
      t.like(
        made.find((memory: Json) => memory.content === 'Walks'),
        { tags: ['sport'], visibility: 'private', manually_added: true },
      );
      const refused: object[] = [{}, { memories: [] }, { text: ' ' }, { text: 'x'.repeat(5001) }];
      for (const body of [...refused, { memories: Array(26).fill({ content: 'x' }) }, { memories: [{}] }])
        t.is((await post('user/memories', body)).status, 422, JSON.stringify(body).slice(0, 80));
      const long = Array.from({ length: 20 }, (_, index) => `${index} ${'tea '.repeat(40)}end.`).join(' ');
      t.is((await post('user/memories', { text: long })).status, 200);
      const pieces = texts((await get('memories', '&limit=1000')).memories).filter(text =>
        text?.includes('end.'),
      );
      t.true(pieces.every(piece => piece?.endsWith('end.') && piece.length <= 500));
      t.is(pieces.join(' ').match(/end\./g)?.length, 20);
    },
  ],
  [
    'tasks can be filtered by every parameter',
    async (t, rest) => {
      const { get } = await asApp(rest);
      const { user, clock, actionItems } = rest;
      const { id } = await completedConversation(rest, user.id);
      const start = clock.now();
      const add = (
        description: string,
        dueAt: number | null,
        completed = false,
        conversation: string | null = null,
      ) => actionItems.create(user.id, [{ description, completed, dueAt }], conversation);
      await add('plain', null);
      clock.advance(DAY_MS);
      await add('due', start + 2 * DAY_MS);
      await add('later', start + 5 * DAY_MS, false, id);
      await add('done', start + 5 * DAY_MS, true);
      const tasks = async (query: string) => texts((await get('tasks', query)).tasks);
      t.deepEqual(await tasks(''), ['due', 'later', 'plain', 'done']);
      t.deepEqual(await tasks('&completed=true'), ['done']);
      t.deepEqual(await tasks('&completed=false&limit=1&offset=1'), ['later']);
      t.deepEqual(await tasks(`&conversation_id=${id}`), ['later']);
      t.deepEqual(await tasks('&conversation_id=nonsense'), []);
      t.deepEqual(await tasks('&start_date=2026-11-03'), ['due', 'later', 'done']);
      t.deepEqual(await tasks('&end_date=2026-11-02'), ['plain']);
      t.deepEqual(await tasks('&due_start_date=2026-11-05'), ['later', 'done']);
      t.deepEqual(await tasks('&due_end_date=2026-11-04'), ['due']);
      t.deepEqual(await tasks('&due_start_date=2026-11-04&due_end_date=2026-11-07&completed=false'), [
        'due',
        'later',
      ]);
      const own = (await rest.send('GET', '/v1/dev/user/action-items')).body;
      t.deepEqual((await get('tasks')).tasks, own);
    },
  ],
  [
    'a conversation is stored, and the response does not wait for its processing',
    async (t, rest) => {
      const { post, get } = await asApp(rest);
      const { status, body } = await post('user/conversations', {
        text: 'The train leaves at seven.',
        text_source: 'other_text',
        started_at: '2026-10-01T10:00:00Z',
        language: 'de',
      });
      t.deepEqual([status, body], [200, {}]); // no pipeline runs here
      const [stored] = (await get('conversations', '&statuses=processing')).conversations;
      t.like(stored, {
        status: 'processing',
        source: 'external_integration',
        language: 'de',
        started_at: '2026-10-01T10:00:00.000Z',
      });
      t.is(stored.transcript_segments[0].text, 'The train leaves at seven.');
      rest.run();
      await rest.processed(1);
      t.is((await get('conversations')).conversations.length, 1);
      t.is((await post('user/conversations', { text: ' ' })).status, 422);
    },
  ],
  [
    'refused requests of an app count for its address, like wrong credentials',
    async (t, rest) => {
      const { app, secret } = await asApp(rest);
      const left = async (credential: string) => {
        const url = `/v2/integrations/${app.id}/tasks?uid=${UNKNOWN}`;
        const { headers } = await rest.send('GET', url, undefined, credential);
        return Number(headers.get('x-ratelimit-remaining'));
      };
      const first = await left(secret);
      t.is(await left('nonsense'), first - 1);
      t.is(await left(secret), first - 2);
    },
  ],
];

const databases = await openDatabases(test);
for (const { name, open } of databases)
  for (const [rule, holds] of RULES)
    test(`On ${name}, ${rule}`, async t => holds(t, await openRest(t, open)));

test('A text is cut at the end of a sentence, otherwise between words, otherwise anywhere', t => {
  t.deepEqual(piecesOf('One two. Three four. Five', 12), ['One two.', 'Three four.', 'Five']);
  t.deepEqual(piecesOf('aaa bbb ccc ddd', 8), ['aaa bbb', 'ccc ddd']);
  t.deepEqual(piecesOf('a'.repeat(25), 10), ['a'.repeat(10), 'a'.repeat(10), 'a'.repeat(5)]);
  t.deepEqual(piecesOf('🙂'.repeat(12), 10), ['🙂'.repeat(10), '🙂🙂']);
  t.deepEqual(piecesOf('お茶。好き。です', 4), ['お茶。', '好き。', 'です']);
  t.deepEqual(piecesOf('Version 3.5 is out! Yes', 20), ['Version 3.5 is out!', 'Yes']);
  t.deepEqual(piecesOf(' short ', 10), ['short']);
});
