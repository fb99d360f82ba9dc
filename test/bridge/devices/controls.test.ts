import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import { startBridge } from '../../../bridge/main.ts';
import { askBridge, type BridgeRequest } from '../../../bridge/requests.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { createPendant, type PendantOptions } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { speech } from '../../helpers/wearable-sound.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const frames = createFrames(speech, 21);
const BRIDGE = new URL('../../../bridge/bin.mjs', import.meta.url).pathname;
const [LED, GAIN, VIBRATION, PHOTO] = ['19b10011', '19b10012', 'cab1ab96', '19b10006'];
/** Feature bits that a pendant reports. */
const [HAS_VIBRATION, HAS_LED, HAS_GAIN] = [1 << 5, 1 << 7, 1 << 8];

/** A bridge that carries simulated wearables; `writes`: the writes to their controls. */
async function carry(t: ExecutionContext, all: Partial<PendantOptions>[]) {
  const writes: [string, number | undefined][] = [];
  const controller = createController();
  const devices = all.map(options =>
    createPendant({
      ...{ name: 'Pendant', codecId: 21, frames, loop: true, clock },
      onControl(uuid, byte) {
        writes.push([uuid.slice(0, 8), byte]);
        return undefined;
      },
      ...options,
    }),
  );
  for (const device of devices) {
    controller.add(device);
    t.teardown(device.stop);
  }
  const dataDir = await temporaryDirectory(t);
  const events: BridgeEvent[] = [];
  const bridge = await startBridge({
    config: ConfigSchema.parse({ dataDir, bridge: { core: 'ws://127.0.0.1:1', key: 'k' } }),
    log,
    clock,
    load: simulatedNoble(controller),
    limits: { devices: { firstRetryMs: 10, maxRetryMs: 50 } },
    onEvent: event => events.push(event),
  });
  t.teardown(bridge.stop);
  const ask = (request: BridgeRequest = {}) => askBridge(join(dataDir, 'bridge'), request);
  const connected = () =>
    ask().then(
      lines => lines.filter(line => !line.startsWith(' ')).length,
      () => 0,
    );
  const streams = () =>
    events.filter(event => event.event === 'device' && event.state === 'streaming').length;
  await eventually(connected, count => count === devices.length);
  return { devices, writes, dataDir, events, ask, connected, streams };
}

test('light and microphone gain of a pendant are set, stored, and set again after a reconnect; vibration happens once', async t => {
  const features = HAS_LED | HAS_GAIN | HAS_VIBRATION;
  const { devices, writes, ask, streams } = await carry(t, [{ features }]);
  t.is((await ask()).length, 4);
  t.deepEqual(await ask({ device: 'pendant', control: 'led', value: '20' }), ['Pendant: led 20']);
  await ask({ device: 'Pendant', control: 'microphone-gain', value: '8' });
  await ask({ control: 'vibrate', value: 'medium' });
  t.deepEqual(writes, [
    [LED, 20],
    [GAIN, 8],
    [VIBRATION, 2],
  ]);
  t.regex((await ask()).join('\n'), /led +0 to 100 +brightness of the light, percent; set to 20\n/);
  const before = streams();
  devices[0]?.dropLink();
  await eventually(() => streams() > before && writes.length >= 5);
  t.deepEqual(writes.slice(3), [
    [LED, 20],
    [GAIN, 8],
  ]);
});

test('a control that a device lacks is not offered, and invalid requests are explained', async t => {
  const { writes, dataDir, ask } = await carry(t, [
    { features: HAS_LED },
    { address: 'c0:ff:ee:00:00:02', name: 'Old' },
  ]);
  const wrong: [BridgeRequest, RegExp][] = [
    [{ device: 'Pendant', control: 'vibrate', value: 'long' }, /no control "vibrate"; it has led$/],
    [{ device: 'Pendant', control: 'led', value: '101' }, /led takes 0 to 100, not "101"/],
    [{ device: 'Pendant', control: 'led', value: '1e1' }, /led takes 0 to 100/],
    [{ device: 'Old', control: 'led', value: '1' }, /has no controls/],
    [
      { device: 'Neither', control: 'led', value: '1' },
      /no connected wearable is called "Neither"; there are Pendant, Old|Old, Pendant/,
    ],
    [{ control: 'led', value: '1' }, /several wearables/],
  ];
  for (const [request, message] of wrong) await t.throwsAsync(ask(request), { message });
  t.deepEqual(writes, []);
  const socket = createConnection(join(dataDir, 'bridge/lock'));
  socket.end('{"device":7}\n');
  t.regex(String((await socket.toArray()).join('')), /the request is invalid/);
  const flood = createConnection(join(dataDir, 'bridge/lock'));
  flood.on('error', () => {});
  flood.write('x'.repeat(100_000));
  await new Promise<void>(resolve => flood.once('close', () => resolve()));
  t.is((await ask()).length, 3, 'it goes on answering');
});

test('a setting that the device refuses is deleted, so that it does not end every connection', async t => {
  let refused = 0;
  const { ask, connected, writes } = await carry(t, [
    {
      features: HAS_LED,
      onControl() {
        refused += 1;
        return 0x0d;
      },
    },
  ]);
  await t.throwsAsync(ask({ control: 'led', value: '20' }));
  await eventually(connected, count => count === 1);
  t.is(refused, 1);
  t.regex((await ask()).join('\n'), /percent$/, 'it is not kept');
  t.deepEqual(writes, []);
});

test('glasses take a photo on request, and stop taking photos', async t => {
  const jpeg = Buffer.from('ffd80102ffd9', 'hex');
  const { devices, writes, events, dataDir, ask } = await carry(t, [{ name: 'OMI Glass', hasCamera: true }]);
  const args = ['control', '--data-dir', dataDir, '--', 'OMI Glass', 'photos', 'off'];
  const command = spawn(process.execPath, [BRIDGE, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.is((await command.stdout.toArray()).join(''), 'OMI Glass: photos off\n');
  await ask({ control: 'photo', value: 'now' });
  t.deepEqual(writes, [
    [PHOTO, 0],
    [PHOTO, 0xff],
  ]);
  devices[0]?.takePhoto(jpeg);
  await eventually(() => events.some(({ event }) => event === 'photo'));
});

test('without a bridge the command says so', async t => {
  const dataDir = await temporaryDirectory(t);
  await t.throwsAsync(askBridge(join(dataDir, 'bridge'), {}), { message: /the bridge is not running here/ });
});

test('the simulated pendant of the command line has controls to try', async t => {
  const dataDir = await temporaryDirectory(t);
  const bridge = await startBridge({
    config: ConfigSchema.parse({ dataDir, bridge: { core: 'ws://127.0.0.1:1', key: 'k' } }),
    ...{
      log,
      clock,
      simulate: { audio: new URL('../../fixtures/tomorrow.wav', import.meta.url).pathname, loop: true },
    },
  });
  t.teardown(bridge.stop);
  const ask = (request: BridgeRequest = {}) => askBridge(join(dataDir, 'bridge'), request).catch(() => []);
  const lines = await eventually(
    () => ask(),
    shown => shown.length === 4,
  );
  t.deepEqual(
    lines.slice(1).map(line => line.trim().split(' ')[0]),
    ['led', 'microphone-gain', 'vibrate'],
  );
  t.deepEqual(await ask({ control: 'led', value: '20' }), ['Omi: led 20']);
});
