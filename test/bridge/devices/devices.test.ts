import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { type DeviceLimits, startDevices } from '../../../bridge/devices/devices.ts';
import type { Driver, PacketDecoder } from '../../../bridge/driver.ts';
import omi, { OMI_STREAM } from '../../../bridge/drivers/omi.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import { createNobleRadio, type RadioLimits } from '../../../bridge/radios/noble/radio.ts';
import { type ControllerOptions, createController } from '../../../bridge/simulator/controller.ts';
import { type CodecId, createFrames } from '../../../bridge/simulator/frames.ts';
import type { CharacteristicSpec } from '../../../bridge/simulator/gatt-server.ts';
import {
  AUDIO_CODEC,
  AUDIO_DATA,
  createPendant,
  type Pendant,
  type PendantOptions,
} from '../../../bridge/simulator/pendant.ts';
import { encodeReport } from '../../../bridge/simulator/reports.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { readWav } from '../../../bridge/simulator/wav.ts';
import type { Recording } from '../../../bridge/spool/recording.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { omiDecoder } from '../../helpers/omi-decoder.ts';

type DeviceEvent = Extract<BridgeEvent, { event: 'device' }>;

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const plain = (uuid: string) => uuid.replaceAll('-', '');
const samples = await readWav(new URL('../../fixtures/tomorrow.wav', import.meta.url).pathname);
const encoded = { 0: createFrames(samples, 0), 20: createFrames(samples, 20), 21: createFrames(samples, 21) };
const frames = (codecId: CodecId) => encoded[codecId];

async function setUp(t: ExecutionContext, options: ControllerOptions = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'devices-'));
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: line => warnings.push(JSON.parse(line).msg) });
  const spool = await openSpool({ dir, maxBytes: 16 * 1024 * 1024, clock, log });
  const controller = createController(options);
  const recordings: Recording[] = [];
  const events: DeviceEvent[] = [];
  const introduced = Promise.withResolvers<void>();
  const watchers = new Set<() => void>();
  const happened = () => {
    for (const look of [...watchers]) look();
  };

  function pendant(options: Partial<PendantOptions> = {}) {
    const made = createPendant({ codecId: 21, frames: frames(21), clock, speed: 20, ...options });
    controller.add(made);
    t.teardown(made.stop);
    return made;
  }

  function start(
    options: {
      drivers?: Driver[];
      only?: string[];
      limits?: Partial<DeviceLimits>;
      radio?: Partial<RadioLimits>;
    } = {},
  ) {
    const radio = createNobleRadio({
      log,
      clock,
      load: simulatedNoble(controller),
      ...(options.radio ? { limits: options.radio } : {}),
    });
    const devices = startDevices({
      radio,
      drivers: options.drivers ?? [omi],
      only: options.only ?? [],
      begin(info) {
        const recording = spool.begin(info);
        recordings.push(recording);
        spool.watch(info.clientDeviceId, happened);
        return recording;
      },
      clock,
      log,
      onEvent(event) {
        if (event.event === 'device') events.push(event);
        if (event.event === 'about') introduced.resolve();
        happened();
      },
      limits: { firstRetryMs: 10, maxRetryMs: 50, ...options.limits },
    });
    stops.push(devices.stop);
    return devices;
  }
  const stops: (() => Promise<void>)[] = [];
  t.teardown(async () => {
    for (const stop of stops) await stop();
    await spool.close();
    await rm(dir, { recursive: true });
  });

  /** Resolves when `count` events of this kind have occurred, with the last of them. */
  function event(fits: (event: DeviceEvent) => boolean, count = 1): Promise<DeviceEvent> {
    const { promise, resolve } = Promise.withResolvers<DeviceEvent>();
    const look = () => {
      const found = events.filter(fits)[count - 1];
      if (!found) return;
      watchers.delete(look);
      resolve(found);
    };
    watchers.add(look);
    look();
    return promise;
  }
  const streaming = (count = 1) => event(({ state }) => state === 'streaming', count);

  /** Resolves when the recording with this index, by start (-1: the last), holds this many messages. */
  function holds(index: number, count: number): Promise<Recording> {
    const { promise, resolve } = Promise.withResolvers<Recording>();
    const look = () => {
      const recording = recordings.at(index);
      if (!recording || recording.next < count) return;
      watchers.delete(look);
      resolve(recording);
    };
    watchers.add(look);
    look();
    return promise;
  }

  return {
    ...{ spool, controller, recordings, events, warnings, pendant, start, event, streaming, holds },
    /** Resolves when model and firmware have been read, after which nothing is asked while packets arrive. */
    introduced: introduced.promise,
  };
}

