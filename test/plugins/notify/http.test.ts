import test, { type ExecutionContext } from 'ava';
import type { NotificationChannel } from '../../../core/contract/plugin.ts';
import { channelChecks } from '../../../plugins/kit/suites/notify.ts';
import apprise from '../../../plugins/notify/apprise/index.ts';
import gotify from '../../../plugins/notify/gotify/index.ts';
import log from '../../../plugins/notify/log/index.ts';
import ntfy from '../../../plugins/notify/ntfy/index.ts';
import webhook from '../../../plugins/notify/webhook/index.ts';
import {
  type NotifyServer,
  startAppriseServer,
  startGotifyServer,
  startNotifyServer,
  startNtfyServer,
} from '../../helpers/notify-servers.ts';
import { MESSAGE, never, startChannel } from './context.ts';

const TOKEN = 'tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2';

interface Setup {
  channel: NotificationChannel;
  server: NotifyServer;
  address: Record<string, unknown>;
  send: Awaited<ReturnType<typeof startChannel>>['send'];
}

/** Each channel with a server of its kind. */
const SETUPS: Record<string, (t: ExecutionContext) => Promise<Setup>> = {
  async ntfy(t) {
    const server = await startNtfyServer('kitchen', TOKEN);
    return {
      server,
      address: { server: server.url, topic: 'kitchen', token: TOKEN },
      ...(await open(t, ntfy)),
    };
  },
  async gotify(t) {
    const server = await startGotifyServer(TOKEN);
    return { server, address: { server: `${server.url}/`, token: TOKEN }, ...(await open(t, gotify)) };
  },
  async apprise(t) {
    const server = await startAppriseServer('home');
    return {
      server,
      address: { server: server.url, key: 'home', tag: 'phone' },
      ...(await open(t, apprise)),
    };
  },
  async webhook(t) {
    const server = await startNotifyServer(({ body }, _raw, response) => {
      response.writeHead(204).end();
      return Object.values(body).join('\n');
    });
    return {
      server,
      address: { url: `${server.url}/hook?to=me`, token: TOKEN },
      ...(await open(t, webhook)),
    };
  },
};

async function open(t: ExecutionContext, plugin: Parameters<typeof startChannel<never>>[1]) {
  const { channel, send } = await startChannel(t, plugin);
  return { channel, send };
}

async function setUp(t: ExecutionContext, name: string): Promise<Setup> {
  const built = await SETUPS[name]?.(t);
  if (built === undefined) throw new Error(`no ${name}`);
  t.teardown(() => built.server.close());
  return built;
}

for (const name of Object.keys(SETUPS)) {
  for (const check of channelChecks) {
    test(`${name} ${check.title}, at a server that speaks its protocol`, async t => {
      const { channel, address, server } = await setUp(t, name);
      await t.notThrowsAsync(check.run({ channel, address, arrived: async () => [...server.words] }));
    });
  }
}

test('ntfy gets JSON: topic, priority, an unsubscribe action, and the notification id', async t => {
  const { server, address, send } = await setUp(t, 'ntfy');
  await send(address, { urgency: 'high' });
  const [asked] = server.asked;
  t.deepEqual(asked?.body, {
    topic: 'kitchen',
    title: 'Call the dentist',
    message: 'It is due today.\n\nEarshot: because it is due',
    priority: 4,
    markdown: false,
    sequence_id: MESSAGE.id,
    actions: [{ action: 'view', label: 'No more of these', url: MESSAGE.muteUrl }],
  });
  t.is(asked?.headers.authorization, `Bearer ${TOKEN}`);
  await send({ server: server.url, topic: 'open' }, { muteUrl: null });
  t.is(server.asked[1]?.headers.authorization, undefined);
  t.false('actions' in (server.asked[1]?.body ?? {}));
});

test('a long text is cut between characters, and its sender stays', async t => {
  const { server, address, send } = await setUp(t, 'ntfy');
  await send(address, { text: '🚀'.repeat(4000) });
  const message = String(server.asked[0]?.body.message);
  t.true(Buffer.byteLength(message) <= 4096);
  t.true(Buffer.byteLength(message) > 4090);
  t.regex(message, /^(🚀)+…\n\nEarshot: because it is due$/u);
});

