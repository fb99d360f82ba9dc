import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { openDatabases } from '../../../helpers/databases.ts';
import { openRest } from '../../../helpers/rest.ts';

const APPS = '/v1/apps';
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
const URL_ = 'https://tea.example.org/hook?token=abc';
const DAY_MS = 24 * 3600_000;

type Rest = Awaited<ReturnType<typeof openRest>>;

const INTEGRATION = {
  triggers_on: ['memory_created', 'transcript_processed'],
  webhook_url: URL_,
  actions: ['read_memories', { action: 'read_tasks' }],
};
const FULL = {
  name: 'Tea counter',
  description: 'Counts tea',
  external_integration: INTEGRATION,
  proactive_notification: { scopes: ['user_name', 'user_facts'] },
};

/** Another account, and the responses it gets. */
async function asBen({ users, send }: Rest) {
  const ben = await users.add('ben');
  const token = await users.token('ben');
  return {
    ben,
    send: (method: string, path: string, body?: unknown) => send(method, path, body, token),
  };
}

/** A local server of the app's author, and the requests it received. */
async function authorsServer(t: ExecutionContext, answer: (response: ServerResponse) => void) {
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** Behaviour of the app API: one sentence per test. */
const RULES: [string, (t: ExecutionContext, rest: Rest) => Promise<void>][] = [
  [
    'an app is returned as created, with its signing secret only once',
    async (t, { send, clock, storage, user }) => {
      const { status, body } = await send('POST', APPS, { ...FULL, name: '  Tea counter ' });
      t.is(status, 200, JSON.stringify(body));
      const { signing_secret: secret, id, ...app } = body;
      t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      const at = new Date(clock.now()).toISOString();
      t.deepEqual(app, {
        name: 'Tea counter',
        description: 'Counts tea',
        owned: true,
        enabled: false,
        capabilities: ['external_integration', 'proactive_notification'],
        external_integration: {
          triggers_on: ['memory_created', 'transcript_processed'],
          webhook_url: URL_,
          setup_completed_url: null,
          actions: [{ action: 'read_memories' }, { action: 'read_tasks' }],
        },
        proactive_notification: { scopes: ['user_name', 'user_facts'] },
        created_at: at,
        updated_at: at,
      });
      t.deepEqual((await send('GET', `${APPS}/${id}`)).body, { id, ...app });
      t.deepEqual((await send('GET', APPS)).body, [{ id, ...app }]);
      const hooks = await storage.hooks.list(user.id);
      t.deepEqual(hooks.map(hook => hook.type).sort(), ['memory_created', 'transcript_processed']);
      t.true(hooks.every(hook => hook.secret === secret && hook.url === URL_ && hook.appId === id));
    },
  ],
  [
    'a trigger may be one value or a list, and use its alternative names',
    async (t, { send }) => {
      const triggers = async (given: unknown) => {
        const external_integration = { triggers_on: given, webhook_url: URL_ };
        const { body } = await send('POST', APPS, { name: 'x', external_integration });
        return body.external_integration.triggers_on;
      };
      t.deepEqual(await triggers('memory_creation'), ['memory_created']);
      t.deepEqual(await triggers(['realtime_transcript', 'audio_bytes', 'transcript_processed']), [
        'transcript_processed',
        'audio_bytes',
      ]);
    },
  ],
  [
    'an app with only a name requests nothing, and has no webhook and no secret',
    async (t, { send }) => {
      const { body } = await send('POST', APPS, { name: 'Bare' });
      t.like(body, { capabilities: [], external_integration: null, proactive_notification: null });
      t.is(body.signing_secret, null);
      t.deepEqual((await send('GET', '/v1/hooks')).body, []);
    },
  ],
  [
    'invalid values are rejected, each error with its path and kind',
    async (t, { issues }) => {
      const refused: [object, Record<string, string>][] = [
        [{}, { 'body.name': 'missing' }],
        [{ name: ' ' }, { 'body.name': 'string_too_short' }],
        [{ name: 'x'.repeat(101) }, { 'body.name': 'string_too_long' }],
        [{ name: 'x', capabilities: ['chat'] }, { 'body.capabilities.0': 'enum' }],
        [
          { name: 'x', capabilities: [], ...pick('proactive_notification') },
          { 'body.capabilities': 'value_error' },
        ],
        [
          { name: 'x', external_integration: { triggers_on: 'radio', webhook_url: URL_ } },
          { 'body.external_integration.triggers_on': 'enum' },
        ],
        [
          { name: 'x', external_integration: { triggers_on: 'memory_created' } },
          { 'body.external_integration.webhook_url': 'value_error' },
        ],
        [
          { name: 'x', external_integration: { actions: ['rule'] } },
          { 'body.external_integration.actions.0': 'value_error' },
        ],
        [
          { name: 'x', proactive_notification: { scopes: ['user_age'] } },
          { 'body.proactive_notification.scopes.0': 'enum' },
        ],
      ];
      for (const [body, expected] of refused)
        t.deepEqual(await issues('POST', APPS, body), expected, JSON.stringify(body));
    },
  ],
  [
    'a forbidden target address is rejected when it is set, with instructions',
    async (t, { send, issues }) => {
      for (const url of [
        ...['https://192.168.1.1/', 'https://localhost/', 'https://[::1]/'],
        ...['ftp://tea.example.org/', 'tea.example.org', 'https://a b.example/', 'https://x.example/\u0000'],
        ...['https://user:pass@tea.example.org/', 'https://169.254.169.254/latest/meta-data'],
      ])
        for (const field of ['webhook_url', 'setup_completed_url'])
          t.deepEqual(
            await issues('POST', APPS, { name: 'x', external_integration: { [field]: url } }),
            { [`body.external_integration.${field}`]: 'url_forbidden' },
            url,
          );
      const { body } = await send('POST', APPS, {
        name: 'x',
        external_integration: { webhook_url: 'https://10.0.0.1/' },
      });
      t.regex(
        body.detail[0].msg,
        /10\.0\.0\.1 does not have a public address; the operator of this server can allow it .*\(delivery\.allowHosts\)/,
      );
      t.deepEqual((await send('GET', APPS)).body, []);
    },
  ],
  [
    'an account has at most a hundred apps, and an app twenty secrets',
    async (t, { send, apps, user }) => {
      const { app } = await apps.create(user.id, { name: 'one' });
      for (let made = 1; made < 100; made += 1) await apps.create(user.id, { name: 'x' });
      const full = await send('POST', APPS, { name: 'x' });
      t.deepEqual([full.status, full.body.detail], [409, 'At most 100 apps: delete one that is not used']);
      for (let made = 0; made < 20; made += 1) await apps.createKey(user.id, app.id);
      const keys = await send('POST', `${APPS}/${app.id}/keys`);
      t.deepEqual([keys.status, keys.body.detail], [409, 'At most 20 secrets: delete one that is not used']);
    },
  ],
  [
    'a change affects only the named fields, and webhooks follow it with their secret',
    async (t, { send, clock, storage, user }) => {
      const { body: made } = await send('POST', APPS, FULL);
      clock.advance(1000);
      const edit = { external_integration: { triggers_on: ['audio_bytes', 'memory_created'] } };
      const { body } = await send('PATCH', `${APPS}/${made.id}`, edit);
      t.like(body, {
        name: 'Tea counter',
        signing_secret: null,
        created_at: made.created_at,
        updated_at: new Date(clock.now()).toISOString(),
      });
      t.deepEqual(body.external_integration, {
        ...made.external_integration,
        triggers_on: ['audio_bytes', 'memory_created'],
      });
      const hooks = await storage.hooks.list(user.id);
      t.deepEqual(hooks.map(({ type, seconds }) => [type, seconds]).sort(), [
        ['audio_bytes', 5],
        ['memory_created', null],
      ]);
      t.true(hooks.every(({ secret }) => secret === made.signing_secret));
      const without = await send('PATCH', `${APPS}/${made.id}`, { capabilities: [] });
      t.like(without.body, { external_integration: null, proactive_notification: null });
      t.deepEqual(await storage.hooks.list(user.id), []);
    },
  ],
  [
    'a disabled webhook is enabled when the app gets another address, or its owner requests it',
    async (t, { send, storage, user, clock }) => {
      const { body: app } = await send('POST', APPS, FULL);
      const off = { enabled: false, offReason: 'gone', failingSince: clock.now() };
      for (const { id } of await storage.hooks.list(user.id)) await storage.hooks.update(user.id, id, off);
      await send('PATCH', `${APPS}/${app.id}`, { name: 'Another' });
      const [first] = (await send('GET', '/v1/hooks')).body;
      t.like(first, {
        enabled: false,
        off_reason: 'gone',
        failing_since: new Date(clock.now()).toISOString(),
      });
      t.like((await send('POST', `/v1/hooks/${first.id}/enable`)).body, {
        ...{ id: first.id, app_id: app.id, enabled: true, off_reason: null, failing_since: null },
      });
      const url = 'https://tea.example.org/new';
      await send('PATCH', `${APPS}/${app.id}`, { external_integration: { webhook_url: url } });
      const hooks = (await send('GET', '/v1/hooks')).body;
      t.deepEqual(
        hooks.map((hook: Record<string, unknown>) => [hook.enabled, hook.url]),
        [
          [true, url],
          [true, url],
        ],
      );
    },
  ],
  [
    'pending deliveries of a disabled or deleted webhook fail',
    async (t, { send, storage, user, clock }) => {
      const { body: app } = await send('POST', APPS, FULL);
      const hooks = await storage.hooks.list(user.id);
      const delivery = (targetId: string, id: string) => ({
        ...{
          id,
          userId: user.id,
          targetKind: 'hook' as const,
          targetId,
          appId: app.id,
          type: 'memory_created',
        },
        ...{
          subject: 'x',
          state: 'pending' as const,
          query: '',
          contentType: 'application/json',
          body: '{}',
        },
        ...{ attempts: 0, nextAt: clock.now(), createdAt: clock.now(), endedAt: null, replayOf: null },
      });
      await storage.deliveries.insert(hooks.map((hook, index) => delivery(hook.id, `d${index}`)));
      await send('POST', `/v1/hooks/${hooks[0]?.id}/disable`);
      t.is((await storage.deliveries.get(user.id, 'd0'))?.state, 'failed');
      t.is((await storage.deliveries.get(user.id, 'd1'))?.state, 'pending');
      await send('DELETE', `${APPS}/${app.id}`);
      t.is((await storage.deliveries.get(user.id, 'd1'))?.state, 'failed');
    },
  ],
  [
    'a signing secret is replaced for all webhooks of the app, and the old one signs for another day',
    async (t, { send, clock, storage, user }) => {
      const { body: app } = await send('POST', APPS, FULL);
      const { body: another } = await send('POST', APPS, FULL);
      const { status, body } = await send('POST', `${APPS}/${app.id}/signing-secret/rotate`);
      t.is(status, 200);
      t.not(body.signing_secret, app.signing_secret);
      t.is(body.old_until, new Date(clock.now() + DAY_MS).toISOString());
      const hooks = await storage.hooks.list(user.id);
      for (const hook of hooks.filter(({ appId }) => appId === app.id))
        t.like(hook, {
          secret: body.signing_secret,
          oldSecret: app.signing_secret,
          oldSecretUntil: clock.now() + DAY_MS,
        });
      for (const hook of hooks.filter(({ appId }) => appId === another.id))
        t.like(hook, { secret: another.signing_secret, oldSecret: null });
      await send('PATCH', `${APPS}/${app.id}`, {
        external_integration: { triggers_on: ['memory_created', 'day_summary'] },
      });
      const added = (await storage.hooks.list(user.id)).find(({ type }) => type === 'day_summary');
      t.like(added, { secret: body.signing_secret, oldSecret: app.signing_secret });
      const { body: bare } = await send('POST', APPS, { name: 'Bare' });
      t.is((await send('POST', `${APPS}/${bare.id}/signing-secret/rotate`)).status, 409);
      const later = await send('PATCH', `${APPS}/${bare.id}`, { external_integration: INTEGRATION });
      t.regex(later.body.signing_secret, /^whsec_/); // it has a webhook for the first time
    },
  ],
  [
    'a secret is shown once, stored as a hash, listed by its ends, and rejected once it is deleted',
    async (t, { send, storage, apps, user, clock }) => {
      const { body: app } = await send('POST', APPS, FULL);
      const keys = `${APPS}/${app.id}/keys`;
      const { status, body } = await send('POST', keys);
      t.is(status, 200);
      const { secret, ...record } = body;
      t.regex(secret, /^sk_[0-9a-f]{32}$/);
      t.deepEqual(record, {
        id: record.id,
        label: `sk_${secret.slice(3, 7)}...${secret.slice(-4)}`,
        created_at: new Date(clock.now()).toISOString(),
      });
      t.deepEqual((await send('GET', keys)).body, [record]);
      const stored = await storage.apps.keys(user.id, app.id);
      t.is(stored[0]?.hash, createHash('sha256').update(secret).digest('hex'));
      t.false(JSON.stringify(stored).includes(secret.slice(3)));
      clock.advance(1);
      const second = (await send('POST', keys)).body;
      t.deepEqual(
        (await send('GET', keys)).body.map(({ id }: { id: string }) => id),
        [second.id, record.id],
      );
      t.is((await apps.verify(secret))?.id, app.id);
      t.deepEqual((await send('DELETE', `${keys}/${record.id}`)).body, { success: true });
      t.is(await apps.verify(secret), null);
      t.is((await apps.verify(second.secret))?.id, app.id);
      for (const wrong of ['', 'sk_', secret.slice(0, -1), `${second.secret}0`, second.secret.toUpperCase()])
        t.is(await apps.verify(wrong), null);
      t.is((await send('DELETE', `${keys}/${record.id}`)).body.detail, 'Key not found');
    },
  ],
  [
    'apps of others can be seen and installed, without their addresses, but not changed',
    async (t, rest) => {
      const { send } = rest;
      const { body: app } = await send('POST', APPS, FULL);
      const { body: key } = await send('POST', `${APPS}/${app.id}/keys`);
      const ben = await asBen(rest);
      const { body: seen } = await ben.send('GET', `${APPS}/${app.id}`);
      t.like(seen, { owned: false, enabled: false });
      t.like(seen.external_integration, { webhook_url: null, setup_completed_url: null });
      t.deepEqual((await ben.send('GET', APPS)).body, [seen]);
      t.deepEqual((await ben.send('GET', '/v1/hooks')).body, []);
      const changes: [string, string, unknown?][] = [
        ['PATCH', '', { name: 'Mine' }],
        ['DELETE', ''],
        ['GET', '/keys'],
        ['POST', '/keys'],
        ['DELETE', `/keys/${key.id}`],
        ['POST', '/signing-secret/rotate'],
      ];
      for (const [method, path, body] of changes) {
        const foreign = await ben.send(method, `${APPS}/${app.id}${path}`, body);
        const unknown = await ben.send(method, `${APPS}/${UNKNOWN}${path}`, body);
        t.deepEqual([foreign.status, foreign.body], [404, { detail: 'App not found' }], `${method} ${path}`);
        t.deepEqual(foreign.body, unknown.body);
      }
      const [hook] = (await send('GET', '/v1/hooks')).body;
      t.is((await ben.send('POST', `/v1/hooks/${hook.id}/disable`)).body.detail, 'Webhook not found');
      t.is((await send('GET', `${APPS}/${app.id}/keys`)).body.length, 1);
    },
  ],
  [
    'installation shows the requested permissions, and grants all of them, or the named ones',
    async (t, rest) => {
      const { body: app } = await rest.send('POST', APPS, FULL);
      const { send } = await asBen(rest);
      const enable = (body?: unknown) => send('POST', `${APPS}/enable?app_id=${app.id}`, body);
      t.deepEqual((await enable()).body, {
        status: 'ok',
        granted_scopes: ['user_name', 'user_facts'],
        granted_actions: ['read_memories', 'read_tasks'],
      });
      t.like((await send('GET', `${APPS}/${app.id}`)).body, { enabled: true });
      t.deepEqual((await enable({ scopes: ['user_facts'], actions: [] })).body, {
        status: 'ok',
        granted_scopes: ['user_facts'],
        granted_actions: [],
      });
      const beyond = await enable({ scopes: ['user_chat'] });
      t.is(beyond.status, 422);
      t.deepEqual(beyond.body.detail[0], {
        loc: ['body', 'scopes'],
        msg: 'The app does not ask for user_chat. It asks for: user_name, user_facts',
        type: 'value_error',
      });
      const [installed, ...others] = (await send('GET', `${APPS}/enabled`)).body;
      t.deepEqual(others, []);
      t.like(installed, { id: app.id, enabled: true, owned: false });
      t.deepEqual([installed.granted_scopes, installed.granted_actions], [['user_facts'], []]);
      t.deepEqual(installed.proactive_notification, { scopes: ['user_name', 'user_facts'] });
      t.deepEqual((await rest.send('GET', `${APPS}/enabled`)).body, []);
      for (const id of [UNKNOWN, 'nonsense']) {
        const { status, body } = await send('POST', `${APPS}/enable?app_id=${id}`);
        t.deepEqual([status, body], [404, { detail: 'App not found' }]);
      }
      t.is((await send('POST', `${APPS}/enable`)).status, 422);
    },
  ],
  [
    "new permissions of an app need the user's consent; withdrawn ones end at once",
    async (t, { send }) => {
      const { body: app } = await send('POST', APPS, FULL);
      await send('POST', `${APPS}/enable?app_id=${app.id}`);
      await send('PATCH', `${APPS}/${app.id}`, {
        external_integration: { actions: ['read_tasks', 'read_conversations'] },
        proactive_notification: { scopes: ['user_chat', 'user_name'] },
      });
      const [installed] = (await send('GET', `${APPS}/enabled`)).body;
      t.deepEqual([installed.granted_scopes, installed.granted_actions], [['user_name'], ['read_tasks']]);
    },
  ],
  [
    'an app with its own setup is installed once its author’s server reports it as complete',
    async (t, rest) => {
      let answer = '{"is_setup_completed": false}';
      let status = 200;
      const author = await authorsServer(t, response => {
        response.statusCode = status;
        response.end(answer);
      });
      const external_integration = { ...INTEGRATION, setup_completed_url: `${author.url}/done?x=1` };
      const { body: app } = await rest.send('POST', APPS, { ...FULL, external_integration });
      const { send, ben } = await asBen(rest);
      const enable = () => send('POST', `${APPS}/enable?app_id=${app.id}`);
      for (const refusal of [answer, '{"is_setup_completed": "true"}', '[]', 'null', 'yes', '']) {
        answer = refusal;
        const { status, body } = await enable();
        t.is(status, 409, refusal);
        t.regex(body.detail, /setup of the app is not completed/);
      }
      t.deepEqual((await send('GET', `${APPS}/enabled`)).body, []);
      answer = '{"is_setup_completed": true}';
      status = 500;
      t.is((await enable()).status, 409);
      status = 200;
      t.is((await enable()).status, 200);
      t.deepEqual(new Set(author.asked), new Set([`GET /done?x=1&uid=${ben.id}`]));
    },
  ],
  [
    'an app whose setup cannot be checked is not installed, with the reason',
    async (t, { send, storage, user }) => {
      const author = await authorsServer(t, response => response.destroy());
      const external_integration = { ...INTEGRATION, setup_completed_url: author.url };
      const { body: app } = await send('POST', APPS, { name: 'x', external_integration });
      const { status, body } = await send('POST', `${APPS}/enable?app_id=${app.id}`);
      t.is(status, 503);
      t.regex(body.detail, /could not be asked whether it is set up/);
      t.deepEqual(await storage.installations.list(user.id), []);
    },
  ],
  [
    'an uninstalled or deleted app receives nothing about its users any more',
    async (t, { send, storage, user }) => {
      const { body: app } = await send('POST', APPS, FULL);
      const targets = async () => (await storage.hooks.targets(user.id, ['memory_created'])).length;
      t.is(await targets(), 0);
      await send('POST', `${APPS}/enable?app_id=${app.id}`);
      t.is(await targets(), 1);
      t.deepEqual((await send('POST', `${APPS}/disable?app_id=${app.id}`)).body, { status: 'ok' });
      t.is(await targets(), 0);
      t.is((await send('POST', `${APPS}/disable?app_id=${app.id}`)).status, 200); // already the current value
      await send('POST', `${APPS}/enable?app_id=${app.id}`);
      t.deepEqual((await send('DELETE', `${APPS}/${app.id}`)).body, { success: true });
      t.is(await targets(), 0);
      t.deepEqual((await send('GET', `${APPS}/enabled`)).body, []);
      t.is((await send('GET', `${APPS}/${app.id}`)).status, 404);
      t.is((await send('POST', `${APPS}/disable?app_id=${app.id}`)).status, 404);
    },
  ],
  [
    'the deliverer is notified of changed webhooks',
    async (t, { send, told, user }) => {
      const heard = () => told['hooks.changed'].splice(0);
      const { body: app } = await send('POST', APPS, FULL);
      t.deepEqual(heard(), []); // not installed by anybody yet
      await send('POST', `${APPS}/enable?app_id=${app.id}`);
      t.deepEqual(heard(), [{ userId: user.id }]);
      await send('PATCH', `${APPS}/${app.id}`, { external_integration: { triggers_on: [] } });
      t.deepEqual(heard(), [{ userId: null }]);
      await send('POST', `${APPS}/disable?app_id=${app.id}`);
      t.deepEqual(heard(), [{ userId: user.id }]);
      await send('POST', '/v1/users/developer/webhook/memory_created', { url: URL_ });
      t.deepEqual(heard(), [{ userId: user.id }]);
    },
  ],
];

function pick(field: keyof typeof FULL) {
  return { [field]: FULL[field] };
}

const databases = await openDatabases(test);
for (const { name, open } of databases)
  for (const [rule, holds] of RULES)
    test(`On ${name}, ${rule}`, async t => holds(t, await openRest(t, open)));
