import { EventEmitter, once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { connectAsync } from 'mqtt';
import type { HomeState } from '../../../core/contract/plugin.ts';
import { channelChecks } from '../../../plugins/kit/suites/notify.ts';
import mqtt from '../../../plugins/notify/mqtt/index.ts';
import { eventually } from '../../helpers/eventually.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { findMosquitto, listenTo, startBroker } from '../../helpers/mqtt-broker.ts';
import { MESSAGE, memoryState, never, startChannel } from './context.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MOSQUITTO = await findMosquitto();
const BROKERS: [name: string, url: string | undefined][] = [
  ['aedes', undefined],
  ...(MOSQUITTO ? [['Mosquitto', MOSQUITTO] as [string, string]] : []),
];

/** Separate topics per run, as several runs may use the same broker. */
async function setUp(
  t: ExecutionContext,
  { url, ...options }: { url?: string; discoveryPrefix?: string } = {},
) {
  const broker = url === undefined ? await startBroker() : { url, close: async () => undefined };
  t.teardown(() => broker.close());
  const prefix = `earshot-${crypto.randomUUID()}`;
  const discoveryPrefix = `found-${crypto.randomUUID()}`;
  const listener = await listenTo(broker.url, [`${prefix}/#`, `${discoveryPrefix}/#`]);
  t.teardown(() => listener.close());
  const clock = manualClock();
  const settings = { url: broker.url, prefix, discoveryPrefix, ...options };
  const { channel, failed, send, stop } = await startChannel(t, mqtt, settings, { clock });
  /** Returns the messages published to users' topics. */
  const events = async () => {
    await listener.settle();
    return listener.heard.filter(({ topic }) => topic.startsWith(`${prefix}/`));
  };
  const discoveries = async () => {
    await listener.settle();
    return listener.heard.filter(({ topic }) => topic.startsWith(`${discoveryPrefix}/`));
  };
  return {
    broker,
    clock,
    prefix,
    discoveryPrefix,
    listener,
    channel,
    failed,
    send,
    stop,
    events,
    discoveries,
  };
}

for (const [name, url] of BROKERS) {
  for (const check of channelChecks) {
    test(`mqtt ${check.title}, at a real broker (${name})`, async t => {
      const { channel, events } = await setUp(t, { discoveryPrefix: '', ...(url ? { url } : {}) });
      const arrived = async () => (await events()).map(({ payload }) => Object.values(payload).join('\n'));
      await t.notThrowsAsync(check.run({ channel, address: { topic: 'ada/phone' }, arrived }));
    });
  }

  test(`Home Assistant is told of a topic once, before its first notification (${name})`, async t => {
    const { broker, clock, send, events, discoveries, listener, prefix, discoveryPrefix } = await setUp(
      t,
      url ? { url } : {},
    );
    const first = send({ topic: 'kitchen' });
    await clock.asleep(1000);
    const [told] = await discoveries();
    if (told === undefined) return t.fail('it was not told');
    t.teardown(() => listener.forget(told.topic));
    t.deepEqual(await events(), [], 'it has not subscribed yet');
    clock.advance(1000);
    await first;
    await send({ topic: 'kitchen' });
    t.is((await events()).length, 2);
    t.is((await discoveries()).length, 1);

    t.regex(told.topic, new RegExp(`^${discoveryPrefix}/event/earshot_[0-9a-f]{16}/config$`));
    t.like(told.payload, {
      state_topic: `${prefix}/kitchen`,
      event_types: ['notification'],
      name: 'kitchen',
    });
    t.is(told.payload.unique_id, told.topic.split('/')[2]);
    const later = await listenTo(broker.url, [`${discoveryPrefix}/#`, `${prefix}/#`]);
    t.teardown(() => later.close());
    await later.settle();
    t.deepEqual(
      later.heard.map(({ topic, isRetained }) => [topic, isRetained]),
      [[told.topic, true]],
      'it finds the topic after a restart; notifications are not kept',
    );
  });
}

test('a notification is one event with all of its fields', async t => {
  const { send, events, prefix } = await setUp(t, { discoveryPrefix: '' });
  await send({ topic: 'ada' });
  const { at, muteUrl, ...same } = MESSAGE;
  t.deepEqual(await events(), [
    {
      topic: `${prefix}/ada`,
      isRetained: false,
      payload: {
        event_type: 'notification',
        ...same,
        created_at: new Date(at).toISOString(),
        mute_url: muteUrl,
      },
    },
  ]);
});

test('topics of two users are two entities, however similar', async t => {
  const { clock, send, discoveries } = await setUp(t);
  for (const topic of ['a/b', 'a_b', 'a']) {
    const sent = send({ topic });
    await clock.asleep(1000);
    clock.advance(1000);
    await sent;
  }
  t.is(new Set((await discoveries()).map(({ payload }) => payload.unique_id)).size, 3);
});

test('a topic outside its own tree is rejected', async t => {
  const { send } = await setUp(t);
  for (const topic of ['', '#', '+', 'a/#', '/a', 'a/', 'a//b', '../a', '$SYS', 'a b', 'a\u0000', 'a\n'])
    await t.throwsAsync(send({ topic }), { name: 'ZodError' }, topic);
});

test('a broker that requires an account gets it; a wrong one stops the channel with the name of the option', async t => {
  const broker = await startBroker({ isLocked: true });
  t.teardown(() => broker.close());
  const account = { url: broker.url, username: 'user', password: 'password', discoveryPrefix: '' };
  const { send } = await startChannel(t, mqtt, account);
  await t.notThrowsAsync(send({ topic: 'a' }));
  const thrown = await t.throwsAsync(startChannel(t, mqtt, { ...account, password: 'wrong-password' }), {
    code: 'config_error',
    message: /plugins\.mqtt\.password/,
  });
  t.false(`${thrown?.message}${thrown?.cause}`.includes('wrong-password'));
});

test('an unreachable broker is reported as such at the start', async t => {
  const broker = await startBroker();
  await broker.close();
  await t.throwsAsync(startChannel(t, mqtt, { url: broker.url }), {
    code: 'upstream_error',
    message: /plugins\.mqtt\.url/,
  });
});

test('a lost broker stops the plugin and fails its pending notifications', async t => {
  const broker = await startBroker();
  const { failed, send } = await startChannel(t, mqtt, { url: broker.url, discoveryPrefix: '' });
  await send({ topic: 'a' });
  const sending = Promise.allSettled(Array.from({ length: 10 }, () => send({ topic: 'a' })));
  await broker.close();
  t.like(await failed, { code: 'upstream_error' });
  for (const result of await sending)
    if (result.status === 'rejected') t.like(result.reason, { code: 'upstream_error' });
  await t.throwsAsync(send({ topic: 'a' }), { code: 'upstream_error', message: /away/ });
});

test('its own stop is not reported as a failure', async t => {
  const { broker, failed, stop } = await setUp(t);
  t.truthy(broker);
  await stop();
  t.is(await Promise.race([failed, Promise.resolve('nothing')]), 'nothing');
});

test('without its package mqtt names the command that installs it', async t => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'earshot-mqtt-'));
  t.teardown(() => rm(elsewhere, { recursive: true }));
  for (const part of ['plugins/notify', 'plugins/kit', 'core/runtime'])
    await cp(join(ROOT, part), join(elsewhere, part), { recursive: true });
  await writeFile(join(elsewhere, 'package.json'), '{ "type": "module" }');
  const { default: alone } = await import(join(elsewhere, 'plugins/notify/mqtt/index.ts'));
  const { devDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  await t.throwsAsync(startChannel(t, alone, { url: 'mqtt://127.0.0.1:1' }), {
    code: 'config_error',
    message: `mqtt: its package is not installed; install it with: npm install mqtt@${devDependencies.mqtt}`,
  });
});

