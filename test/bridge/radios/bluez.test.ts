import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import omi from '../../../bridge/drivers/omi.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import type { Advertisement, Radio } from '../../../bridge/radio.ts';
import { type BluezLimits, createBluezRadio } from '../../../bridge/radios/bluez/radio.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { recordsOf } from '../../../bridge/simulator/omi-store.ts';
import { AUDIO_CODEC, AUDIO_DATA, AUDIO_SERVICE, createPendant } from '../../../bridge/simulator/pendant.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import {
  type BluezService,
  onTheAir,
  type SimulatedDevice,
  startBluez,
} from '../../helpers/bluez-service.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { HOW_TO_GET_A_BUS, hasMessageBus, startMessageBus } from '../../helpers/message-bus.ts';
import { reportSkipped } from '../../helpers/skips.ts';
import { speech as samples } from '../../helpers/wearable-sound.ts';

// All tests here use a real dbus-daemon with a service that implements the D-Bus API of BlueZ.

const onBus = hasMessageBus() ? test : test.skip;

test('dbus-daemon is installed, or this is not CI and the tests on a message bus are skipped', t => {
  if (hasMessageBus()) return t.pass();
  reportSkipped(t, 'dbus', 'all tests of the radio bluez', HOW_TO_GET_A_BUS);
});

const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const never = new AbortController().signal;
const CONTROL = '19b10003-e8f2-537e-4f6c-d104768a1214';

function pendant(more: Partial<SimulatedDevice> = {}) {
  const written: string[] = [];
  const device: SimulatedDevice = {
    address: 'c0:ff:ee:00:00:01',
    name: 'Omi',
    rssi: -52,
    services: [
      {
        uuid: AUDIO_SERVICE,
        characteristics: [
          { uuid: AUDIO_DATA, properties: ['notify'] },
          { uuid: AUDIO_CODEC, properties: ['read', 'notify'], value: () => Uint8Array.of(21) },
          {
            uuid: CONTROL,
            properties: ['write', 'writeWithoutResponse'],
            write: bytes => (bytes[0] === 0xff ? 0x80 : void written.push(bytes.toString('hex'))),
          },
        ],
      },
    ],
    ...more,
  };
  return { device, written };
}

async function setUp(
  t: ExecutionContext,
  {
    device = {},
    limits = {},
    bluez = {},
  }: {
    device?: Partial<SimulatedDevice>;
    limits?: Partial<BluezLimits>;
    bluez?: Parameters<typeof startBluez>[2];
  } = {},
) {
  const made = pendant(device);
  const bus = await startMessageBus(t);
  const service = await startBluez(bus.address, [made.device], bluez);
  t.teardown(service.stop);
  const radio = createBluezRadio({
    address: bus.address,
    log,
    clock,
    limits: { attMs: 60_000, connectMs: 60_000, callMs: 60_000, retryMs: 20, announceMs: 30, ...limits },
  });
  t.teardown(radio.close);
  const connect = async () => radio.connect((await first(radio)).id, { signal: never });
  return { ...made, bus, service, radio, connect };
}

async function first(radio: Radio): Promise<Advertisement> {
  const looking = new AbortController();
  for await (const sighting of radio.scan(looking.signal)) return sighting;
  throw new Error('the scan ended');
}

const isReady = (radio: Radio) => eventually(() => radio.state.name === 'ready');
const counted = ({ calls }: BluezService, name: string) => calls.filter(call => call === name).length;

