import test, { type ExecutionContext } from 'ava';
import { channelChecks } from '../../../plugins/kit/suites/notify.ts';
import webPush from '../../../plugins/notify/web-push/index.ts';
import { startPushService } from '../../helpers/push-service.ts';
import { MESSAGE, memoryState, startChannel } from './context.ts';

async function setUp(t: ExecutionContext, options: Record<string, unknown> = {}) {
  const service = await startPushService();
  t.teardown(() => service.close());
  const started = await startChannel(t, webPush, options);
  const { applicationServerKey = '' } = started.channel.publicInfo?.() ?? {};
  service.state.sender = applicationServerKey; // browsers subscribe to a single sender
  return { service, address: service.subscription, applicationServerKey, ...started };
}

for (const check of channelChecks) {
  test(`web-push ${check.title}, with a browser's keys over a real socket`, async t => {
    const { channel, address, service } = await setUp(t);
    const arrived = async () => service.pushed.map(({ payload }) => Object.values(payload).join('\n'));
    await t.notThrowsAsync(check.run({ channel, address, arrived }));
  });
}

test('the payload is decrypted as the RFCs describe, and contains the whole notification', async t => {
  const { service, address, send } = await setUp(t);
  await send(address, { urgency: 'high' });
  const [pushed] = service.pushed;
  const { at, muteUrl, ...same } = MESSAGE;
  t.deepEqual(pushed?.payload, {
    ...same,
    urgency: 'high',
    created_at: new Date(at).toISOString(),
    mute_url: muteUrl,
  });
  t.is(pushed?.headers['content-encoding'], 'aes128gcm');
  t.is(pushed?.headers.urgency, 'high');
  t.is(pushed?.headers.ttl, '86400');
  t.is(pushed?.headers.topic, MESSAGE.id.replaceAll('-', ''));
});

test("the VAPID token is for this push service, and contains the operator's contact", async t => {
  const { service, address, send } = await setUp(t, { contact: 'https://earshot.example' });
  await send(address);
  t.is(service.pushed[0]?.claims.aud, service.url);
  t.is(service.pushed[0]?.claims.sub, 'https://earshot.example');
  service.state.sender = 'BOther';
  await t.throwsAsync(send(address), { code: 'forbidden', message: /subscribe again/ });
});

test('the longest text is shortened to the limit of push services, and large data is left out', async t => {
  const { service, address, send } = await setUp(t);
  for (const character of ['🚀', 'a', '"', '\u0001']) {
    await send(address, { text: character.repeat(4000), data: { ids: Array(200).fill(MESSAGE.id) } });
    const pushed = service.pushed.at(-1);
    t.true(pushed !== undefined && pushed.bytes <= 4096 && pushed.bytes > 4080, `${pushed?.bytes}`);
    t.deepEqual(pushed?.payload.data, {});
    t.true(String(pushed?.payload.text).endsWith('…'));
    t.true(String(pushed?.payload.text).isWellFormed());
  }
});

test('the keys are created once: nodes that start together, and later ones, share them', async t => {
  const state = memoryState();
  const nodes = await Promise.all([1, 2, 3].map(() => startChannel(t, webPush, {}, { state })));
  const later = await startChannel(t, webPush, {}, { state });
  const keys = [...nodes, later].map(({ channel }) => channel.publicInfo?.().applicationServerKey);
  t.is(new Set(keys).size, 1);
  t.regex(keys[0] ?? '', /^B[\w-]{86}$/);
  const { applicationServerKey } = await setUp(t);
  t.not(applicationServerKey, keys[0]);
});

test('the private key is neither returned nor logged', async t => {
  const state = memoryState();
  const { channel, logged } = await startChannel(t, webPush, {}, { state });
  const stored = (await state.get('vapid'))?.value as { privateKey: string };
  t.is(stored.privateKey.length, 43);
  t.false(JSON.stringify([channel.publicInfo?.(), logged]).includes(stored.privateKey));
});

const ANSWERS: [status: number, code: string, retryAfter?: string][] = [
  [400, 'forbidden'],
  [401, 'forbidden'],
  [403, 'forbidden'],
  [404, 'gone'],
  [410, 'gone'],
  [413, 'forbidden'],
  [429, 'rate_limited', '30'],
  [502, 'upstream_error'],
];

test('each status of a push service has its own meaning', async t => {
  const { service, address, send } = await setUp(t);
  for (const [status, code, retryAfter] of ANSWERS) {
    service.state.next = response =>
      response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
    const thrown = await t.throwsAsync(send(address), { code }, `${status}`);
    t.is((thrown as { retryAfter?: number }).retryAfter, retryAfter === undefined ? undefined : 30);
    t.false(thrown?.message.includes('JzLQ3raZ'), 'its endpoint is a secret');
  }
});

test('invalid subscriptions are rejected, and those with keys off the curve when they are used', async t => {
  const { address, send } = await setUp(t);
  for (const wrong of [
    { ...address, endpoint: 'javascript:alert(1)' },
    { ...address, keys: { ...address.keys, auth: 'short' } },
    { ...address, keys: { auth: address.keys.auth } },
    { ...address, keys: { ...address.keys, p256dh: `${address.keys.p256dh}\r\n` } },
  ])
    await t.throwsAsync(send(wrong), { name: 'ZodError' });
  const p256dh = `B${'A'.repeat(86)}`;
  await t.throwsAsync(send({ ...address, keys: { ...address.keys, p256dh } }), { code: 'forbidden' });
});

test('it contacts no host of this network that its operator does not allow', async t => {
  const { service, address } = await setUp(t);
  const { send } = await startChannel(t, webPush, {}, { allowHosts: [] });
  await t.throwsAsync(send(address), { code: 'forbidden', message: /delivery\.allowHosts/ });
  t.is(service.pushed.length, 0);
});