/** Within this time the simulated pendant answers, also on a busy machine. */
const ANSWERED_MS = 2000;

/** HCI command. */
const DISCONNECT = 0x0406;

const states = (events: readonly DeviceEvent[]) => events.map(({ state }) => state);

const messages = (recording: Recording) => recording.read(0, 100_000) ?? [];

test.serial('a pendant in range is found, and every frame of its recording is stored', async t => {
  const { pendant, start, streaming, holds } = await setUp(t);
  const omiPendant = pendant();
  const devices = start();
  t.like(await streaming(), {
    name: 'Omi',
    address: 'c0:ff:ee:00:00:01',
    state: 'streaming',
    codec: 'opus_fs320',
    battery: 87,
  });
  await omiPendant.finished;
  const source = frames(21);
  const recording = await holds(0, source.length);
  t.like(recording.info, {
    deviceName: 'Omi',
    source: 'omi',
    codec: 'opus_fs320',
    sampleRate: 16000,
    frameMs: 20,
  });
  t.regex(recording.info.clientDeviceId, /^omi_[0-9a-f]{12}$/);
  const stored = messages(recording).slice(0, source.length);
  t.true(stored.every(({ bytes }, i) => bytes.equals(source.at(i))));
  t.true(stored.every(({ gapMs }) => gapMs === 0));
  const [counts] = devices.counts();
  t.like(counts, { name: 'Omi', lost: 0, duplicates: 0, malformed: 0 });
});

test.serial('frames of 10 ms and 16-bit samples in fragments arrive complete', async t => {
  const { pendant, start, recordings, event, holds } = await setUp(t);
  const ten = pendant({ codecId: 20, frames: frames(20), name: 'Ten' });
  const pcm = pendant({ codecId: 0, frames: frames(0), name: 'Samples', address: 'c0:ff:ee:00:00:02' });
  start();
  await Promise.all([event(({ name }) => name === 'Ten'), event(({ name }) => name === 'Samples')]);
  await Promise.all([ten.finished, pcm.finished]);
  for (const [name, codecId] of [
    ['Ten', 20],
    ['Samples', 0],
  ] as const) {
    const source = frames(codecId);
    const recording = await holds(
      recordings.findIndex(({ info }) => info.deviceName === name),
      source.length,
    );
    t.true(
      messages(recording)
        .slice(0, source.length)
        .every(({ bytes }, i) => bytes.equals(source.at(i))),
      name,
    );
  }
  t.is(new Set(recordings.map(({ info }) => info.clientDeviceId)).size, 2);
});

test.serial(
  'frames lost on the air become a gap of their length, and duplicates are stored once',
  async t => {
    const { pendant, start, holds, streaming } = await setUp(t);
    const omiPendant = pendant();
    omiPendant.faults.packet = (packet, id) => {
      if (id === 10 || id === 20 || id === 21) return [];
      return id === 30 ? [packet, packet] : [packet];
    };
    const devices = start();
    await streaming();
    await omiPendant.finished;
    const recording = await holds(0, 100);
    const gaps = messages(recording).filter(({ gapMs }) => gapMs > 0);
    t.deepEqual(
      gaps.map(({ number, gapMs }) => [number, gapMs]),
      [
        [10, 20],
        [19, 40],
      ],
    );
    t.like(devices.counts()[0], { lost: 3, duplicates: 1 });
  },
);

test.serial('of samples in fragments, only those lost on the air are missing', async t => {
  const { pendant, start, holds, streaming } = await setUp(t);
  const source = frames(0);
  const samples = pendant({ codecId: 0, frames: source });
  let lostBytes = 0;
  samples.faults.packet = (packet, id) => {
    if (id < 10 || id > 150 || id % 7 > 1) return [packet];
    lostBytes += packet.length - 3;
    return [];
  };
  const devices = start();
  await streaming();
  await samples.finished;
  const recording = await holds(0, 150);
  const told = messages(recording).reduce((sum, { gapMs }) => sum + gapMs, 0);
  t.true(lostBytes > 3000);
  t.true(Math.abs(told - lostBytes / 32) <= 0.5, `${lostBytes / 32} ms were lost, ${told} ms told`);
  t.is((devices.counts()[0]?.lost ?? 0) * 320, lostBytes);
});

