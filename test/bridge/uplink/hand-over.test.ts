import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import omi from '../../../bridge/drivers/omi.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { type AirDevice, createController } from '../../../bridge/simulator/controller.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { readWav } from '../../../bridge/simulator/wav.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { fixedKey } from '../../../bridge/uplink/key.ts';
import { startUplink, type Uplink } from '../../../bridge/uplink/uplink.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startListenServer } from '../../helpers/listen-server.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const sound = createFrames(
  await readWav(new URL('../../fixtures/tomorrow.wav', import.meta.url).pathname),
  21,
);

/** A bridge with its own adapter and spool, without configuration. */
async function startOne(t: ExecutionContext, device: AirDevice, core: string) {
  const dir = await temporaryDirectory(t);
  const spool = await openSpool({ dir: join(dir, 'spool'), maxBytes: 16 * 1024 * 1024, clock, log });
  const controller = createController();
  controller.add(device);
  const uplinks = new Map<string, Uplink>();
  const devices = startDevices({
    radio: createNobleRadio({ log, clock, load: simulatedNoble(controller) }),
    drivers: [omi],
    only: [],
    begin(info) {
      const { clientDeviceId } = info;
      const common = { spool, core: async () => core, keys: fixedKey('k'), conversationTimeoutS: 120 };
      if (!uplinks.has(clientDeviceId))
        uplinks.set(clientDeviceId, startUplink({ clientDeviceId, ...common, clock, log, onEvent() {} }));
      return spool.begin(info);
    },
    clock,
    log,
    onEvent() {},
    limits: { firstRetryMs: 10, maxRetryMs: 50 },
  });
  t.teardown(async () => {
    await devices.stop();
    for (const uplink of uplinks.values()) await uplink.stop();
    await spool.close();
  });
  return devices;
}

test('a wearable that moves between two bridges loses nothing, and nothing is duplicated', async t => {
  const server = await startListenServer();
  t.teardown(server.kill);
  const pendant = createPendant({ codecId: 21, frames: sound, clock, speed: 4 });
  t.teardown(pendant.stop);
  let room = 'kitchen';
  const heardIn = (name: string): AirDevice =>
    Object.create(pendant, {
      advertisement: { value: () => (room === name ? pendant.advertisement() : null) },
      attempt: { value: () => (room === name ? 'accept' : 'ignore') },
    });
  const bridges = {
    kitchen: await startOne(t, heardIn('kitchen'), server.url),
    cellar: await startOne(t, heardIn('cellar'), server.url),
  };
  const streams = () => [...server.streams.values()];
  const heard = () => streams().flatMap(({ messages }) => messages.map(({ hex }) => hex));
  for (const next of ['cellar', 'kitchen', 'cellar'] as const) {
    const before = heard().length;
    await eventually(() => heard().length > before + 30);
    room = next;
    pendant.dropLink();
    await eventually(() => bridges[next].counts()[0]?.streaming);
  }
  const before = heard().length;
  await eventually(() => heard().length > before + 30);
  const messages = heard();
  const sent = Array.from({ length: messages.length }, (_, index) =>
    Buffer.from(sound.at(index)).toString('hex'),
  );
  t.deepEqual(messages, sent, 'all that it sent while a bridge had it, once and in order');
  t.is(streams().length, 4, 'one for each connection');
  t.is(
    new Set(streams().map(({ query }) => query.client_device_id)).size,
    1,
    'core joins what one device says',
  );
});

test('of two bridges that see a wearable, the one with the better signal carries it', async t => {
  const server = await startListenServer();
  t.teardown(server.kill);
  const pendant = createPendant({ codecId: 21, frames: sound, clock, speed: 4, loop: true });
  t.teardown(pendant.stop);
  let isTaken = false;
  let isNearKitchen = true;
  const heardAt = (name: 'kitchen' | 'cellar'): AirDevice =>
    Object.create(pendant, {
      advertisement: { value: () => (isTaken ? null : pendant.advertisement()) },
      attempt: { value: () => (isTaken ? 'ignore' : 'accept') },
      connected: {
        value(link: Parameters<AirDevice['connected']>[0]) {
          isTaken = true;
          pendant.connected(link);
        },
      },
      signalDbm: { get: () => ((name === 'kitchen') === isNearKitchen ? -55 : -95) },
    });
  const bridges = {
    kitchen: await startOne(t, heardAt('kitchen'), server.url),
    cellar: await startOne(t, heardAt('cellar'), server.url),
  };
  const whoHasIt = () =>
    (['kitchen', 'cellar'] as const).filter(name => bridges[name].counts()[0]?.streaming).join();
  await eventually(() => whoHasIt() !== '');
  t.is(whoHasIt(), 'kitchen');
  isNearKitchen = false;
  isTaken = false;
  pendant.dropLink();
  await eventually(() => whoHasIt() === 'cellar');
  t.is(bridges.kitchen.counts()[0]?.connections, 1);
});
