import test, { type ExecutionContext } from 'ava';
import { AppError } from '../../../../core/runtime/errors.ts';
import acme from '../../../fixtures/plugins/acme-channel.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import type { Json } from '../../../helpers/openapi.ts';
import { openRest } from '../../../helpers/rest.ts';
import { openServer } from '../../../helpers/services.ts';

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  const { notify } = acme.setup({
    error: (code, message) => new AppError(code, message),
  } as Parameters<typeof acme.setup>[0]);
  rest.channels.push({ name: acme.name, title: acme.title, channel: notify });
  const tell = async (changes: object = {}) => {
    const telling = { appId: null, event: 'hook_off', rule: 'A webhook fails', title: 'Off', text: 'x' };
    const told = await rest.notifications.tell(rest.user.id, { ...telling, ...changes });
    rest.clock.advance(1); // ids sort by time
    return told;
  };
  return { ...rest, tell };
}

test('The inbox is paged newest first, filtered by read state and app, and gives the reason for each delivery', async t => {
  const { tell, send } = await start(t);
  const told = [await tell(), await tell({ data: { id: 'x' } }), await tell()];
  const ids = told.map(({ id }) => id).reverse();
  const listed = async (query = '') =>
    (await send('GET', `/v1/notifications?${query}`)).body.map(({ id }: { id: string }) => id);
  t.deepEqual(await listed(), ids);
  t.deepEqual(await listed('limit=2'), ids.slice(0, 2));
  t.deepEqual(await listed(`limit=2&before=${ids[1]}`), ids.slice(2));
  t.deepEqual(await listed('app_id=nonsense'), []);
  t.deepEqual((await send('POST', '/v1/notifications/read', { ids: [ids[0]] })).body, { read: 1, unread: 2 });
  t.deepEqual(await listed('unread=true'), ids.slice(1));
  t.deepEqual(await listed('unread=false'), ids.slice(0, 1));
  t.deepEqual((await send('POST', '/v1/notifications/read', { all: true })).body, { read: 2, unread: 0 });
  t.like((await send('GET', '/v1/notifications?limit=2')).body[1], {
    app_id: null,
    app_name: null,
    event: 'hook_off',
    rule: 'A webhook fails',
    data: { id: 'x' },
    silence: 'no_channel',
    held_until: null,
  });
});

test('Settings are returned as stored; omitted fields stay, and null removes a value', async t => {
  const { send, issues } = await start(t);
  const path = '/v1/notifications/settings';
  t.deepEqual((await send('GET', path)).body, {
    ...{
      time_zone: 'UTC',
      quiet_hours: null,
      digest_at: null,
      day_summary_at: '22:00',
      muted: [],
      budgets: {},
    },
  });
  const wanted = {
    ...{ time_zone: 'Europe/Berlin', quiet_hours: { from: '22:00', to: '07:30' } },
    ...{ digest_at: '18:00', day_summary_at: null, muted: ['hook_off'], budgets: { app: 3 } },
  };
  t.deepEqual((await send('PATCH', path, wanted)).body, wanted);
  t.deepEqual((await send('PATCH', path, { digest_at: null })).body, { ...wanted, digest_at: null });
  t.deepEqual(await issues('PATCH', path, { time_zone: 'Mars' }), { 'body.time_zone': 'value_error' });
  t.deepEqual(await issues('PATCH', path, { quiet_hours: { from: '25:00', to: '1:00' } }), {
    'body.quiet_hours.from': 'time_parsing',
  });
  t.deepEqual(await issues('PATCH', path, {}), { body: 'missing' });
  await send('POST', '/v1/notifications/mute', { event: 'day_summary' });
  await send('DELETE', '/v1/notifications/mute', { event: 'hook_off' });
  t.deepEqual((await send('GET', path)).body.muted, ['day_summary']);
});

test('A channel describes its addresses; an invalid address is rejected, field by field', async t => {
  const { send, issues } = await start(t);
  const [channel] = (await send('GET', '/v1/notifications/channels')).body;
  t.like(channel, {
    channel: 'acme-channel',
    title: 'Acme pager',
    address: { type: 'object', required: ['number'] },
    public_info: { country: 'DE' },
  });
  const path = '/v1/notifications/addresses';
  const { body } = await send('POST', path, {
    channel: 'acme-channel',
    address: { number: '1', pin: '4711' },
  });
  t.like(body, { label: 'acme-channel', address: { number: '1' }, secrets: ['pin'], enabled: true });
  t.deepEqual(await issues('POST', path, { channel: 'acme-channel', address: { number: 'x' } }), {
    'body.address.number': 'value_error',
  });
  t.deepEqual(await issues('PATCH', `${path}/${body.id}`, { address: { number: 'x' } }), {
    'body.address.number': 'value_error',
  });
  t.like((await send('PATCH', `${path}/${body.id}`, { enabled: false, label: 'Old' })).body, {
    ...{ enabled: false, label: 'Old', secrets: ['pin'] },
  });
  t.deepEqual((await send('POST', `${path}/${body.id}/test`)).body, { sent: true, error: null });
  t.is((await send('DELETE', `${path}/${body.id}`)).status, 200);
  t.is((await send('DELETE', `${path}/${body.id}`)).status, 404);
});