test.serial('a lost pendant is reconnected as soon as it is seen, with a new recording', async t => {
  const { pendant, start, recordings, event, streaming, holds } = await setUp(t);
  const omiPendant = pendant();
  // Too long for the test to wait for: after an unexpected loss there is no delay.
  start({ limits: { firstRetryMs: 600_000, maxRetryMs: 600_000 } });
  await streaming();
  await holds(0, 5);
  omiPendant.dropLink();
  t.regex((await event(({ state }) => state === 'disconnected')).reason ?? '', /out of range/);
  await event(({ state }) => state === 'streaming', 2);
  t.true(recordings[0]?.ended);
  await holds(1, 5);
  t.is(recordings[1]?.info.clientDeviceId, recordings[0]?.info.clientDeviceId);
  t.not(recordings[1]?.stream, recordings[0]?.stream);
  t.true((recordings[1]?.info.startedAtMs ?? 0) > (recordings[0]?.info.startedAtMs ?? 0));
});

test.serial('a pendant that returns after a while is found again', async t => {
  const { pendant, start, recordings, event, streaming, holds } = await setUp(t);
  const omiPendant = pendant();
  start();
  await streaming();
  await holds(0, 1);
  omiPendant.vanish();
  await event(({ state }) => state === 'disconnected');
  omiPendant.comeBack();
  await event(({ state }) => state === 'streaming', 2);
  await holds(1, 1);
  t.is(recordings.length, 2);
});

test.serial('failed connections are retried with growing delays', async t => {
  const { pendant, start, event, streaming, warnings } = await setUp(t);
  const omiPendant = pendant();
  omiPendant.faults.attempt = 0x3e;
  start();
  t.regex((await event(({ state }) => state === 'disconnected', 3)).reason ?? '', /0x3e/);
  omiPendant.faults.attempt = 'accept';
  await streaming();
  t.true(warnings.length >= 3);
});

test.serial('a failed subscription ends the connection, rather than leaving it silent', async t => {
  const { pendant, start, event, events, streaming } = await setUp(t);
  const omiPendant = pendant();
  omiPendant.faults.silent.add(plain(AUDIO_DATA));
  start({ radio: { attMs: 200 } });
  t.regex((await event(({ state }) => state === 'disconnected')).reason ?? '', /connection was dropped/);
  omiPendant.faults.silent.clear();
  await streaming();
  t.deepEqual([...new Set(states(events))], ['disconnected', 'streaming']);
});

test.serial(
  'a pendant that sends nothing stays connected, and is reported as quiet until it sends again',
  async t => {
    const { controller, pendant, start, event, events, recordings, holds } = await setUp(t);
    const omiPendant = pendant();
    omiPendant.faults.asleep = true;
    const devices = start({ limits: { silentMs: 30, probeMs: 10 } });
    const quiet = await event(({ state }) => state === 'quiet');
    t.like(quiet, { codec: 'opus_fs320', battery: 87 });
    t.regex(quiet.reason ?? '', /its microphone may be asleep or muted/);
    t.like(devices.counts()[0], { streaming: true, quiet: true, connections: 1 });
    t.is(recordings.length, 0);
    omiPendant.faults.asleep = false;
    await holds(0, 5);
    t.deepEqual(states(events), ['streaming', 'quiet', 'streaming']);
    t.false(controller.commands.some(({ opcode }) => opcode === DISCONNECT));
    t.like(devices.counts()[0], { quiet: false, connections: 1, notConnectedMs: 0, lost: 0 });
  },
);

test.serial(
  'a loss that the adapter does not report is detected, as the pendant does not answer',
  async t => {
    const { pendant, start, event, holds, introduced } = await setUp(t);
    const omiPendant = pendant();
    start({ limits: { probeMs: 50 }, radio: { attMs: ANSWERED_MS, disconnectMs: 50 } });
    await introduced; // a request under way would be what fails
    await holds(0, 5);
    omiPendant.slipAway();
    t.regex((await event(({ state }) => state === 'disconnected')).reason ?? '', /no longer answers/);
    await holds(1, 5);
  },
);