onBus('a device is seen, connected, read, streamed from, written to and disconnected', async t => {
  const { radio, connect, device, service, written } = await setUp(t);
  const seen = await first(radio);
  t.like(seen, { address: 'c0:ff:ee:00:00:01', name: 'Omi', rssi: -52, serviceUuids: [AUDIO_SERVICE] });
  t.is(Buffer.from(seen.manufacturerData ?? []).toString('hex'), '5d000456');
  const link = await connect();
  t.deepEqual(await link.properties(AUDIO_SERVICE, AUDIO_CODEC), ['read', 'notify']);
  t.deepEqual(await link.properties(AUDIO_SERVICE, '2a19'), []);
  t.is((await link.offers()).length, 3);
  t.is(link.mtu, 185);
  t.deepEqual([...(await link.read(AUDIO_SERVICE, AUDIO_CODEC))], [21]);

  const heard: string[] = [];
  await link.subscribe(AUDIO_SERVICE, AUDIO_DATA, data => heard.push(data.toString('hex')));
  for (let number = 0; number < 200; number += 1) service.notify(device, AUDIO_DATA, Buffer.of(number, 7));
  await eventually(() => heard.length === 200);
  t.deepEqual(
    heard,
    Array.from({ length: 200 }, (_, number) => Buffer.of(number, 7).toString('hex')),
  );

  await link.write(AUDIO_SERVICE, CONTROL, Buffer.from('0102', 'hex'), { response: true });
  await link.write(AUDIO_SERVICE, CONTROL, Buffer.from('03', 'hex'), { response: false });
  t.deepEqual(written, ['0102', '03']);
  await t.throwsAsync(link.write(AUDIO_SERVICE, CONTROL, Buffer.of(0xff), { response: true }), {
    message: /ATT error/,
  });
  await t.throwsAsync(link.read(AUDIO_SERVICE, '2a19'), { message: /has no characteristic/ });
  await t.throwsAsync(
    link.subscribe(AUDIO_SERVICE, CONTROL, () => {}),
    { message: /does not notify/ },
  );
  await link.disconnect();
  t.is(await link.closed, 'disconnected');
  await t.throwsAsync(link.read(AUDIO_SERVICE, AUDIO_CODEC), { message: /disconnected|no characteristic/ });
});

onBus('the result of a read is not taken for a notification', async t => {
  const { connect, service, device } = await setUp(t);
  const link = await connect();
  const heard: number[] = [];
  await link.subscribe(AUDIO_SERVICE, AUDIO_CODEC, data => heard.push(data[0] ?? -1));
  await link.read(AUDIO_SERVICE, AUDIO_CODEC);
  service.notify(device, AUDIO_CODEC, Buffer.of(20));
  await eventually(() => heard.length > 0);
  t.deepEqual(heard, [20]);
});

onBus('discovery pauses while a connection is made, and ends without listeners', async t => {
  const { radio, service, connect } = await setUp(t);
  const looking = new AbortController();
  const scan = (async () => {
    for await (const _ of radio.scan(looking.signal));
  })();
  await eventually(() => service.isDiscovering);
  const link = await connect();
  await eventually(() => service.isDiscovering);
  const { calls } = service;
  t.true(calls.indexOf('Adapter1.StopDiscovery') < calls.indexOf('Device1.Connect'));
  looking.abort();
  await scan;
  await eventually(() => !service.isDiscovering);
  await link.disconnect();
});

onBus('a device that requires a bond is paired once, and trusted; a failed request is repeated', async t => {
  const { connect, service, device } = await setUp(t, { device: { bonded: [AUDIO_CODEC, AUDIO_DATA] } });
  const link = await connect();
  t.deepEqual([...(await link.read(AUDIO_SERVICE, AUDIO_CODEC))], [21]);
  await link.subscribe(AUDIO_SERVICE, AUDIO_DATA, () => {});
  t.true(service.paired.has(device));
  t.is(counted(service, 'Device1.Pair'), 1);
  t.is(counted(service, 'Properties.Set'), 1);
  await link.disconnect();
  await (await connect()).read(AUDIO_SERVICE, AUDIO_CODEC);
  t.is(counted(service, 'Device1.Pair'), 1);
});

