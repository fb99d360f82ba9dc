import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openEspHomeClient } from 'esphome-client';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { pair } from '../../../bridge/commands/pair.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import { readPaired } from '../../../bridge/devices/paired.ts';
import { builtInDrivers } from '../../../bridge/driver-host/drivers.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import { startBridge } from '../../../bridge/main.ts';
import type { Advertisement, Radio, ToldFault } from '../../../bridge/radio.ts';
import { createPlainFraming } from '../../../bridge/radios/esphome/framing.ts';
import { FEATURE, type MessageName, messageOf, packetOf } from '../../../bridge/radios/esphome/messages.ts';
import { createEsphomeRadio, type EsphomeLimits } from '../../../bridge/radios/esphome/radio.ts';
import { createSightings } from '../../../bridge/radios/esphome/sightings.ts';
import { joinRadios } from '../../../bridge/radios/joined.ts';
import { openRadio } from '../../../bridge/radios/open.ts';
import type { Sound } from '../../../bridge/simulator/board.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import {
  AUDIO_CODEC,
  AUDIO_DATA,
  AUDIO_SERVICE,
  createPendant,
  type PendantOptions,
} from '../../../bridge/simulator/pendant.ts';
import { PERIPHERALS } from '../../../bridge/simulator/peripherals.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import {
  type ProxyOptions,
  plainFrame,
  type SimulatedProxy,
  startProxy,
} from '../../helpers/esphome-proxy.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startListenServer } from '../../helpers/listen-server.ts';
import { mutator } from '../../helpers/mutations.ts';
import { amount } from '../../helpers/thorough.ts';
import { aacSound, lc3Sound, opusSound, speech } from '../../helpers/wearable-sound.ts';

// All tests here use a simulated proxy on a real socket, and no real board.

const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const never = new AbortController().signal;
const KEY = randomBytes(32).toString('base64');
const ADDRESS = 'c0:ff:ee:00:00:01';

async function proxyWith(t: ExecutionContext, options: ProxyOptions = {}, own: Partial<PendantOptions> = {}) {
  const pendant = createPendant({ codecId: 21, frames: null, clock, ...own });
  t.teardown(pendant.stop);
  const proxy = await startProxy({ devices: [pendant], ...options });
  t.teardown(proxy.stop);
  return { pendant, proxy };
}

function radioOf(
  t: ExecutionContext,
  { port }: Pick<SimulatedProxy, 'port'>,
  { key, limits = {}, told = [] }: { key?: string; limits?: Partial<EsphomeLimits>; told?: ToldFault[] } = {},
): Radio {
  const radio = createEsphomeRadio({
    host: '127.0.0.1',
    port,
    key,
    log,
    clock,
    onFault: fault => told.push(fault),
    limits: { helloMs: 60_000, attMs: 60_000, connectMs: 60_000, retryMs: 20, ...limits },
  });
  t.teardown(radio.close);
  return radio;
}

async function setUp(
  t: ExecutionContext,
  {
    proxy: options = {},
    pendant: own = {},
    limits = {},
  }: { proxy?: ProxyOptions; pendant?: Partial<PendantOptions>; limits?: Partial<EsphomeLimits> } = {},
) {
  const { pendant, proxy } = await proxyWith(t, options, own);
  const told: ToldFault[] = [];
  const radio = radioOf(t, proxy, { limits, told, ...(options.key ? { key: options.key } : {}) });
  const connect = async () => radio.connect((await first(radio)).id, { signal: never });
  return { pendant, proxy, radio, told, connect };
}

async function first(radio: Radio): Promise<Advertisement> {
  const looking = new AbortController();
  for await (const sighting of radio.scan(looking.signal)) return sighting;
  throw new Error('the scan ended');
}