const BATTERY_FAULTS: Record<string, (options: Partial<PendantOptions>, pendant?: Pendant) => void> = {
  'does not notify': options => {
    options.services = batteryWith({ properties: ['read'] });
  },
  'has no CCCD': options => {
    options.services = batteryWith({ withoutCccd: true });
  },
  'can neither be read nor subscribed to': (_, pendant) => pendant?.faults.errors.set('2a19', 0x02),
  'stalls the library': (_, pendant) => pendant?.faults.errors.set('2a19', 0x04),
  'wants pairing, which fails': (_, pendant) => {
    pendant?.faults.errors.set('2a19', 0x0f);
    if (pendant) pendant.faults.pairing = 0x05;
  },
  'does not answer': (_, pendant) => pendant?.faults.silent.add('2a19'),
};

function batteryWith(change: Partial<CharacteristicSpec>): NonNullable<PendantOptions['services']> {
  return services =>
    services.map(({ uuid, characteristics }) => ({
      uuid,
      characteristics: characteristics.map(one => (one.uuid === '2a19' ? { ...one, ...change } : one)),
    }));
}

for (const [what, spoil] of Object.entries(BATTERY_FAULTS)) {
  test.serial(`a battery level that ${what} does not end the connection`, async t => {
    const { controller, pendant, start, event, streaming, holds } = await setUp(t);
    const options: Partial<PendantOptions> = {};
    spoil(options);
    const omiPendant = pendant(options);
    spoil(options, omiPendant);
    start({ limits: { probeMs: 10, silentMs: 20 }, radio: { attMs: ANSWERED_MS } });
    t.like(await streaming(), { codec: 'opus_fs320' });
    await holds(0, 20);
    omiPendant.faults.asleep = true; // then a request tests the connection
    await event(({ state }) => state === 'quiet');
    omiPendant.faults.asleep = false;
    await holds(0, 50);
    t.false(controller.commands.some(({ opcode }) => opcode === DISCONNECT));
  });
}

test.serial('a pendant that ends the link when its battery is read is not asked again', async t => {
  const { pendant, start, event, streaming, holds } = await setUp(t);
  const omiPendant = pendant();
  const { receive } = omiPendant;
  let asked = 0;
  omiPendant.receive = pdu => {
    const answer = receive(pdu);
    if (pdu[0] !== 0x0a || answer?.[1] !== 87) return answer;
    asked += 1;
    omiPendant.dropLink(0x13);
    return null;
  };
  start();
  t.regex((await event(({ state }) => state === 'disconnected')).reason ?? '', /closed by the device/);
  await event(({ state }) => state === 'streaming', 2);
  t.like(await streaming(), { battery: null });
  await holds(-1, 50); // the connection that ended may have brought some
  t.is(asked, 1);
});

test.serial('time between connections is reported as such, and not as loss', async t => {
  const { pendant, start, event, holds } = await setUp(t);
  const omiPendant = pendant();
  const devices = start();
  t.is((await event(({ state }) => state === 'streaming')).awayMs, null);
  await holds(0, 5);
  const lostAt = clock.now();
  omiPendant.vanish();
  await event(({ state }) => state === 'disconnected');
  while ((devices.counts()[0]?.notConnectedMs ?? 0) < 20) await new Promise(resolve => setImmediate(resolve));
  omiPendant.comeBack();
  const { awayMs } = await event(({ state }) => state === 'streaming', 2);
  await holds(1, 5);
  t.true(awayMs !== null && awayMs >= 20 && awayMs <= clock.now() - lostAt, `${awayMs}`);
  t.like(devices.counts()[0], { connections: 2, notConnectedMs: awayMs, lost: 0 });
});

test.serial('an adapter without long packets is reported, as some pendants need them', async t => {
  const { pendant, start, event } = await setUp(t, { dataLength: false });
  pendant({ frames: null });
  start({ limits: { silentMs: 20, probeMs: 10 } });
  const { reason } = await event(({ state }) => state === 'quiet');
  t.regex(reason ?? '', /no data length extension.*use an adapter with Bluetooth 4\.2 or newer/);
});

test.serial('a pendant that insists on pairing is reported with instructions', async t => {
  const { pendant, start, event } = await setUp(t);
  const omiPendant = pendant();
  omiPendant.faults.errors.set(plain(AUDIO_CODEC), 0x05);
  omiPendant.faults.pairing = 0x05;
  start();
  const { reason } = await event(({ state }) => state === 'disconnected');
  t.regex(reason ?? '', /pairing failed: it does not pair; .*remove old pairings/);
});