onBus('pairing that needs a code is refused, with instructions', async t => {
  const { connect } = await setUp(t, { device: { bonded: [AUDIO_CODEC] }, bluez: { pairing: 'rejected' } });
  const link = await connect();
  await t.throwsAsync(link.read(AUDIO_SERVICE, AUDIO_CODEC), {
    message: /has to be paired.*Authentication Failed.*bluetoothctl pair C0:FF:EE:00:00:01/,
  });
});

onBus('a lost link is reported, and the device is found again', async t => {
  const { connect, service, device, radio } = await setUp(t);
  const link = await connect();
  service.drop(device);
  t.is(await link.closed, 'disconnected');
  t.is((await first(radio)).name, 'Omi');
  const again = await connect();
  t.deepEqual([...(await again.read(AUDIO_SERVICE, AUDIO_CODEC))], [21]);
});

onBus('an adapter that is switched off loses its links, and is used again when it is on', async t => {
  const { connect, service, radio } = await setUp(t);
  const link = await connect();
  service.power(false);
  t.regex(await link.closed, /disconnected|adapter is off/);
  await eventually(() => radio.state.name === 'off');
  t.regex(radio.state.hint, /bluetoothctl power on/);
  service.power(true);
  await isReady(radio);
  await connect();
});

onBus('after a restart of bluetoothd its links are gone, and the next one works', async t => {
  const { bus, connect, service, radio, device } = await setUp(t);
  const link = await connect();
  service.stop();
  t.regex(await link.closed, /bluetoothd does not run/);
  t.is(radio.state.name, 'off');
  t.regex(radio.state.hint, /systemctl start bluetooth/);
  const next = await startBluez(bus.address, [device]);
  t.teardown(next.stop);
  await isReady(radio);
  const again = await connect();
  t.deepEqual([...(await again.read(AUDIO_SERVICE, AUDIO_CODEC))], [21]);
});

onBus('a lost message bus is reconnected when it returns; without one, the state says so', async t => {
  const { bus, connect, radio } = await setUp(t);
  const link = await connect();
  bus.stop();
  t.regex(await link.closed, /message bus|bluetoothd does not run/);
  await eventually(() => radio.state.name === 'unsupported');
  t.regex(radio.state.hint, /bluetoothd cannot be reached/);
});

onBus('a device that does not answer costs a time limit, and does not block the radio', async t => {
  const { radio, device, connect } = await setUp(t, { limits: { connectMs: 300, attMs: 300 } });
  device.ignores = true;
  await t.throwsAsync(connect(), { message: /onnect.* took more than 300 ms/i });
  device.ignores = false;
  device.silent = true;
  const link = await eventually(() => connect().catch(() => null));
  if (!link) return t.fail();
  await t.throwsAsync(link.read(AUDIO_SERVICE, AUDIO_CODEC), { message: /the connection was dropped/ });
  t.is(await link.closed, 'disconnected');
  t.is(radio.state.name, 'ready');
});

onBus('an adapter unknown to bluetoothd is reported with the option that selects another', async t => {
  const { bus } = await setUp(t);
  const radio = createBluezRadio({ adapter: 'hci7', address: bus.address, log, clock });
  t.teardown(radio.close);
  await eventually(() => radio.state.name === 'unsupported');
  t.regex(radio.state.hint, /no such adapter; bluetoothctl list/);
});

const BUTTON = {
  service: '23ba7924-0000-1000-7450-346eac492e92',
  data: '23ba7925-0000-1000-7450-346eac492e92',
};
const [HAS_VIBRATION, HAS_LED, HAS_GAIN] = [1 << 5, 1 << 7, 1 << 8];
const frames = createFrames(samples, 21);
const STORED = Array.from({ length: 600 }, (_, index) => frames.at(100 + (index % 200)));
const SPOKEN_AT_S = 1_780_000_000;

