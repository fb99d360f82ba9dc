import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { connectAsync } from 'mqtt';
import { pino } from 'pino';
import { parse } from 'yaml';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import type { HomeDisplay, NotificationChannel } from '../../../core/contract/plugin.ts';
import { createHomes } from '../../../core/delivery/homes.ts';
import { newId } from '../../../core/domain/ids.ts';
import { openDomain } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { DeviceDiscovery } from '../../helpers/home-assistant.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { findMosquitto, startBroker } from '../../helpers/mqtt-broker.ts';
import { countingStt, openServer } from '../../helpers/services.ts';
import { join, silence, speech } from '../../helpers/sound.ts';

const MOSQUITTO = await findMosquitto();
const OMI = { id: 'omi_1', name: 'Omi', source: 'omi', driver: 'omi', state: 'streaming', battery: 80 };

/** A server with a broker, and a subscriber to everything published there, like Home Assistant. */
async function setUp(t: ExecutionContext, broker: { url: string }) {
  const [prefix, discoveryPrefix] = [`earshot-${crypto.randomUUID()}`, `found-${crypto.randomUUID()}`];
  const client = await connectAsync(broker.url, { reconnectPeriod: 0 });
  t.teardown(() => client.endAsync(true));
  /** Retained messages by topic. */
  const kept = new Map<string, string>();
  const passing: { topic: string; payload: Record<string, unknown> }[] = [];
  client.on('message', (topic, payload) => {
    const text = payload.toString();
    if (/\/(conversation|button)$/.test(topic)) passing.push({ topic, payload: JSON.parse(text) });
    else if (text === '') kept.delete(topic);
    else if (/\/(device|@)/.test(topic) && !/\/(notify|task|done|listening)$/.test(topic))
      kept.set(topic, text);
  });
  await client.subscribeAsync([`${prefix}/#`, `${discoveryPrefix}/#`], { qos: 1 });
  t.teardown(async () => {
    for (const topic of kept.keys()) await client.publishAsync(topic, '', { retain: true, qos: 1 });
  });
  const settings = {
    ...countingStt(),
    notify: ['mqtt'],
    plugins: { ...countingStt().plugins, mqtt: { url: broker.url, prefix, discoveryPrefix } },
  };
  const server = await openServer(t, settings);
  const { token } = await server.app.commands.token({ user: 'owner' });
  return {
    ...server,
    prefix,
    kept,
    passing,
    discoveries: () => [...kept.keys()].filter(topic => topic.startsWith(`${discoveryPrefix}/device/`)),
    /** The component of a device, by the name of the device. */
    component(device: string, key: string) {
      for (const topic of kept.keys()) {
        if (!topic.startsWith(`${discoveryPrefix}/device/`)) continue;
        const config = DeviceDiscovery.parse(JSON.parse(kept.get(topic) ?? ''));
        if (config.device.name === device) return config.components[key];
      }
      return undefined;
    },
    state(kind: 'account' | 'wearable') {
      const topic = [...kept.keys()].find(each => each.startsWith(prefix) && each.includes(`/${kind}`));
      return topic === undefined ? null : JSON.parse(kept.get(topic) ?? '');
    },
    publish: (topic: string, text: string, how = {}) => client.publishAsync(topic, text, { qos: 1, ...how }),
    async send(method: string, path: string, body?: object) {
      const response = await fetch(new URL(path, server.url), {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      t.true(response.ok, `${method} ${path}: ${response.status}`);
      return response.json();
    },
  };
}

type Home = Awaited<ReturnType<typeof setUp>>;

function addHome({ app }: Home) {
  return app.commands['notify.add']({
    user: 'owner',
    channel: 'mqtt',
    address: { topic: 'phone', entities: true },
  });
}

const report = ({ send }: Home, devices: object[], buttons: object[] = []) =>
  send('PUT', '/v1/bridges/kitchen', { name: 'Kitchen', version: '1', devices, buttons });

for (const [name, url] of [
  ['aedes', null] as const,
  ...(MOSQUITTO ? [['Mosquitto', MOSQUITTO] as const] : []),
])
  test(`Home Assistant shows wearables, tasks and conversations by discovery, at a real broker (${name})`, async t => {
    const broker = url === null ? await startBroker() : { url, close: async () => {} };
    t.teardown(() => broker.close());
    const home = await setUp(t, broker);
    const { send, kept, passing, discoveries, component, state, prefix } = home;
    await report(home, [OMI]);
    t.deepEqual(discoveries(), [], 'nobody has asked for it');
    const { id } = await addHome(home);
    await eventually(() => discoveries().length === 2);

    t.is(component('Earshot owner', 'last_conversation')?.platform, 'sensor');
    t.like(component('Omi', 'battery'), { device_class: 'battery', unit_of_measurement: '%' });
    t.is(kept.get(`${prefix}/@status`), 'online');
    const wearable = await eventually(() => state('wearable'));
    t.like(wearable, { connected: true, talking: false, battery: 80 });

    await report(
      home,
      [{ ...OMI, battery: 79 }],
      [{ id: 'omi_1', button: 'double', at: new Date().toISOString() }],
    );
    await eventually(() => state('wearable').battery === 79);
    const button = component('Omi', 'button');
    t.true(button?.platform === 'event' && button.event_types.includes('double'));
    t.like(await eventually(() => passing.find(({ topic }) => topic.endsWith('/button'))), {
      payload: { event_type: 'double' },
    });

    await send('POST', '/v1/dev/user/action-items', { description: 'Water the plants' });
    await eventually(() => state('account').open_tasks === 1);
    const [task] = state('account').tasks;
    t.is(task.description, 'Water the plants');

    const query = { codec: 'pcm16', sample_rate: 16000, client_device_id: 'omi_1', conversation_timeout: 2 };
    const wearer = await connectListen(home.url, home.key, query);
    wearer.socket.send(samplesToBytes(join(speech('budget'), silence(2))));
    await eventually(() => state('wearable').talking === true);
    wearer.socket.send(samplesToBytes(silence(4)));
    const event = await eventually(() => passing.find(({ topic }) => topic.endsWith('/conversation')));
    t.is(event?.payload.event_type, 'completed');
    await eventually(() => state('account').last_conversation === event?.payload.title);

    const newTask = component('Earshot owner', 'new_task');
    if (newTask?.platform !== 'notify') return t.fail('no way to add a task');
    await home.publish(newTask.command_topic, 'Call the dentist');
    await eventually(() => state('account').open_tasks === 2);
    await home.publish(state('account').done_topic, task.id);
    await eventually(() => state('account').open_tasks === 1);
    t.is(state('account').tasks[0].description, 'Call the dentist');

    const notify = component('Earshot owner', 'notify');
    if (notify?.platform !== 'notify') return t.fail('no way to notify');
    await home.publish(notify.command_topic, 'The washing is done');
    const told = async () => JSON.stringify(await send('GET', '/v1/notifications'));
    t.regex(await eventually(told, all => all.includes('home_message')), /The washing is done/);

    const listening = component('Earshot owner', 'listening');
    if (listening?.platform !== 'switch') return t.fail('no way to pause');
    t.true(state('account').listening);
    await home.publish(listening.command_topic, 'OFF');
    await eventually(() => state('account').listening === false);
    t.like(await send('GET', '/v1/users/listening'), { paused: true, until: null });
    await send('POST', '/v1/users/listening/resume');
    await eventually(() => state('account').listening === true);

    await send('DELETE', '/v1/devices/omi_1');
    await eventually(() => discoveries().length === 1);
    await eventually(() => state('wearable') === null);
    await home.app.commands['notify.remove']({ user: 'owner', id });
    await eventually(() => [...kept.keys()].every(topic => topic === `${prefix}/@status`));
    await home.publish(newTask.command_topic, 'Nobody listens');
    await home.stop();
    t.is(kept.get(`${prefix}/@status`), 'offline');
  });

test('a home shows when a scheduled pause begins, and when it ends', async t => {
  const { actionItems, clock, events, listening, notifications, storage, users } = await openDomain(t);
  const { id: userId } = await users.add('ada');
  await storage.channelAddresses.insert({
    ...{ id: newId(clock.now()), userId, channel: 'home', label: 'home', address: {}, enabled: true },
    ...{ offReason: null, failingSince: null, createdAt: clock.now() },
  });
  const shown: boolean[] = [];
  const display: HomeDisplay = {
    wants: () => true,
    begin: async () => {},
    show: async (_, { isListening }) => void shown.push(isListening),
    tell: async () => {},
  };
  const channel = {
    address: zod => zod.object({}),
    send: async () => {},
    home: display,
  } satisfies NotificationChannel;
  const homes = createHomes({
    ...{ storage, notifications, actionItems, listening, events, clock },
    outlets: () => [{ name: 'home', title: 'Home', channel }],
    log: pino({ level: 'silent' }),
  });
  t.teardown(homes.stop);
  const showsAfter = async (ms: number) => {
    await clock.advance(ms);
    await homes.refresh();
    await clock.asleep(250); // until the round has been shown
    await clock.advance(250);
    return shown.splice(0);
  };
  await listening.schedule(userId, [{ days: ['mon'], from: 12 * 60 + 10, to: 12 * 60 + 20 }]); // it is noon
  homes.start();
  t.deepEqual(await showsAfter(0), [true]);
  t.deepEqual(await showsAfter(60_000), []);
  t.deepEqual(await showsAfter(9 * 60_000), [false]);
  t.deepEqual(await showsAfter(10 * 60_000), [true]);
});

test('blueprints take exactly the inputs that they describe', async t => {
  const dir = path.join(import.meta.dirname, '../../../docs/blueprints');
  for (const file of await readdir(dir)) {
    const used = new Set<string>();
    const input = { tag: '!input', resolve: (name: string) => used.add(name) && name };
    const { blueprint, triggers, actions } = parse(await readFile(path.join(dir, file), 'utf8'), {
      customTags: [input],
    });
    t.is(blueprint.domain, 'automation', file);
    t.deepEqual([...used].toSorted(), Object.keys(blueprint.input).toSorted(), file);
    t.true(triggers.length > 0 && actions.length > 0, file);
  }
});
