import test, { type ExecutionContext } from 'ava';
import { openDatabases } from '../../../helpers/databases.ts';
import { startReceiver } from '../../../helpers/receiver.ts';
import { openRest } from '../../../helpers/rest.ts';

const OWN = '/v1/users/developer/webhook';
const ALL = '/v1/users/developer/webhooks';
const URL_ = 'https://hooks.example.org/in?token=abc';
const DAY_MS = 24 * 3600_000;

type Rest = Awaited<ReturnType<typeof openRest>>;

/** Behaviour of a user's own webhooks: one sentence per test. */
const RULES: [string, (t: ExecutionContext, rest: Rest) => Promise<void>][] = [
  [
    "a webhook sends to its user's URL, until the user removes it",
    async (t, { send, storage, user }) => {
      t.deepEqual((await send('GET', `${OWN}/memory_created`)).body, { url: '' });
      for (const nowhere of ['', ',', ' ']) {
        const set = await send('POST', `${OWN}/memory_created`, { url: ` ${URL_} ` });
        t.deepEqual([set.status, set.body], [200, { status: 'ok' }]);
        t.deepEqual((await send('GET', `${OWN}/memory_created`)).body, { url: URL_ });
        t.is((await storage.hooks.targets(user.id, ['memory_created']))[0]?.url, URL_);
        t.deepEqual((await send('POST', `${OWN}/memory_created`, { url: nowhere })).body, { status: 'ok' });
        t.deepEqual((await send('GET', `${OWN}/memory_created`)).body, { url: '' });
        t.deepEqual(await storage.hooks.targets(user.id, ['memory_created']), []);
        t.deepEqual((await send('GET', '/v1/hooks')).body, []);
      }
    },
  ],
  [
    'a type is known by each of its names, and there is one webhook per type',
    async (t, { send, storage, user }) => {
      await send('POST', `${OWN}/realtime_transcript`, { url: URL_ });
      t.deepEqual((await send('GET', `${OWN}/transcript_processed`)).body, { url: URL_ });
      await send('POST', `${OWN}/transcript_processed`, { url: `${URL_}2` });
      await send('POST', `${OWN}/memory_creation`, { url: URL_ });
      const hooks = await storage.hooks.list(user.id);
      t.deepEqual(hooks.map(({ type, url }) => [type, url]).sort(), [
        ['memory_created', URL_],
        ['transcript_processed', `${URL_}2`],
      ]);
      const status = (await send('GET', `${ALL}/status`)).body;
      t.deepEqual(status, {
        transcript_processed: true,
        realtime_transcript: true,
        memory_created: true,
        memory_creation: true,
        audio_bytes: false,
        day_summary: false,
        device_event: false,
      });
      for (const type of ['radio', 'memory%20created', '__proto__'])
        for (const [method, path] of [
          ['GET', ''],
          ['POST', ''],
          ['POST', '/enable'],
          ['POST', '/disable'],
        ] as const) {
          const body = method === 'POST' && path === '' ? { url: URL_ } : undefined;
          const answer = await send(method, `${OWN}/${type}${path}`, body);
          t.is(answer.status, 404, `${method} ${type}${path}`);
          t.regex(
            answer.body.detail,
            /^".*" is not a type of webhook\. There are: transcript_processed, audio_bytes, /,
          );
        }
    },
  ],
  [
    'audio is sent at the interval given after the URL, by default five seconds',
    async (t, { send, issues, storage, user }) => {
      const seconds = async () => (await storage.hooks.targets(user.id, ['audio_bytes']))[0]?.seconds;
      const addresses: [given: string, url: string, seconds: number][] = [
        [URL_, URL_, 5],
        [`${URL_},`, URL_, 5],
        [`${URL_}, 12`, URL_, 12],
        [`${URL_},1`, URL_, 1],
        [`${URL_}&a=1,2,60`, `${URL_}&a=1,2`, 60],
      ];
      for (const [given, url, expected] of addresses) {
        await send('POST', `${OWN}/audio_bytes`, { url: given });
        t.deepEqual((await send('GET', `${OWN}/audio_bytes`)).body, { url: `${url},${expected}` });
        t.is(await seconds(), expected);
      }
      for (const wrong of ['0', '61', '999999999999999999999'])
        t.deepEqual(await issues('POST', `${OWN}/audio_bytes`, { url: `${URL_},${wrong}` }), {
          'body.url': 'value_error',
        });
      t.is(await seconds(), 60);
      await send('POST', `${OWN}/memory_created`, { url: `${URL_},7` }); // a comma belongs to the URL
      t.deepEqual((await send('GET', `${OWN}/memory_created`)).body, { url: `${URL_},7` });
      await send('POST', `${OWN}/audio_bytes`, { url: ',5' });
      t.deepEqual((await send('GET', `${OWN}/audio_bytes`)).body, { url: '' });
    },
  ],
  [
    'a disabled webhook keeps its URL, and can be enabled, also after the server disabled it',
    async (t, { send, storage, user, clock }) => {
      t.is((await send('POST', `${OWN}/memory_created/enable`)).status, 409);
      t.is((await send('POST', `${OWN}/memory_created/disable`)).status, 200); // already the current value
      await send('POST', `${OWN}/memory_created`, { url: URL_ });
      const enabled = async () => (await send('GET', `${ALL}/status`)).body.memory_created;
      t.true(await enabled());
      t.deepEqual((await send('POST', `${OWN}/memory_creation/disable`)).body, { status: 'ok' });
      t.false(await enabled());
      t.deepEqual((await send('GET', `${OWN}/memory_created`)).body, { url: URL_ });
      t.deepEqual((await send('POST', `${OWN}/memory_created/enable`)).body, { status: 'ok' });
      t.true(await enabled());
      const [hook] = await storage.hooks.list(user.id);
      const off = { enabled: false, offReason: 'no success for 72 hours', failingSince: clock.now() };
      await storage.hooks.update(user.id, hook?.id ?? '', off);
      const [shown] = (await send('GET', '/v1/hooks')).body;
      t.like(shown, { enabled: false, off_reason: 'no success for 72 hours' });
      await send('POST', `${OWN}/memory_created`, { url: URL_ }); // set again: retried once
      t.like((await send('GET', '/v1/hooks')).body[0], {
        ...{ id: shown.id, enabled: true, off_reason: null, failing_since: null },
      });
    },
  ],
  [
    'the list shows the state of each, and no secret',
    async (t, { send, storage, user, clock }) => {
      await send('POST', `${OWN}/audio_bytes`, { url: `${URL_},9` });
      const [stored] = await storage.hooks.list(user.id);
      const { status, body } = await send('GET', '/v1/hooks');
      const at = new Date(clock.now()).toISOString();
      t.is(status, 200);
      t.deepEqual(body, [
        {
          id: stored?.id,
          type: 'audio_bytes',
          label: '',
          url: URL_,
          seconds: 9,
          app_id: null,
          enabled: true,
          off_reason: null,
          failing_since: null,
          signing_secret_hint: `${stored?.secret.slice(0, 10)}...${stored?.secret.slice(-4)}`,
          created_at: at,
          updated_at: at,
        },
      ]);
      t.false(JSON.stringify(body).includes(stored?.secret ?? ''));
    },
  ],
  [
    'one secret signs all; it is shown when it is replaced, and the old one signs for another day',
    async (t, { send, storage, user, clock }) => {
      t.deepEqual((await send('GET', `${ALL}/secret`)).body, { hint: null, old_until: null });
      t.is((await send('POST', `${ALL}/secret/rotate`)).status, 409);
      await send('POST', `${OWN}/memory_created`, { url: URL_ });
      await send('POST', `${OWN}/day_summary`, { url: URL_ });
      const before = await storage.hooks.list(user.id);
      t.is(new Set(before.map(({ secret }) => secret)).size, 1);
      const { status, body } = await send('POST', `${ALL}/secret/rotate`);
      t.is(status, 200);
      t.regex(body.signing_secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      const until = new Date(clock.now() + DAY_MS).toISOString();
      t.is(body.old_until, until);
      for (const hook of await storage.hooks.list(user.id))
        t.like(hook, { secret: body.signing_secret, oldSecret: before[0]?.secret });
      const hint = `${body.signing_secret.slice(0, 10)}...${body.signing_secret.slice(-4)}`;
      t.deepEqual((await send('GET', `${ALL}/secret`)).body, { hint, old_until: until });
      await send('POST', `${OWN}/memory_created`, { url: '' });
      await send('POST', `${OWN}/day_summary`, { url: '' });
      await send('POST', `${OWN}/memory_created`, { url: URL_ }); // the secret outlives the URL
      t.is((await storage.hooks.targets(user.id, ['memory_created']))[0]?.secret, body.signing_secret);
    },
  ],
  [
    'two simultaneous requests create one webhook of the type',
    async (t, { send, storage, user }) => {
      const urls = Array.from({ length: 6 }, (_, index) => `${URL_}${index}`);
      const answers = await Promise.all(urls.map(url => send('POST', `${OWN}/memory_created`, { url })));
      t.deepEqual(
        answers.map(({ status }) => status),
        urls.map(() => 200),
      );
      t.is((await storage.hooks.list(user.id)).length, 1);
    },
  ],
  [
    'a forbidden target address is rejected, and the existing one stays',
    async (t, { send, issues }) => {
      await send('POST', `${OWN}/memory_created`, { url: URL_ });
      for (const url of [
        'https://10.1.2.3/',
        'https://localhost',
        'javascript:alert(1)',
        'https://a.b/\nc',
        'x',
      ])
        t.deepEqual(
          await issues('POST', `${OWN}/memory_created`, { url }),
          { 'body.url': 'url_forbidden' },
          url,
        );
      t.deepEqual(await issues('POST', `${OWN}/memory_created`, { url: 'x'.repeat(3000) }), {
        'body.url': 'string_too_long',
      });
      t.deepEqual(await issues('POST', `${OWN}/memory_created`, {}), { 'body.url': 'missing' });
      t.deepEqual((await send('GET', `${OWN}/memory_created`)).body, { url: URL_ });
    },
  ],
  [
    'a webhook is added with the secret that signs it, changed, tried and deleted by its id',
    async (t, { send, users }) => {
      const receiver = await startReceiver(t);
      const first = await send('POST', '/v1/hooks', { type: 'memory_creation', url: receiver.url });
      t.like(first, { status: 200, body: { type: 'memory_created', label: '', enabled: true } });
      const { id, signing_secret: secret } = first.body;
      t.regex(secret, /^whsec_/);
      const again = await send('POST', '/v1/hooks', { type: 'memory_created', url: URL_ });
      t.is(again.status, 409);
      const second = await send('POST', '/v1/hooks', { type: 'memory_created', url: URL_, label: 'notes' });
      t.like(second, { status: 200, body: { label: 'notes', signing_secret: null } });
      t.false(JSON.stringify((await send('GET', '/v1/hooks')).body).includes(secret));

      const tried = await send('POST', `/v1/hooks/${id}/test`);
      t.like(tried, { status: 200, body: { status: 200, error: null } });
      t.is(receiver.received.length, 1);
      t.regex(String(receiver.received[0]?.headers['webhook-signature']), /^v1,/);

      await send('POST', `/v1/hooks/${id}/disable`);
      const changed = await send('PATCH', `/v1/hooks/${id}`, { type: 'audio_bytes', url: `${URL_},9` });
      t.like(changed.body, { id, type: 'audio_bytes', url: URL_, seconds: 9, enabled: false });
      t.like((await send('PATCH', `/v1/hooks/${id}`, { type: 'day_summary' })).body, {
        url: URL_,
        seconds: null,
      });
      t.is((await send('PATCH', `/v1/hooks/${id}`, { type: 'radio' })).status, 404);
      t.is((await send('PATCH', `/v1/hooks/${id}`, { url: 'http://10.0.0.1' })).status, 422);
      await send('POST', `${OWN}/transcript_processed`, { url: URL_ });
      t.is((await send('PATCH', `/v1/hooks/${id}`, { type: 'transcript_processed' })).status, 409);
      await send('POST', `${OWN}/transcript_processed`, { url: '' });
      t.is((await send('PATCH', `/v1/hooks/${id}`, { type: 'transcript_processed' })).status, 200);

      await users.add('ben');
      const ben = await users.token('ben');
      for (const [method, path, body] of [
        ['PATCH', '', { url: URL_ }],
        ['DELETE', '', undefined],
        ['POST', '/test', undefined],
      ] as const)
        t.is((await send(method, `/v1/hooks/${id}${path}`, body, ben)).status, 404);
      t.is((await send('DELETE', `/v1/hooks/${id}`)).status, 204);
      t.is((await send('DELETE', `/v1/hooks/${id}`)).status, 404);
      t.is((await send('GET', '/v1/hooks')).body.length, 1);
    },
  ],
  [
    'another’s webhooks are not there',
    async (t, { send, users }) => {
      await send('POST', `${OWN}/memory_created`, { url: URL_ });
      const [hook] = (await send('GET', '/v1/hooks')).body;
      await users.add('ben');
      const token = await users.token('ben');
      const asBen = (method: string, path: string, body?: unknown) => send(method, path, body, token);
      t.deepEqual((await asBen('GET', `${OWN}/memory_created`)).body, { url: '' });
      t.deepEqual((await asBen('GET', '/v1/hooks')).body, []);
      for (const verb of ['enable', 'disable']) {
        const { status, body } = await asBen('POST', `/v1/hooks/${hook.id}/${verb}`);
        t.deepEqual([status, body], [404, { detail: 'Webhook not found' }]);
      }
      await asBen('POST', `${OWN}/memory_created`, { url: 'https://ben.example.org/' });
      t.deepEqual((await send('GET', `${OWN}/memory_created`)).body, { url: URL_ });
    },
  ],
];

const databases = await openDatabases(test);
for (const { name, open } of databases)
  for (const [rule, holds] of RULES)
    test(`On ${name}, ${rule}`, async t => holds(t, await openRest(t, open)));