for (const key of [undefined, KEY])
  test(`simulated proxy, ${key ? 'encrypted' : 'plain'}: a device is seen, connected, read, streamed from and disconnected`, async t => {
    const { radio, connect, pendant, proxy } = await setUp(t, { proxy: key ? { key } : {} });
    t.like(await first(radio), { id: ADDRESS, address: ADDRESS, name: 'Omi', rssi: -50 });
    const link = await connect();
    t.is(link.mtu, 498);
    t.deepEqual(await link.properties(AUDIO_SERVICE, AUDIO_CODEC), ['read']);
    t.deepEqual(await link.properties(AUDIO_SERVICE, '2a19'), []);
    t.true((await link.offers()).length >= 7);
    t.deepEqual([...(await link.read(AUDIO_SERVICE, AUDIO_CODEC))], [21]);
    const heard: string[] = [];
    await link.subscribe(AUDIO_SERVICE, AUDIO_DATA, data => heard.push(data.toString('hex')));
    for (let number = 0; number < 200; number += 1) pendant.notifyAudio(Buffer.of(number, 7));
    await eventually(() => heard.length === 200);
    t.deepEqual(
      heard,
      Array.from({ length: 200 }, (_, number) => Buffer.of(number, 7).toString('hex')),
    );
    await t.throwsAsync(link.read(AUDIO_SERVICE, '2a19'), { message: /has no characteristic/ });
    await t.throwsAsync(
      link.subscribe(AUDIO_SERVICE, AUDIO_CODEC, () => {}),
      { message: /does not notify/ },
    );
    await link.disconnect();
    t.is(await link.closed, 'closed by the proxy (22)');
    await t.throwsAsync(link.read(AUDIO_SERVICE, AUDIO_CODEC), { message: /closed by the proxy/ });
    t.deepEqual(proxy.connected, []);
    t.deepEqual(radio.state, { name: 'ready', hint: '' });
  });