const STATE: HomeState = {
  account: 'ada',
  devices: [],
  lastConversation: null,
  openTasks: [],
  isListening: true,
};

test('a home that was deleted while the server was down is removed; a remaining one is shown', async t => {
  const state = memoryState();
  const broker = await startBroker();
  t.teardown(() => broker.close());
  const act = async () => {};
  const first = await startChannel(t, mqtt, { url: broker.url }, { state });
  await first.channel.home?.begin(['a', 'b'], act, never);
  await first.channel.home?.show('a', STATE, never);
  await first.channel.home?.show('b', STATE, never);
  await first.stop();
  const second = await startChannel(t, mqtt, { url: broker.url }, { state });
  await second.channel.home?.begin(['b'], act, never);
  const later = await listenTo(broker.url, ['earshot/#', 'homeassistant/#']);
  t.teardown(() => later.close());
  await eventually(() => later.heard.length >= 2); // the broker's retained messages may arrive after later publications
  await later.settle();
  t.deepEqual(later.heard.map(({ topic }) => topic).toSorted(), [
    'earshot/@b/account',
    'homeassistant/device/earshot_b/config',
  ]);
  t.like(later.heard.find(({ topic }) => topic === 'earshot/@b/account')?.payload, {
    last_conversation: null,
  });
});

test('requests of a home are processed once: no retained ones, and none that are too long', async t => {
  const broker = await startBroker();
  t.teardown(() => broker.close());
  const other = await listenTo(broker.url, []);
  t.teardown(() => other.close());
  await other.publish('earshot/@a/task', 'from yesterday', { retain: true });
  const { channel, stop } = await startChannel(t, mqtt, { url: broker.url });
  const asked = new EventEmitter<{ asked: [unknown] }>();
  const all: unknown[] = [];
  asked.on('asked', request => all.push(request));
  await channel.home?.begin(
    ['a'],
    async (home, request) => void asked.emit('asked', { home, ...request }),
    never,
  );
  await other.publish('earshot/@a/task', 'x'.repeat(20_000));
  const last = once(asked, 'asked');
  await other.publish('earshot/@a/listening', 'maybe');
  await other.publish('earshot/@a/task', ' Water the plants \n');
  await last;
  const paused = once(asked, 'asked');
  await other.publish('earshot/@a/listening', 'OFF');
  await paused;
  await channel.home?.begin([], async () => {}, never);
  await other.publish('earshot/@a/task', 'nobody listens');
  await stop();
  t.deepEqual(all, [
    { home: 'a', kind: 'task', text: 'Water the plants' },
    { home: 'a', kind: 'listen', isOn: false },
  ]);
});

test('the end of a second connection does not show the first one as offline', async t => {
  const broker = await startBroker();
  t.teardown(() => broker.close());
  const seen = await connectAsync(broker.url);
  t.teardown(() => seen.endAsync(true));
  const status: string[] = [];
  const changes = new EventEmitter<{ status: [] }>();
  seen.on('message', (_, payload) => {
    status.push(payload.toString());
    changes.emit('status');
  });
  await seen.subscribeAsync('earshot/@status', { qos: 1 });
  await startChannel(t, mqtt, { url: broker.url });
  const { stop } = await startChannel(t, mqtt, { url: broker.url });
  await stop();
  while (status.length < 4) await once(changes, 'status');
  t.deepEqual(status, ['online', 'online', 'offline', 'online']);
});