/** A pendant with every feature, behind bluetoothd, carried by the bridge. */
async function carry(t: ExecutionContext) {
  const writes: [string, number | undefined][] = [];
  const device = createPendant({
    ...{ codecId: 21, frames, loop: true, clock, speed: 2, maxMtu: 247 },
    features: HAS_VIBRATION | HAS_LED | HAS_GAIN,
    stored: { generation: 'ring', records: recordsOf(STORED, SPOKEN_AT_S, 20) },
    onControl(uuid, byte) {
      writes.push([uuid.slice(0, 8), byte]);
      return undefined;
    },
    services: usual => [
      ...usual,
      { uuid: BUTTON.service, characteristics: [{ uuid: BUTTON.data, properties: ['read', 'notify'] }] },
    ],
  });
  t.teardown(device.stop);
  const bus = await startMessageBus(t);
  const service = await startBluez(bus.address, [onTheAir(device)]);
  t.teardown(service.stop);
  const spool = await openSpool({ dir: await temporaryDirectory(t), maxBytes: 2 ** 26, clock, log });
  const events: BridgeEvent[] = [];
  const devices = startDevices({
    radio: createBluezRadio({ address: bus.address, log, clock, limits: { retryMs: 20, announceMs: 30 } }),
    ...{ drivers: [omi], only: [], begin: spool.begin, clock, log },
    onEvent: event => events.push(event),
    limits: { firstRetryMs: 10, maxRetryMs: 50 },
  });
  t.teardown(async () => {
    await devices.stop();
    await spool.close();
  });
  const held = (isStored: boolean) =>
    spool
      .devices()
      .flatMap(id => spool.recordings(id))
      .filter(({ info }) => (info.stored ?? false) === isStored)
      .flatMap(recording => recording.read(recording.first, 1_000_000) ?? [])
      .map(({ bytes }) => bytes.toString('hex'));
  return { device, service, devices, events, held, writes };
}

const hexOf = (all: readonly Uint8Array[]) => all.map(each => Buffer.from(each).toString('hex'));

onBus(
  'audio of a pendant behind bluetoothd is complete across lost links, and its storage is fetched, then deleted',
  async t => {
    const { device, service, devices, events, held } = await carry(t);
    const streams = () => devices.counts()[0]?.streaming;
    await eventually(() => held(false).length > 100);
    device.dropLink();
    await eventually(() => devices.counts()[0]?.connections === 2 && streams());
    const before = held(false).length;
    await eventually(() => held(false).length > before + 50);
    service.power(false);
    await eventually(() => !streams());
    service.power(true);
    await eventually(() => devices.counts()[0]?.connections === 3 && streams());
    await eventually(() => device.store?.left === 0);
    t.deepEqual(held(true), hexOf(STORED));
    const last = held(false).length;
    await eventually(() => held(false).length > last + 50);
    const live = held(false);
    t.deepEqual(live, hexOf(live.map((_, index) => frames.at(index % frames.length))));
    t.like(devices.counts()[0], { lost: 0, duplicates: 0, malformed: 0 });
    const told = events.findLast(event => event.event === 'about' && 'model' in event);
    t.like(told, { model: 'Omi CV 1', firmware: '3.0.20' });
  },
);

onBus(
  'buttons, battery and controls of a pendant behind bluetoothd work as over any other radio',
  async t => {
    const { device, devices, events, writes } = await carry(t);
    await eventually(() => events.some(event => event.event === 'device' && event.battery === 87));
    device.setBattery(41);
    await eventually(() => events.some(event => event.event === 'device' && event.battery === 41));
    device.notify(BUTTON.data, Buffer.of(1, 0, 0, 0));
    await eventually(() => events.some(event => event.event === 'button'));
    t.like(
      events.find(event => event.event === 'button'),
      { button: 'single' },
    );
    await eventually(() => devices.control({}).catch(() => null));
    t.deepEqual(await devices.control({ device: 'Omi', control: 'led', value: '20' }), ['Omi: led 20']);
    t.deepEqual(writes.at(-1), ['19b10011', 20]);
    await t.throwsAsync(devices.control({ device: 'Omi', control: 'led', value: '101' }), {
      message: /0 to 100/,
    });
  },
);