async function makeDir(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'esphome-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Starts the whole bridge except its connection to core. */
async function carry(t: ExecutionContext, radio: Radio) {
  const spool = await openSpool({ dir: await makeDir(t), maxBytes: 16 * 1024 * 1024, clock, log });
  const events: BridgeEvent[] = [];
  const devices = startDevices({
    radio,
    drivers: await builtInDrivers(),
    only: [],
    begin: spool.begin,
    clock,
    log,
    onEvent: event => events.push(event),
    limits: { firstRetryMs: 10, maxRetryMs: 50 },
  });
  t.teardown(async () => {
    await devices.stop();
    await spool.close();
  });
  return { devices, events };
}

// ── the protocol, against another implementation ──────────────────────────────────────────────────────────────────

for (const key of [undefined, KEY])
  test(`an independent client understands the simulated proxy, ${key ? 'encrypted' : 'plain'}`, async t => {
    const { proxy, pendant } = await proxyWith(t, key ? { key } : {});
    const client = await openEspHomeClient({
      host: '127.0.0.1',
      port: proxy.port,
      psk: key ?? null,
      reconnect: false,
    });
    t.is(client.isEncrypted, key !== undefined);
    t.true(client.bluetooth.available);
    const address = BigInt(`0x${ADDRESS.replaceAll(':', '')}`);
    for await (const heard of client.bluetooth.advertisements()) {
      t.like(heard, { address, addressType: 1, rssi: -50 });
      t.true(heard.data.includes('Omi'));
      break;
    }
    const advertising = client.bluetooth.advertisements()[Symbol.asyncIterator]();
    await advertising.next(); // only a subscriber may connect
    await client.bluetooth.connect(address, { useCache: false, addressType: 1 });
    const services = await client.bluetooth.getServices(address);
    const battery = services.find(({ shortUuid }) => shortUuid === 0x180f);
    const level = battery?.characteristics[0];
    t.like(level, { shortUuid: 0x2a19, properties: 0x12 });
    t.is(level?.descriptors[0]?.shortUuid, 0x2902);
    t.is((await client.bluetooth.readCharacteristic(address, level?.handle ?? 0)).length, 1);
    const audio = services.find(({ uuid }) => uuid?.[0] === 0x19b10000e8f2537en);
    t.is(audio?.uuid?.[1], 0x4f6cd104768a1214n);
    t.true(pendant.mtu > 23);
    client.disconnect();
  });

// ── audio ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const frames = createFrames(speech, 21);
const COUNT = 200;

for (const key of [undefined, KEY])
  test.serial(
    `simulated proxy, ${key ? 'encrypted' : 'plain'}: audio of a pendant reaches a server, frame by frame`,
    async t => {
      const { proxy } = await proxyWith(t, key ? { key } : {}, { frames, speed: 20 });
      const [dataDir, server] = [await makeDir(t), await startListenServer({ port: 0 })];
      t.teardown(server.kill);
      const bridge = await startBridge({
        config: ConfigSchema.parse({
          dataDir,
          bridge: {
            core: server.url,
            key: 'k',
            radios: ['esphome'],
            esphome: [{ host: '127.0.0.1', port: proxy.port, ...(key ? { key } : {}) }],
          },
        }),
        log,
        clock,
      });
      t.teardown(bridge.stop);
      await server.until(() => ([...server.streams.values()][0]?.messages.length ?? 0) >= COUNT);
      const { messages } = [...server.streams.values()][0] ?? { messages: [] };
      t.deepEqual(
        messages.slice(0, COUNT).map(({ hex }) => hex),
        Array.from({ length: COUNT }, (_, number) => Buffer.from(frames.at(number)).toString('hex')),
      );
    },
  );

const SOUNDS: Record<keyof typeof PERIPHERALS, Sound> = {
  fieldy: opusSound(40),
  friend: lc3Sound(),
  owl: aacSound(),
  bee: aacSound(),
  plaud: opusSound(80),
  limitless: opusSound(80),
};
for (const [name, sound] of Object.entries(SOUNDS) as [keyof typeof PERIPHERALS, Sound][])
  test.serial(
    `simulated proxy: audio of ${name} arrives through its driver, and none of it is lost`,
    async t => {
      const board = PERIPHERALS[name]({ sound, clock, speed: 10 });
      t.teardown(board.stop);
      const proxy = await startProxy({ devices: [board] });
      t.teardown(proxy.stop);
      const { devices } = await carry(t, radioOf(t, proxy));
      await eventually(() => (devices.counts()[0]?.packets ?? 0) >= 50);
      t.like(devices.counts()[0], { lost: 0, connections: 1 });
    },
  );

test.serial('simulated proxy: dropped notifications are counted as lost, and no others', async t => {
  const { proxy, radio, pendant } = await setUp(t, { pendant: { frames, speed: 10 } });
  proxy.faults.loses = number => number <= 300 && number % 10 === 5;
  const { devices } = await carry(t, radio);
  await eventually(() => proxy.notified >= 300);
  pendant.faults.asleep = true;
  const [count] = await eventually(
    () => devices.counts(),
    ([one]) => one?.packets === proxy.notified,
  );
  t.like(count, { frames: proxy.notified, lost: 30, duplicates: 0, malformed: 0 });
});

test.serial('simulated proxy: after a restart of the proxy its wearable streams again', async t => {
  const { proxy, radio } = await setUp(t, { pendant: { frames, speed: 10 } });
  const { devices, events } = await carry(t, radio);
  await eventually(() => (devices.counts()[0]?.frames ?? 0) >= 20);
  proxy.restart();
  await eventually(() => (devices.counts()[0]?.connections ?? 0) >= 2);
  const before = devices.counts()[0]?.frames ?? 0;
  await eventually(() => (devices.counts()[0]?.frames ?? 0) > before + 20);
  const reason = events.find(event => event.event === 'device' && event.state === 'disconnected');
  t.regex(JSON.stringify(reason), /lost the Bluetooth proxy: the connection has ended/);
});

// ── obstacles, explained ────────────────────────────────────────────────────────────────────────────────────────────

const OTHER_KEY = randomBytes(32).toString('base64');
for (const [what, { proxy: options = {}, key }, state, hint] of [
  ['another key', { proxy: { key: KEY }, key: OTHER_KEY }, 'unauthorized', /is not that of the board/],
  [
    'no key, and the board wants one',
    { proxy: { key: KEY } },
    'unauthorized',
    /accepts encrypted connections only/,
  ],
  ['a key, and the board has none', { key: KEY }, 'unauthorized', /accepts no encrypted connections/],
  ['a board without a proxy', { proxy: { features: 0 } }, 'unsupported', /is no Bluetooth proxy/],
  [
    'a proxy that only listens',
    { proxy: { features: FEATURE.rawAdvertisements } },
    'unsupported',
    /only listens/,
  ],
  [
    'an old proxy',
    { proxy: { features: FEATURE.activeConnections } },
    'unsupported',
    /\(2026.10.0\) is too old/,
  ],
] as [string, { proxy?: ProxyOptions; key?: string }, string, RegExp][])
  test(`simulated proxy: ${what} is reported with instructions`, async t => {
    const { proxy } = await proxyWith(t, options);
    const radio = radioOf(t, proxy, key ? { key } : {});
    await eventually(() => radio.state.hint !== '');
    t.is(radio.state.name, state as typeof radio.state.name);
    t.regex(radio.state.hint, hint);
    t.true(radio.state.hint.startsWith(`the Bluetooth proxy 127.0.0.1:${proxy.port} cannot be used: `));
  });

test('an unreachable proxy, or another service at its address, is reported, and the radio connects when the proxy is up', async t => {
  const server = createServer(socket => {
    socket.on('error', () => {}).resume();
    socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const radio = radioOf(t, { port });
  await eventually(() => /begins with an unknown byte/.test(radio.state.hint));
  await new Promise(resolve => server.close(resolve));
  await eventually(() => /cannot be reached: .*ECONNREFUSED/.test(radio.state.hint));
  t.is(radio.state.name, 'off');
  const { pendant } = await proxyWith(t, { port });
  t.like(await first(radio), { address: pendant.address });
  t.deepEqual(radio.state, { name: 'ready', hint: '' });
});

test('simulated proxy: a proxy that is silent, requires a password, or stops responding is reported', async t => {
  const { proxy } = await proxyWith(t);
  proxy.faults.fate = name => (name === 'helloRequest' ? 'ignore' : 'answer');
  const radio = radioOf(t, proxy, { limits: { helloMs: 50, pingMs: 20, silentMs: 200 } });
  await eventually(() => /does not answer as an ESPHome board does/.test(radio.state.hint));
  const refusal = plainFrame(packetOf('authenticationResponse', { isInvalid: true }));
  proxy.faults.fate = name => (name === 'authenticationRequest' ? refusal : 'answer');
  await eventually(() => /requires a password; set api: encryption/.test(radio.state.hint));
  proxy.faults.fate = () => 'answer';
  await eventually(() => radio.state.name === 'ready');
  proxy.faults.isOutOfReach = true;
  await eventually(() => proxy.requests.includes('pingRequest'));
  t.is(radio.state.name, 'ready');
  proxy.faults.fate = name => (name === 'pingRequest' ? 'ignore' : 'answer');
  await eventually(() => /stopped responding/.test(radio.state.hint));
});

test('simulated proxy: a proxy that serves another client is reported, until it reports devices', async t => {
  const { proxy } = await proxyWith(t);
  proxy.faults.fate = name => (name === 'subscribeAdvertisements' ? 'ignore' : 'answer');
  const radio = radioOf(t, proxy, { limits: { deafMs: 20 } });
  await eventually(() =>
    /a board serves one program only: remove it from Home Assistant/.test(radio.state.hint),
  );
  t.is(radio.state.name, 'ready');
  proxy.faults.fate = () => 'answer';
  proxy.restart();
  await eventually(() => radio.state.name === 'ready' && radio.state.hint === '');
  t.like(await first(radio), { address: ADDRESS });
});

test('simulated proxy: the lack of free connections is reported, and one that becomes free is used', async t => {
  const [one, two] = [1, 2].map(number =>
    createPendant({ codecId: 21, frames: null, clock, address: `c0:ff:ee:00:00:0${number}` }),
  );
  const proxy = await startProxy({ devices: [one, two].filter(device => device !== undefined), slots: 1 });
  t.teardown(proxy.stop);
  const radio = radioOf(t, proxy);
  void look(t, radio);
  await eventually(() =>
    radio
      .connect('c0:ff:ee:00:00:02', { signal: never })
      .then(link => link.disconnect())
      .then(
        () => true,
        () => false,
      ),
  );
  const link = await eventually(() => radio.connect(ADDRESS, { signal: never }).catch(() => null));
  await t.throwsAsync(radio.connect('c0:ff:ee:00:00:02', { signal: never }), {
    message: /all 1 connections of the Bluetooth proxy 127\.0\.0\.1 are taken/,
  });
  await link?.disconnect();
  const other = await eventually(() =>
    radio.connect('c0:ff:ee:00:00:02', { signal: never }).catch(() => null),
  );
  t.is(other?.id, 'c0:ff:ee:00:00:02');
});

/** Sightings continue while a connection is pending, as in the bridge. */
async function look(t: ExecutionContext, radio: Radio): Promise<void> {
  const looking = new AbortController();
  t.teardown(() => looking.abort());
  for await (const _ of radio.scan(looking.signal));
}

for (const [code, words] of [
  [
    0x05,
    /has to be paired first \(5\); the radio esphome does not pair: use a Bluetooth adapter of this machine/,
  ],
  [0x0f, /requires an encrypted connection \(15\); the radio esphome does not pair/],
  [0x03, /does not allow writing it \(3\)$/],
  [0x85, /the proxy could not do it \(133\)$/],
  [0x77, /an unknown error \(119\)$/],
] as const)
  test(`simulated proxy: the error ${code} of a device is explained, and the connection continues`, async t => {
    const { proxy, connect } = await setUp(t);
    const link = await connect();
    for (const name of ['readRequest', 'writeDescriptorRequest', 'notifyRequest'] as const)
      proxy.faults.refuse.set(name, code);
    await t.throwsAsync(link.read(AUDIO_SERVICE, AUDIO_CODEC), { message: words });
    await t.throwsAsync(
      link.subscribe(AUDIO_SERVICE, AUDIO_DATA, () => {}),
      { message: words },
    );
    proxy.faults.refuse.clear();
    t.is((await link.read(AUDIO_SERVICE, AUDIO_CODEC))[0], 21);
  });

for (const [code, words] of [
  [0x3e, /the device did not answer \(62\)/],
  [0x85, /the device could not be reached \(133\)/],
] as const)
  test(`simulated proxy: a connection that fails with ${code} is explained`, async t => {
    const { pendant, connect } = await setUp(t);
    pendant.faults.attempt = code;
    await t.throwsAsync(connect(), { message: words });
    pendant.faults.attempt = 'accept';
    t.is((await connect()).id, ADDRESS);
  });

test('simulated proxy: a connection to a silent device times out, and the proxy is told', async t => {
  const { pendant, proxy, connect } = await setUp(t, { limits: { connectMs: 50 } });
  pendant.faults.attempt = 'ignore';
  await t.throwsAsync(connect(), { message: /connecting took more than 50 ms/ });
  t.is(proxy.requests.filter(name => name === 'deviceRequest').length, 2);

  const other = await setUp(t, { limits: { attMs: 300 } });
  const link = await other.connect();
  other.pendant.faults.silent.add(AUDIO_CODEC.replaceAll('-', ''));
  await t.throwsAsync(link.read(AUDIO_SERVICE, AUDIO_CODEC, { optional: true }), {
    message: /took more than/,
  });
  t.deepEqual(other.proxy.connected, [ADDRESS]);
  await t.throwsAsync(link.read(AUDIO_SERVICE, AUDIO_CODEC), { message: /the connection was dropped/ });
  await link.closed;
  await eventually(() => other.proxy.connected.length === 0);
});

test("simulated proxy: a late result of an abandoned attempt is not taken for the next one's", async t => {
  const { pendant, proxy, radio, connect } = await setUp(t);
  pendant.faults.attempt = 'ignore';
  const { id } = await first(radio);
  const giving = new AbortController();
  const attempt = radio.connect(id, { signal: giving.signal });
  await eventually(() => proxy.requests.includes('deviceRequest'));
  pendant.faults.attempt = 'accept';
  giving.abort();
  const [, link] = await Promise.all([t.throwsAsync(attempt, { message: /it was cancelled/ }), connect()]);
  t.is((await link.read(AUDIO_SERVICE, AUDIO_CODEC))[0], 21);
});

// ── every stage ───────────────────────────────────────────────────────────────────────────────────────────────────

const STAGES: MessageName[] = [
  'helloRequest',
  'deviceInfoRequest',
  'subscribeConnectionsFree',
  'subscribeAdvertisements',
  'deviceRequest',
  'getServices',
  'readRequest',
  'notifyRequest',
  'writeDescriptorRequest',
];
for (const fate of ['drop', 'ignore'] as const)
  for (const stage of STAGES)
    test(`simulated proxy: it ${fate === 'drop' ? 'disconnects' : 'stops responding'} at ${stage}, and the wearable streams eventually`, async t => {
      const { proxy, radio } = await setUp(t, {
        pendant: { frames, speed: 10 },
        limits: { helloMs: 300, attMs: 300, connectMs: 300, pingMs: 50, silentMs: 300 },
      });
      let hits = 0;
      proxy.faults.fate = name => {
        if (name !== stage || hits > 0) return 'answer';
        hits += 1;
        if (fate === 'ignore') setTimeout(proxy.restart, 400).unref();
        return fate;
      };
      const { devices } = await carry(t, radio);
      await eventually(() => hits === 1);
      await eventually(() => (devices.counts()[0]?.frames ?? 0) >= 20);
      t.is(devices.counts()[0]?.lost, 0);
    });

test('simulated proxy: the answer to a write without response is not taken for that of a later write', async t => {
  let refusal: number | undefined;
  const uuid = '00000000-0000-0000-0000-00000000ab01';
  const write = () => refusal;
  const { connect, pendant } = await setUp(t, {
    pendant: {
      services: usual => [
        ...usual,
        { uuid: 'ab00', characteristics: [{ uuid, properties: ['write', 'writeWithoutResponse'], write }] },
      ],
    },
  });
  const link = await connect();
  const silently = () => link.write('ab00', uuid, Buffer.of(1), { response: false });
  const asking = () => link.write('ab00', uuid, Buffer.of(2), { response: true });
  await link.read(AUDIO_SERVICE, AUDIO_CODEC);
  pendant.faults.answerMs = 50; // of the board itself, an answer comes at once
  await Promise.all([silently(), silently()]);
  refusal = 0x80;
  const refused = asking();
  await silently();
  await t.throwsAsync(refused, { message: /0x80|128/ });
  refusal = undefined;
  await asking();
  await silently();
  await asking();
});

test('simulated proxy: a device is reported as lost however its link ends', async t => {
  const { pendant, proxy, connect, radio } = await setUp(t);
  const dropped = await connect();
  pendant.dropLink(0x13);
  t.is(await dropped.closed, 'closed by the device (19)');
  const refused = await connect();
  proxy.faults.refuse.set('readRequest', -1);
  await t.throwsAsync(refused.read(AUDIO_SERVICE, AUDIO_CODEC), { message: /the proxy is not connected/ });
  t.is(await refused.closed, 'the proxy is not connected to the device');
  proxy.restart();
  await eventually(() => radio.state.name === 'ready' && proxy.clients === 1);
  const last = await eventually(() => connect().catch(() => null));
  await radio.close();
  t.is(await last?.closed, 'closed by the proxy (22)');
  t.deepEqual(radio.state, { name: 'closed', hint: '' });
});

// ── cached services ─────────────────────────────────────────────────────────────────────────────────────────────────

test('simulated proxy: services and MTU are cached for the next connection, until a request is refused', async t => {
  const { proxy, connect } = await setUp(t);
  const asked = () => proxy.requests.filter(name => name === 'getServices').length;
  await (await connect()).disconnect();
  t.is(asked(), 1);
  const second = await connect();
  t.is(asked(), 1);
  t.is(second.mtu, 498);
  t.is((await second.read(AUDIO_SERVICE, AUDIO_CODEC))[0], 21);
  proxy.faults.refuse.set('readRequest', 1);
  await t.throwsAsync(second.read(AUDIO_SERVICE, AUDIO_CODEC));
  proxy.faults.refuse.clear();
  await second.disconnect();
  await (await connect()).disconnect();
  t.is(asked(), 2);
});

// ── configuration ───────────────────────────────────────────────────────────────────────────────────────────────────

test('simulated proxies: bridge pair finds a wearable behind one of them, and reads its battery', async t => {
  const { proxy } = await proxyWith(t, { key: KEY }, { battery: 64 });
  const empty = await startProxy();
  t.teardown(empty.stop);
  const dir = await makeDir(t);
  const esphome = [
    { host: '127.0.0.1', port: proxy.port, key: KEY },
    { host: '127.0.0.1', port: empty.port },
  ];
  const config = ConfigSchema.parse({ dataDir: dir, bridge: { radios: ['lan', 'esphome'], esphome } });
  const radio = await openRadio({ config, log, clock, nearbyOnly: true });
  t.teardown(radio.close);
  let said = '';
  const answers = ['1', 'Kitchen'];
  const person = {
    say(text: string) {
      said += text;
    },
    ask: async () => answers.shift() ?? null,
  };
  await eventually(() => proxy.requests.includes('subscribeAdvertisements'));
  await pair({ radio, drivers: await builtInDrivers(), dir, accounts: null, person, clock, lookMs: 600 });
  t.regex(said, /1\. {2}Omi {2}\S+ -50 dBm {2}64 % {2}Omi and Friend pendants/);
  t.deepEqual(await readPaired(dir), [{ address: ADDRESS, name: 'Kitchen', owner: null, key: null }]);
});

test('a radio esphome without any proxy is reported with instructions', async t => {
  const config = ConfigSchema.parse({ bridge: { radios: ['esphome'] } });
  await t.throwsAsync(openRadio({ config, log, clock }), {
    message: /bridge\.esphome lists no Bluetooth proxy: set the host of one/,
  });
});

// ── several proxies ───────────────────────────────────────────────────────────────────────────────────────────────

test.serial(
  'two simulated proxies: a wearable is carried by the one with the better signal, and moves between them',
  async t => {
    const pendant = createPendant({ codecId: 21, frames, clock, speed: 10 });
    t.teardown(pendant.stop);
    const [near, far] = [
      await startProxy({ devices: [pendant], rssi: -45 }),
      await startProxy({ devices: [pendant], rssi: -80 }),
    ];
    t.teardown(near.stop);
    t.teardown(far.stop);
    const parts = [near, far].map((proxy, index) => ({
      name: `esphome:${index}`,
      radio: radioOf(t, proxy, { limits: { connectMs: 5000 } }),
    }));
    const radio = joinRadios(parts, { clock });
    t.teardown(radio.close);
    await eventually(() => parts.every(part => part.radio.state.name === 'ready'));
    const { devices } = await carry(t, radio);
    await eventually(() => (devices.counts()[0]?.frames ?? 0) >= 20);
    t.deepEqual([near.connected, far.connected], [[ADDRESS], []]);
    near.faults.isOutOfReach = true;
    far.faults.rssi = -50;
    pendant.dropLink(0x08);
    await eventually(() => far.connected.length === 1);
    const before = devices.counts()[0]?.frames ?? 0;
    await eventually(() => (devices.counts()[0]?.frames ?? 0) > before + 20);
    t.like(devices.counts()[0], { connections: 2, lost: 0 });
  },
);

// ── hostile proxies ───────────────────────────────────────────────────────────────────────────────────────────────

/** All kinds of messages that a proxy sends. */
const MESSAGES = [
  packetOf('helloResponse', { major: 1, minor: 12, server: 'x', name: 'y' }),
  packetOf('deviceInfoResponse', { name: 'p', version: '2026.10.0', bluetoothFeatures: 0xff }),
  packetOf('advertisements', {
    advertisements: [
      { address: ADDRESS, rssi: -50, addressType: 1, data: Buffer.from('0201060409416263', 'hex') },
      { address: 'c0:ff:ee:00:00:02', rssi: -90, addressType: 0, data: Buffer.from('03020f18', 'hex') },
    ],
  }),
  packetOf('deviceConnection', { address: ADDRESS, isConnected: true, mtu: 247 }),
  packetOf('services', {
    address: ADDRESS,
    services: [
      {
        uuid: [1n, 2n],
        shortUuid: 0,
        handle: 1,
        characteristics: [
          {
            uuid: [],
            shortUuid: 0x2a19,
            handle: 3,
            properties: 0x12,
            descriptors: [{ uuid: [], shortUuid: 0x2902, handle: 4 }],
          },
        ],
      },
    ],
  }),
  packetOf('servicesDone', { address: ADDRESS }),
  packetOf('readResponse', { address: ADDRESS, handle: 3, data: Buffer.of(64) }),
  packetOf('notifyData', { address: ADDRESS, handle: 3, data: Buffer.alloc(83, 7) }),
  packetOf('gattError', { address: ADDRESS, handle: 3, error: -1 }),
  packetOf('connectionsFree', { free: 1, limit: 3, allocated: [1n, 2n] }),
];

test('mutated messages of a proxy are understood or rejected, and no memory grows', t => {
  const { next } = mutator(MESSAGES.map(plainFrame), 1);
  const sightings = createSightings({ clock, perSecond: Number.POSITIVE_INFINITY });
  let [understood, refused] = [0, 0];
  for (let count = 0; count < amount(100_000, 1_000_000); count += 1) {
    const framing = createPlainFraming();
    try {
      for (const packet of framing.receive(Buffer.from(next().message))) {
        const message = messageOf(packet);
        if (message?.name === 'advertisements') message.content.advertisements.forEach(sightings.hear);
        understood += 1;
      }
    } catch {
      refused += 1;
    }
  }
  t.true(understood > 1000 && refused > 1000, `${understood} understood, ${refused} refused`);
});

for (const key of [undefined, KEY])
  test(`${key ? 'encrypted' : 'plain'}: mutated frames on the socket end at most one connection`, async t => {
    const told: ToldFault[] = [];
    const { proxy } = await proxyWith(t, key ? { key } : {});
    const radio = radioOf(t, proxy, {
      told,
      ...(key ? { key } : {}),
      limits: { silentMs: 1000, pingMs: 200 },
    });
    const { next } = mutator(MESSAGES.map(plainFrame), 2);
    const answers = () => proxy.requests.filter(name => name === 'pingResponse').length;
    for (let round = 1; round <= 30; round += 1) {
      await eventually(() => radio.state.name === 'ready' && proxy.clients === 1);
      const [answered, accepted] = [answers(), proxy.accepted];
      for (let count = 0; count < 20; count += 1) proxy.send(Buffer.from(next().message));
      proxy.say('pingRequest');
      await eventually(() => answers() > answered || proxy.accepted > accepted);
      t.true(proxy.accepted <= round + 1);
    }
    await eventually(() => radio.state.name === 'ready');
    t.like(await first(radio), { address: ADDRESS });
  });

test('a message with invalid fields is counted and reported, and the connection continues', async t => {
  const { proxy, radio, told } = await setUp(t);
  await first(radio);
  for (let count = 0; count < 5; count += 1)
    proxy.send(plainFrame({ type: 93, body: Buffer.from('0a7f01', 'hex') }));
  await eventually(() => radio.counts.malformed.esphome === 5);
  t.is(told.length, 1);
  t.like(told[0], { kind: 'esphome', from: '127.0.0.1', count: 1 });
  t.is(proxy.clients, 1);
});

test('a proxy that sends too much, or announces a frame that is too large, is disconnected', async t => {
  const { proxy, radio } = await setUp(t, { limits: { messagesPerSecond: 200, retryMs: 60_000 } });
  await first(radio);
  proxy.send(Buffer.concat(Array.from({ length: 500 }, () => plainFrame(packetOf('pingResponse')))));
  await eventually(() => /sends too much data/.test(radio.state.hint));

  const other = await setUp(t, { limits: { retryMs: 60_000 } });
  await first(other.radio);
  other.proxy.send(Buffer.from('00ffff7f0a', 'hex'));
  await eventually(() => /a frame of 2097151 bytes/.test(other.radio.state.hint));
  t.deepEqual([radio.state.name, other.radio.state.name], ['off', 'off']);
});

test('excess advertisements are ignored, and a limited number of devices is remembered', t => {
  let now = 0;
  const limited = createSightings({ clock: { ...clock, now: () => now }, perSecond: 10 });
  const raw = (number: number) => ({
    address: `00:00:00:00:${(number >> 8).toString(16).padStart(2, '0')}:${(number & 255).toString(16).padStart(2, '0')}`,
    rssi: -50,
    addressType: 0,
    data: Buffer.from('0201060409416263', 'hex'),
  });
  t.is(Array.from({ length: 50 }, (_, number) => limited.hear(raw(number))).filter(Boolean).length, 10);
  now = 1000;
  t.like(limited.hear(raw(50)), { name: 'Abc' });
  const all = createSightings({ clock, perSecond: Number.POSITIVE_INFINITY });
  for (let number = 0; number < 5000; number += 1) all.hear(raw(number));
  const known = Array.from({ length: 5000 }, (_, number) => all.addressTypeOf(raw(number).address));
  t.is(known.filter(type => type !== undefined).length, 1024);
});

test('an advertisement and its scan response are combined, and a name cannot contain control characters', t => {
  const sightings = createSightings({ clock, perSecond: 100 });
  const hear = (hex: string) =>
    sightings.hear({ address: ADDRESS, rssi: -60, addressType: 1, data: Buffer.from(hex, 'hex') });
  t.like(hear('02010603030f1805ff5d000456'), { name: '', serviceUuids: ['180f'], rssi: -60 });
  const seen = hear('06094f1b6d690a');
  t.is(seen?.name.includes('\u001b'), false);
  t.deepEqual(seen?.serviceUuids, ['180f']);
  t.is(Buffer.from(seen?.manufacturerData ?? []).toString('hex'), '5d000456');
  t.deepEqual(hear('ff09')?.serviceUuids, ['180f']);
});