test('a title is one line of at most 200 characters, and control characters are removed everywhere', async t => {
  const { server, address, send } = await setUp(t, 'gotify');
  await send(address, {
    title: 'Tea\r\nX-Evil: 1\u0007\u2028now',
    text: 'one\r\ntwo\u0000\u001b[31m\tthree',
  });
  t.is(server.asked[0]?.body.title, 'Tea X-Evil: 1 now');
  t.regex(String(server.asked[0]?.body.message), /^one\ntwo\[31m\tthree\n\n/);
  await send(address, { title: '🚀'.repeat(300) });
  t.is([...String(server.asked[1]?.body.title)].length, 200);
  await send(address, { title: ' \n' });
  t.is(server.asked[2]?.body.title, 'Earshot');
});

test('Gotify gets its token in a header, never in the URL, and shows plain text', async t => {
  const { server, address, send } = await setUp(t, 'gotify');
  await send(address, { urgency: 'low', text: '**bold** <b>x</b>' });
  const [asked] = server.asked;
  t.is(asked?.path, '/message');
  t.is(asked?.headers['x-gotify-key'], TOKEN);
  t.deepEqual(asked?.body, {
    title: 'Call the dentist',
    message: `**bold** <b>x</b>\n\nEarshot: because it is due\nNo more of these: ${MESSAGE.muteUrl}`,
    priority: 2,
    extras: { 'client::display': { contentType: 'text/plain' } },
  });
});

test('Apprise gets plain text with a tag; an unknown key is not success', async t => {
  const { server, address, send } = await setUp(t, 'apprise');
  await send(address, { urgency: 'high', muteUrl: null });
  t.deepEqual(server.asked[0]?.body, {
    title: 'Call the dentist',
    body: 'It is due today.\n\nEarshot: because it is due',
    type: 'warning',
    format: 'text',
    tag: 'phone',
  });
  await t.throwsAsync(send({ ...address, key: 'other' }), { code: 'forbidden', message: /no services/ });
  await t.throwsAsync(send({ ...address, tag: 'other' }), { code: 'upstream_error', message: /none/ });
});

test('a notification that Apprise delivered to some services is not sent to all of them again', async t => {
  const { server, address, send } = await setUp(t, 'apprise');
  server.next = response => {
    const details = [
      ['INFO', '', 'Sent Gotify notification.'],
      ['WARNING', '', 'Failed to send ntfy notification'],
    ];
    response.writeHead(424).end(JSON.stringify({ error: 'One or more …', details }));
  };
  await t.throwsAsync(send(address), { code: 'forbidden', message: /some of its services/ });
});

test('the webhook gets the whole notification as JSON, its id as a header, and keeps its query', async t => {
  const { server, address, send } = await setUp(t, 'webhook');
  await send(address);
  const [asked] = server.asked;
  const { at, muteUrl, ...same } = MESSAGE;
  t.deepEqual(asked?.body, { ...same, created_at: new Date(at).toISOString(), mute_url: muteUrl });
  t.is(asked?.path, '/hook?to=me');
  t.is(asked?.headers.authorization, `Bearer ${TOKEN}`);
  t.is(asked?.headers['webhook-id'], MESSAGE.id);
});

const FAILURES: [status: number, code: string, headers?: Record<string, string>, retryAfter?: number][] = [
  [301, 'forbidden', { location: 'https://example.com/' }],
  [400, 'forbidden'],
  [401, 'forbidden'],
  [403, 'forbidden'],
  [404, 'forbidden'],
  [408, 'upstream_error'],
  [410, 'gone'],
  [413, 'forbidden'],
  [425, 'upstream_error'],
  [429, 'rate_limited'],
  [429, 'rate_limited', { 'retry-after': '120' }, 120],
  [429, 'rate_limited', { 'retry-after': 'Mon, 01 Jan 2024 00:00:00 GMT' }, 0],
  [429, 'rate_limited', { 'retry-after': 'soon' }],
  [500, 'upstream_error'],
  [503, 'upstream_error', { 'retry-after': '5' }, 5],
  [507, 'upstream_error'],
];

for (const name of Object.keys(SETUPS)) {
  test(`${name} explains each error, and never quotes the server`, async t => {
    const { server, address, send } = await setUp(t, name);
    for (const [status, code, headers = {}, retryAfter] of FAILURES) {
      server.next = response => response.writeHead(status, headers).end(`no "${MESSAGE.title}" here`);
      const thrown = await t.throwsAsync(send(address), { code });
      t.is((thrown as { retryAfter?: number }).retryAfter, retryAfter, `${status}`);
      t.true(thrown?.message.includes(`(${status})`));
      t.false(`${thrown?.message}${thrown?.cause}`.includes(MESSAGE.title));
      t.false(`${thrown?.message}${thrown?.cause}`.includes(TOKEN));
    }
    server.next = response => response.destroy();
    await t.throwsAsync(send(address), { code: 'upstream_error' });
    await server.close();
    await t.throwsAsync(send(address), { code: 'upstream_error' });
  });

  test(`${name} rejects with the reason when it is aborted while it waits for the server`, async t => {
    const { server, address, send } = await setUp(t, name);
    const leaving = new AbortController();
    const reason = new Error('nobody wants it any more');
    server.next = () => leaving.abort(reason);
    t.is(await t.throwsAsync(send(address, {}, leaving.signal)), reason);
  });

  test(`${name} contacts no host of this network that its operator does not allow`, async t => {
    const { server, address } = await setUp(t, name);
    const plugins = { ntfy, gotify, apprise, webhook };
    const { send } = await startChannel(t, plugins[name as keyof typeof plugins], {}, { allowHosts: [] });
    await t.throwsAsync(send(address), { code: 'forbidden', message: /delivery\.allowHosts/ });
    t.is(server.asked.length, 0);
  });
}

test('addresses with additional content are rejected', async t => {
  const wrong: [name: string, address: Record<string, unknown>][] = [
    ['ntfy', { topic: 'a/b' }],
    ['ntfy', { topic: '' }],
    ['ntfy', { topic: 'a', server: 'https://user:pass@ntfy.sh' }],
    ['ntfy', { topic: 'a', server: 'https://ntfy.sh/?a=b' }],
    ['ntfy', { topic: 'a', server: 'file:///etc/passwd' }],
    ['ntfy', { topic: 'a', token: 'a\r\nHost: b' }],
    ['gotify', { server: 'https://gotify.example', token: 'a b' }],
    ['gotify', { server: 'https://gotify.example' }],
    ['apprise', { server: 'https://apprise.example', key: '../cfg' }],
    ['apprise', { server: 'https://apprise.example', key: 'a', tag: 'a"b' }],
    ['webhook', { url: 'https://user@example.com/' }],
    ['webhook', { url: 'javascript:alert(1)' }],
    ['webhook', { url: 'https://example.com/', token: 'ü' }],
  ];
  for (const [name, address] of wrong) {
    const { send } = await setUp(t, name);
    await t.throwsAsync(send(address), { name: 'ZodError' }, JSON.stringify([name, address]));
  }
});

test('ntfy uses ntfy.sh unless a server is configured, and supports a path', async t => {
  const { channel, server, address, send } = await setUp(t, 'ntfy');
  const { z } = await import('zod');
  t.is(channel.address(z).parse({ topic: 'a' }).server, 'https://ntfy.sh');
  await t.throwsAsync(send({ ...address, server: `${server.url}/below/it/` }), { code: 'forbidden' });
  t.is(server.asked[0]?.path, '/below/it/');
});

for (const check of channelChecks) {
  test(`log ${check.title}`, async t => {
    const { channel, logged } = await startChannel(t, log);
    const arrived = async () => logged.map(() => '');
    await t.notThrowsAsync(check.run({ channel, address: {}, arrived, wordless: true }));
  });
}

test('the log states that there is a notification, and not its content', async t => {
  const { channel, logged } = await startChannel(t, log);
  await channel.send({}, MESSAGE, never);
  t.is(logged.length, 1);
  t.is(logged[0]?.fields.notification, MESSAGE.id);
  t.false(JSON.stringify(logged).includes('dentist'));
  t.false(JSON.stringify(logged).includes('due'));
});
