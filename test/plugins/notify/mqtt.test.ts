import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { channelChecks } from '../../../plugins/kit/suites/notify.ts';
import mqtt from '../../../plugins/notify/mqtt/index.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { findMosquitto, listenTo, startBroker } from '../../helpers/mqtt-broker.ts';
import { MESSAGE, startChannel } from './context.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MOSQUITTO = await findMosquitto();
const BROKERS: [name: string, url: string | undefined][] = [
  ['aedes', undefined],
  ...(MOSQUITTO ? [['Mosquitto', MOSQUITTO] as [string, string]] : []),
];

/** Its topics are its own: another run may use the same broker. */
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
  /** Returns the messages published where users listen. */
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

  test(`Home Assistant is told of a topic once, in time for its first notification (${name})`, async t => {
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

test('topics of two users are two entities, however alike', async t => {
  const { clock, send, discoveries } = await setUp(t);
  for (const topic of ['a/b', 'a_b', 'a']) {
    const sent = send({ topic });
    await clock.asleep(1000);
    clock.advance(1000);
    await sent;
  }
  t.is(new Set((await discoveries()).map(({ payload }) => payload.unique_id)).size, 3);
});

test('a topic that leads out of its place is refused', async t => {
  const { send } = await setUp(t);
  for (const topic of ['', '#', '+', 'a/#', '/a', 'a/', 'a//b', '../a', '$SYS', 'a b', 'a\u0000', 'a\n'])
    await t.throwsAsync(send({ topic }), { name: 'ZodError' }, topic);
});

test('a broker that wants an account gets it; a wrong one stops the channel with the name of the option', async t => {
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

test('a broker that is not up is told of as such at the start', async t => {
  const broker = await startBroker();
  await broker.close();
  await t.throwsAsync(startChannel(t, mqtt, { url: broker.url }), {
    code: 'upstream_error',
    message: /plugins\.mqtt\.url/,
  });
});

test('a broker that goes away is the end of this life of the plugin, and of what it was sending', async t => {
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

test('its own stop is no death', async t => {
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