test.serial('audio continues after a packet that makes the library fail', async t => {
  const { controller, pendant, start, event, recordings, holds } = await setUp(t);
  const omiPendant = pendant();
  start();
  await holds(0, 5);
  const before = messages(await holds(0, 5)).length;
  controller.inject(carriedBy(controller.handleOf(omiPendant), '11 00 01 00 05 00'));
  t.regex((await event(({ state }) => state === 'disconnected')).reason ?? '', /its answer is malformed/);
  await holds(1, 5);
  t.true((recordings[0]?.next ?? 0) >= before, 'what was heard is kept');
});

/** An attribute message from a connected device, as one data packet. */
function carriedBy(handle = 0, hex: string): Buffer {
  const message = Buffer.from(hex.replaceAll(' ', ''), 'hex');
  return Buffer.from([2, handle, 0x20, 4 + message.length, 0, message.length, 0, 4, 0, ...message]);
}

test.serial('wearables seen once, under successive addresses, are removed from memory', async t => {
  const { controller, start, event } = await setUp(t);
  const devices = start({ radio: { connectMs: 1, askAgainMs: 60_000 } });
  await controller.scanning();
  const advertisement =
    createPendant({ codecId: 21, frames: null, clock }).advertisement() ?? Buffer.alloc(0);
  for (let i = 0; i < 400; i += 1) {
    const address = `d0:00:00:00:${[i >> 8, i & 0xff].map(byte => byte.toString(16).padStart(2, '0')).join(':')}`;
    for (const type of [0, 4]) controller.inject(encodeReport(false, type, address, advertisement));
    await new Promise(resolve => setImmediate(resolve));
  }
  await event(({ state }) => state === 'disconnected');
  t.true(devices.counts().length <= 256, `${devices.counts().length}`);
});

test.serial('a codec unknown to the driver is refused with its number', async t => {
  const { pendant, start, event, recordings } = await setUp(t);
  const omiPendant = pendant();
  omiPendant.faults.codec = () => Uint8Array.of(23);
  start();
  const { reason } = await event(({ state }) => state === 'unfit');
  t.is(reason, 'its codec 23 is not known to the driver omi (known: 0, 1, 10, 11, 20, 21)');
  t.is(recordings.length, 0);
});

test.serial(
  'a device that only advertises the service is not taken for a pendant, and disconnected',
  async t => {
    const { controller, pendant, start, event, recordings } = await setUp(t);
    pendant();
    const strict: Driver = {
      ...omi,
      match: {
        ...omi.match,
        confirm: [{ ...OMI_STREAM.audio, characteristic: '19b10009-e8f2-537e-4f6c-d104768a1214' }],
      },
    };
    start({ drivers: [strict] });
    t.regex((await event(({ state }) => state === 'unfit')).reason ?? '', /no characteristic 19b10009/);
    t.true(controller.commands.some(({ opcode }) => opcode === DISCONNECT));
    await controller.scanning();
    t.is(recordings.length, 0);
  },
);

test.serial("a driver that throws ends its own wearable's connection, and no other", async t => {
  const { pendant, start, event } = await setUp(t);
  pendant({ name: 'Broken' });
  const broken: Driver = {
    ...omi,
    name: 'broken',
    match: { advertised: [{ namePrefix: 'brok' }], confirm: omi.match.confirm },
    createDecoder: (format, link) => ({
      ...omiDecoder(format, link),
      push() {
        throw new TypeError('no such thing');
      },
    }),
  };
  start({ drivers: [broken, omi] });
  const { reason } = await event(({ state }) => state === 'unfit');
  t.is(reason, 'the driver broken failed: no such thing');
  pendant({ name: 'Mine', address: 'c0:ff:ee:00:00:02' });
  await event(({ name, state }) => name === 'Mine' && state === 'streaming');
});