/** Endpoints that accept an address, each with a valid body. */
const TAKERS: [path: string, bodyWith: (url: string) => object, loc: string][] = [
  ['/v1/users/developer/webhook/memory_created', url => ({ url }), 'url'],
  [
    '/v1/apps',
    url => ({ name: 'Tea', external_integration: { webhook_url: url } }),
    'external_integration.webhook_url',
  ],
  ...[
    ['ntfy', 'topic'],
    ['gotify', 'token'],
    ['apprise', 'key'],
  ].map(([channel, field = '']): (typeof TAKERS)[0] => [
    '/v1/notifications/addresses',
    server => ({ channel, address: { server, [field]: 'a' } }),
    'address.server',
  ]),
  ['/v1/notifications/addresses', url => ({ channel: 'webhook', address: { url } }), 'address.url'],
  [
    '/v1/notifications/addresses',
    endpoint => ({
      channel: 'web-push',
      address: { endpoint, keys: { p256dh: 'a'.repeat(87), auth: 'a'.repeat(22) } },
    }),
    'address.endpoint',
  ],
];

test('A forbidden target address is rejected when it is set, with a way out', async t => {
  const instance = await openServer(t, { stt: [], delivery: { allowHosts: ['nas.local'] } });
  const { token } = await accountOf(instance, 'owner');
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const send = async (method: string, path: string, body: object) => {
    const response = await fetch(instance.url + path, { method, headers, body: JSON.stringify(body) });
    return { status: response.status, json: (await response.json()) as Json };
  };
  for (const [path, bodyWith, loc] of TAKERS) {
    for (const [url, why] of [
      ['http://tea.example/', 'tea.example must be reached over https, not http'],
      ['http://93.184.215.14/', '93.184.215.14 must be reached over https, not http'],
      ['https://192.168.1.10/', '192.168.1.10 does not have a public address'],
    ] as const) {
      const { status, json } = await send('POST', path, bodyWith(url));
      t.is(status, 422, `${path} ${url}`);
      t.deepEqual(json.detail, [
        {
          loc: ['body', ...loc.split('.')],
          msg: `${why}; the operator of this server can allow it in its configuration (delivery.allowHosts)`,
          type: 'url_forbidden',
        },
      ]);
    }
    const { status, json } = await send('POST', path, bodyWith('http://nas.local/'));
    t.is(status, 200, `${path}: one that is allowed`);
    if (!path.endsWith('/addresses')) continue;
    const moved = await send('PATCH', `${path}/${json.id}`, {
      address: { [loc.slice(8)]: 'http://tea.example/' },
    });
    t.is(moved.status, 422);
    t.is((await send('PATCH', `${path}/${json.id}`, { label: 'x' })).status, 200);
  }
});

test('The link of a message shows a page that mutes only by its button, and needs no sign-in', async t => {
  const { url, tell, send, storage, user } = await start(t);
  await send('POST', '/v1/notifications/addresses', { channel: 'acme-channel', address: { number: '1' } });
  await tell({ event: 'hook_<b>' });
  const [row] = await storage.deliveries.list(user.id, { limit: 1 });
  const { body } = (await storage.deliveries.get(user.id, row?.id ?? '')) ?? {};
  const { search, pathname } = new URL(JSON.parse(body ?? '').muteUrl);
  const muted = async () => (await send('GET', '/v1/notifications/settings')).body.muted;

  for (const method of ['GET', 'HEAD', 'GET']) {
    const page = await fetch(url + pathname + search, { method });
    t.is(page.status, 200);
    t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
    t.regex(page.headers.get('content-security-policy') ?? '', /form-action 'self'/);
    const html = await page.text();
    if (method === 'HEAD') continue;
    t.regex(html, /<form method="post" action="\?token=[\w.%-]+"><button>/);
    t.true(html.includes('hook_&lt;b&gt;'));
  }
  t.deepEqual(await muted(), [], 'a mail scanner follows every link');

  const [, action] = /action="([^"]+)"/.exec(await (await fetch(url + pathname + search)).text()) ?? [];
  const pressed = await fetch(new URL(action ?? '', url + pathname + search), {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  });
  t.is(pressed.status, 200);
  t.regex(await pressed.text(), /No more notifications/);
  t.deepEqual(await muted(), ['hook_<b>']);

  for (const method of ['GET', 'POST']) {
    const wrong = await fetch(`${url}${pathname}?token=<script>`, { method });
    t.is(wrong.status, 404);
    t.false((await wrong.text()).includes('<script>'));
  }
  t.is(
    (await fetch(url + pathname, { method: 'POST' })).status,
    401,
    'without a token it is the route of accounts',
  );
});
