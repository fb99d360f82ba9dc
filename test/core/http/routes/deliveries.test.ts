import test, { type ExecutionContext } from 'ava';
import type { Delivery } from '../../../../core/contract/model.ts';
import { createOutbound } from '../../../../core/delivery/outbound.ts';
import { createDelivery } from '../../../../core/delivery/service.ts';
import { newId } from '../../../../core/domain/ids.ts';
import { createMetrics } from '../../../../core/runtime/metrics.ts';
import {
  app,
  attempt,
  delivery,
  hook,
  installation,
} from '../../../../plugins/kit/suites/storage/outbound-rows.ts';
import { openDatabases } from '../../../helpers/databases.ts';
import { startReceiver } from '../../../helpers/receiver.ts';
import { openRest } from '../../../helpers/rest.ts';

const LIST = '/v1/deliveries';
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
/** Headers that differ between requests. */
const COUNTED = ['date', 'x-ratelimit-remaining'];
/** Invalid ids. */
const NONE = ['x', 'null', "a'--", 'ü', 'x'.repeat(3000)];

type Rest = Awaited<ReturnType<typeof openRest>>;

/** Another account. */
async function asBen({ users, send }: Rest) {
  const ben = await users.add('ben');
  const token = await users.token('ben');
  return { ben, token, send: (method: string, path: string) => send(method, path, undefined, token) };
}

/** Creates this many rows, oldest first, a second apart. */
async function sent(
  { storage, clock, user }: Pick<Rest, 'storage' | 'clock' | 'user'>,
  ...changes: Partial<Delivery>[]
): Promise<Delivery[]> {
  const rows = changes.map(change => {
    clock.advance(1000);
    const now = clock.now();
    return delivery(newId(now), change.userId ?? user.id, { createdAt: now, nextAt: now, ...change });
  });
  await storage.deliveries.insert(rows);
  return rows;
}

const over = (state: 'delivered' | 'failed' | 'dropped') => ({ state, nextAt: null, endedAt: 5 });

async function listed({ send }: Pick<Rest, 'send'>, query = ''): Promise<string[]> {
  const { status, body } = await send('GET', `${LIST}${query}`);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.map(({ id }: { id: string }) => id);
}

/** A failed delivery of an existing webhook: it can be sent again. */
async function replayable(rest: Rest, changes: Partial<Delivery> = {}, url?: string) {
  const { appId = null } = changes;
  const target = hook(newId(rest.clock.now()), rest.user.id, {
    appId,
    ...(url === undefined ? {} : { url }),
  });
  await rest.storage.hooks.put(target);
  const [row] = await sent(rest, { targetId: target.id, ...over('failed'), ...changes });
  return { target, row: row as Delivery, replay: replayOf(row) };
}

const replayOf = (row: Delivery | undefined) => `${LIST}/${row?.id}/replay`;