test.serial('an invalid result of a driver is reported with its field', async t => {
  const nonsense: [Partial<PacketDecoder>, RegExp][] = [
    [{ push: undefined as never }, /createDecoder did not return a decoder: push: must be a function/],
    [{ counts: { packets: Number.NaN } as never }, /did not return a decoder: counts\.packets/],
    [{ push: () => ({ frames: [{ bytes: 'text' as never, lostBefore: 0 }] }) }, /invalid: frames\.0\.bytes/],
    [{ push: () => ({ frames: [{ bytes: new Uint8Array(4), lostBefore: -1 }] }) }, /frames\.0\.lostBefore/],
    [{ push: () => undefined as never }, /its decoder returned something invalid/],
  ];
  for (const [wrong, reason] of nonsense) {
    const { pendant, start, event } = await setUp(t);
    pendant();
    const decoder = (...args: Parameters<typeof omiDecoder>) => ({
      ...omiDecoder(...args),
      ...wrong,
    });
    const devices = start({ drivers: [{ ...omi, name: 'broken', createDecoder: decoder }] });
    const unfit = await event(({ state }) => state === 'unfit');
    t.regex(unfit.reason ?? '', /^the driver broken failed: /);
    t.regex(unfit.reason ?? '', reason);
    await devices.stop();
  }
});

test.serial('only the named wearables are connected, by name or by address', async t => {
  const { pendant, start, event, events } = await setUp(t);
  pendant({ name: 'Mine' });
  pendant({ name: 'Theirs', address: 'c0:ff:ee:00:00:02' });
  pendant({ name: 'Hers', address: 'c0:ff:ee:00:00:03' });
  start({ only: ['mine', 'C0:FF:EE:00:00:03'] });
  await Promise.all([event(({ name }) => name === 'Mine'), event(({ name }) => name === 'Hers')]);
  t.false(events.some(({ name }) => name === 'Theirs'));
});

test.serial('a new battery level is reported', async t => {
  const { pendant, start, event, streaming } = await setUp(t);
  const omiPendant = pendant();
  start();
  await streaming();
  omiPendant.setBattery(41);
  t.like(await event(({ battery }) => battery === 41), { state: 'streaming', codec: 'opus_fs320' });
});

test.serial('a pendant whose battery cannot be read still streams', async t => {
  const { pendant, start, streaming } = await setUp(t);
  pendant().faults.errors.set('2a19', 0x02);
  start();
  t.like(await streaming(), { battery: null, codec: 'opus_fs320' });
});

test.serial('a connection too slow for audio is reported with the reason', async t => {
  const { pendant, start, event } = await setUp(t);
  pendant({ maxMtu: 60 });
  start({ limits: { silentMs: 20, probeMs: 10 } });
  const { reason } = await event(({ state }) => state === 'quiet');
  t.regex(reason ?? '', /too small: 60, and the audio of this wearable needs 100/);
});

test.serial(
  'while everything streams the scan pauses, and a new pendant is found at the next scan',
  async t => {
    const { controller, pendant, start, event, events, streaming } = await setUp(t);
    pendant();
    start({ limits: { lookMs: 20, restMs: 50 } });
    await streaming();
    const rested = Promise.withResolvers<void>();
    controller.watch(
      ({ opcode, parameters }) => opcode === 0x200c && parameters[0] === 0 && rested.resolve(),
    );
    await rested.promise;
    pendant({ name: 'Second', address: 'c0:ff:ee:00:00:02' });
    await event(({ name, state }) => name === 'Second' && state === 'streaming');
    t.deepEqual(states(events), ['streaming', 'streaming'], 'the first one goes on');
  },
);

test.serial('audio continues after the adapter was off', async t => {
  const { controller, pendant, start, event, recordings, streaming, holds } = await setUp(t);
  pendant();
  start();
  await streaming();
  await holds(0, 5);
  controller.setUp(false);
  await event(({ state }) => state === 'disconnected');
  controller.setUp(true);
  await event(({ state }) => state === 'streaming', 2);
  await holds(1, 5);
  t.is(recordings.length, 2);
});

test.serial('a read that never completes does not prevent the bridge from stopping', async t => {
  const { pendant, start, controller, events, recordings } = await setUp(t);
  pendant().faults.silent.add(plain(AUDIO_CODEC));
  const connected = Promise.withResolvers<void>();
  controller.watch(({ opcode }) => opcode === 0x200d && connected.resolve());
  const devices = start({ radio: { attMs: 60_000 } });
  await connected.promise;
  await devices.stop();
  t.false(controller.isScanning() || controller.isConnecting());
  t.deepEqual([events, recordings], [[], []]);
});