/** Behaviour of the delivery log: one sentence per test. */
const RULES: [string, (t: ExecutionContext, rest: Rest) => Promise<void>][] = [
  [
    'the log is listed newest first, without contents',
    async (t, rest) => {
      t.deepEqual(await listed(rest), []);
      const rows = await sent(rest, { targetId: 'h1' }, over('delivered'), {
        subject: 'c3',
        ...over('failed'),
      });
      const { status, body } = await rest.send('GET', LIST);
      t.is(status, 200);
      const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
      t.deepEqual(
        body,
        rows.reverse().map(row => ({
          id: row.id,
          target_kind: 'hook',
          target_id: 'h1',
          app_id: null,
          type: 'memory_created',
          subject: row.subject,
          state: row.state,
          attempts: 0,
          next_at: iso(row.nextAt),
          created_at: iso(row.createdAt),
          ended_at: iso(row.endedAt),
          replay_of: null,
        })),
      );
    },
  ],
  [
    'a list is filtered by target, by state, or by both',
    async (t, rest) => {
      const [one, two] = [newId(1), newId(2)];
      const channel = { targetKind: 'channel', targetId: two, type: 'action_item_reminder' } as const;
      const rows = await sent(
        rest,
        { targetId: one },
        { targetId: one, ...over('delivered') },
        { ...channel, ...over('delivered') },
        { ...channel, ...over('failed') },
        { targetId: one, ...over('dropped') },
      );
      const at = (...places: number[]) => places.map(place => rows[place]?.id);
      t.deepEqual(await listed(rest, `?target_id=${one}`), at(4, 1, 0));
      t.deepEqual(await listed(rest, `?target_id=${two}`), at(3, 2));
      const states = { pending: at(0), delivered: at(2, 1), failed: at(3), dropped: at(4) };
      for (const [state, ids] of Object.entries(states))
        t.deepEqual(await listed(rest, `?state=${state}`), ids, state);
      t.deepEqual(await listed(rest, `?state=delivered&target_id=${one}`), at(1));
      t.deepEqual(await listed(rest, `?state=failed&target_id=${one}`), []);
      t.deepEqual(await listed(rest, '?state=&target_id='), at(4, 3, 2, 1, 0), 'empty is absent');
      t.deepEqual(await rest.issues('GET', `${LIST}?state=lost`, undefined), { 'query.state': 'enum' });
      for (const none of [UNKNOWN, ...NONE])
        t.deepEqual(await listed(rest, `?target_id=${encodeURIComponent(none)}`), [], none);
    },
  ],
  [
    'pages contain each row once, even if deliveries are added meanwhile',
    async (t, rest) => {
      const rows = await sent(rest, ...Array.from({ length: 7 }, () => over('delivered')));
      const ids = rows.map(({ id }) => id).reverse();
      const pages: string[][] = [];
      for (let before = ''; ; before = pages.at(-1)?.at(-1) ?? '') {
        const page = await listed(rest, `?limit=3&before=${before}`);
        if (page.length === 0) break;
        pages.push(page);
        await sent(rest, {});
      }
      t.deepEqual(pages, [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
      t.deepEqual(await listed(rest, `?state=delivered&limit=2&before=${ids[1]}`), ids.slice(2, 4));
      t.deepEqual(await listed(rest, `?before=${UNKNOWN}`), [], 'nothing was made before it');
      for (const none of NONE)
        t.deepEqual(await listed(rest, `?before=${encodeURIComponent(none)}`), [], none);
    },
  ],
  [
    'a list has 50 rows by default, and from 1 to 1000 on request; other values are clamped',
    async (t, rest) => {
      await sent(rest, ...Array.from({ length: 1001 }, () => ({})));
      const counts = {
        '': 50,
        '?limit=': 50,
        '?limit=7': 7,
        '?limit=0': 1,
        '?limit=-3': 1,
        '?limit=1001': 1000,
      };
      for (const [query, count] of Object.entries(counts))
        t.is((await listed(rest, query)).length, count, query);
      t.is((await listed(rest, '?limit=99999999999999999999')).length, 1000);
      for (const limit of ['x', '1.5', '1e2'])
        t.deepEqual(await rest.issues('GET', `${LIST}?limit=${limit}`, undefined), {
          'query.limit': 'int_parsing',
        });
    },
  ],
  [
    'a single delivery is returned with its content and every attempt, by number',
    async (t, rest) => {
      const [row] = await sent(rest, { body: '{"tea":"ü"}', query: `uid=${rest.user.id}&x=1` });
      const { id } = row as Delivery;
      const tries = [
        attempt(row as Delivery, 1, { status: null, error: 'connect ECONNREFUSED', answer: null }),
        attempt(row as Delivery, 2, { status: 500, error: 'HTTP 500', answer: 'sorry' }),
        attempt(row as Delivery, 3),
      ];
      for (const [at, each] of tries.entries())
        await rest.storage.deliveries.record([
          { attempt: each, state: at === 2 ? 'delivered' : 'pending', nextAt: at === 2 ? null : 9000 },
        ]);
      const { status, body } = await rest.send('GET', `${LIST}/${id}`);
      t.is(status, 200);
      const [inList] = (await rest.send('GET', LIST)).body;
      t.like(inList, { id, state: 'delivered', attempts: 3, next_at: null });
      t.deepEqual(body, {
        ...inList,
        query: `uid=${rest.user.id}&x=1`,
        content_type: 'application/json',
        body: '{"tea":"ü"}',
        tries: tries.map(({ number, at, tookMs, status: answered, error, answer }) => ({
          ...{ number, at: new Date(at).toISOString(), took_ms: tookMs, status: answered, error, answer },
        })),
      });
    },
  ],
  [
    'deliveries of others look like missing ones, byte for byte',
    async (t, rest) => {
      const { row, target } = await replayable(rest);
      const { ben, token, send } = await asBen(rest);
      const headers = { Authorization: `Bearer ${token}` };
      const answer = async (method: string, path: string) => {
        const response = await fetch(rest.url + path, { method, headers });
        const ours = [...response.headers].filter(([name]) => !COUNTED.includes(name));
        return JSON.stringify([response.status, ours, await response.text()]);
      };
      for (const [method, end] of [
        ['GET', ''],
        ['POST', '/replay'],
      ] as const) {
        const unknown = await answer(method, `${LIST}/${UNKNOWN}${end}`);
        t.true(unknown.includes('Delivery not found'), unknown);
        for (const id of [row.id, 'x', encodeURIComponent("a'--")])
          t.is(await answer(method, `${LIST}/${id}${end}`), unknown, `${method} ${id}`);
      }
      t.deepEqual(await listed({ send }), []);
      t.deepEqual(await listed({ send }, `?target_id=${target.id}`), []);
      const [own] = await sent(rest, { userId: ben.id });
      t.deepEqual(await listed({ send }, `?before=${newId(rest.clock.now() + 1)}`), [own?.id]);
      t.deepEqual(await listed(rest), [row.id]);
    },
  ],
  [
    "an app's author sees its webhook's deliveries for all users, without contents",
    async (t, rest) => {
      const { ben, send } = await asBen(rest);
      const of = { appId: newId(1), targetId: newId(2) };
      await rest.storage.apps.insert(app(of.appId, rest.user.id));
      await rest.storage.hooks.put(hook(of.targetId, rest.user.id, { appId: of.appId }));
      const rows = await sent(rest, { ...of, userId: ben.id }, of, {
        ...of,
        userId: ben.id,
        ...over('failed'),
      });
      const ids = rows.map(({ id }) => id).reverse();
      t.deepEqual(await listed(rest, `?target_id=${of.targetId}`), ids);
      t.deepEqual(await listed(rest, `?target_id=${of.targetId}&state=failed`), ids.slice(0, 1));
      t.deepEqual(await listed(rest, `?target_id=${of.targetId}&before=${ids[1]}`), ids.slice(2));
      t.deepEqual(await listed(rest), ids.slice(1, 2), 'the whole log is about oneself');
      t.is((await rest.send('GET', `${LIST}/${ids[0]}`)).status, 404);
      t.is((await rest.send('POST', `${LIST}/${ids[0]}/replay`)).status, 404);
      t.deepEqual(await listed({ send }, `?target_id=${of.targetId}`), [ids[0], ids[2]]);
    },
  ],
  [
    'a replay is a new delivery of the same content that names the original, and arrives',
    async (t, rest) => {
      const receiver = await startReceiver(t);
      const { row, target, replay } = await replayable(
        rest,
        { body: '{"tea":1}', attempts: 8 },
        receiver.url,
      );
      const arrived = deliver(t, rest);
      rest.clock.advance(1000);
      const { status, body } = await rest.send('POST', replay);
      t.is(status, 200);
      const now = new Date(rest.clock.now()).toISOString();
      t.true(body.id > row.id);
      t.like(body, { target_id: target.id, type: row.type, subject: row.subject, replay_of: row.id });
      t.like(body, { state: 'pending', attempts: 0, next_at: now, created_at: now, ended_at: null });
      await arrived;
      t.is(receiver.received.length, 1);
      const [got] = receiver.received;
      t.like(got?.headers, { 'webhook-id': body.id, 'content-type': 'application/json' });
      t.is(String(got?.body), '{"tea":1}');
      t.is(got?.path, `/hook?${row.query}`);
      const whole = (await rest.send('GET', `${LIST}/${body.id}`)).body;
      t.like(whole, { state: 'delivered', attempts: 1, replay_of: row.id, body: '{"tea":1}' });
      t.like(whole.tries, { length: 1, 0: { number: 1, status: 200, answer: 'ok' } });
      t.deepEqual(await listed(rest), [body.id, row.id]);
      t.like((await rest.send('GET', `${LIST}/${row.id}`)).body, { state: 'failed', attempts: 8 });
    },
  ],
  [
    'a delivery without stored content, or without a target, is not replayed, with the reason',
    async (t, rest) => {
      const { storage, user, clock } = rest;
      const refused = async (path: string, why: RegExp) => {
        const { status, body } = await rest.send('POST', path);
        t.is(status, 409);
        t.regex(body.detail, why);
      };
      await refused((await replayable(rest, { body: null })).replay, /was not stored/);
      const [homeless] = await sent(rest, { targetId: newId(3), ...over('failed') });
      await refused(replayOf(homeless), /no longer exists/);
      const appId = newId(clock.now());
      await storage.apps.insert(app(appId, user.id));
      const ofApp = await replayable(rest, { appId });
      await refused(ofApp.replay, /no longer installed/);
      await storage.hooks.update(user.id, ofApp.target.id, { enabled: false });
      await refused(ofApp.replay, /disabled: enable it first/);
      t.is((await listed(rest)).length, 3, 'nothing was made');
      await storage.hooks.update(user.id, ofApp.target.id, { enabled: true });
      await storage.installations.put(installation(user.id, appId));
      t.is((await rest.send('POST', ofApp.replay)).status, 200);
    },
  ],
  [
    'the log is for people: API keys and missing credentials are refused',
    async (t, rest) => {
      const { row, replay } = await replayable(rest);
      const scopes = ['conversations:read', 'memories:read', 'memories:write'] as const;
      const { key } = await rest.keys.create(rest.user.id, { name: 'k', scopes: [...scopes] });
      for (const [method, path] of [
        ['GET', LIST],
        ['GET', `${LIST}/${row.id}`],
        ['POST', replay],
      ] as const) {
        t.is((await rest.send(method, path, undefined, key)).status, 401, path);
        t.is((await rest.send(method, path, undefined, null)).status, 401, path);
      }
      t.deepEqual(await listed(rest), [row.id], 'nothing was sent again');
    },
  ],
];

/** Runs jobs from now on; resolves when an attempt has been stored. */
async function deliver(t: ExecutionContext, rest: Rest): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const metrics = createMetrics({ now: () => 0, plugins: () => [], jobs: async () => [] });
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock: rest.clock });
  const delivery = createDelivery({
    ...rest,
    metrics: { ...metrics, attempted: () => resolve() },
    outbound,
    webhooks: () => [],
    channel: () => t.fail() as never,
    notifyOwner: async () => {},
    answered: async () => {},
  });
  delivery.start();
  t.teardown(async () => {
    await delivery.stop();
    await outbound.close();
  });
  await promise;
}

const databases = await openDatabases(test);
for (const { name, open } of databases)
  for (const [rule, holds] of RULES)
    test(`On ${name}, ${rule}`, async t => holds(t, await openRest(t, open)));
