import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import omi from '../../../bridge/drivers/omi.ts';
import { startBridge } from '../../../bridge/main.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { readWav } from '../../../bridge/simulator/wav.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { fixedKey } from '../../../bridge/uplink/key.ts';
import { bridgeId, type ReportLimits, startReports } from '../../../bridge/uplink/report.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { openRest } from '../../helpers/rest.ts';
import { openServer } from '../../helpers/services.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const RECORDING = new URL('../../fixtures/tomorrow.wav', import.meta.url).pathname;
const BUTTON = {
  service: '23ba7924-0000-1000-7450-346eac492e92',
  characteristic: '23ba7925-0000-1000-7450-346eac492e92',
};
const SOON: Partial<ReportLimits> = { gatherMs: 5, firstRetryMs: 10 };

/** A bridge without uplinks: a simulated pendant with a button, its devices, and the reports to core. */
async function setUp(t: ExecutionContext, core: string, key = 'k', limits: Partial<ReportLimits> = {}) {
  const dir = await temporaryDirectory(t);
  const spool = await openSpool({ dir, maxBytes: 16 * 1024 * 1024, clock, log });
  const controller = createController();
  const pendant = createPendant({
    codecId: 21,
    frames: createFrames(await readWav(RECORDING), 21),
    clock,
    loop: true,
    services: usual => [
      ...usual,
      { uuid: BUTTON.service, characteristics: [{ uuid: BUTTON.characteristic, properties: ['notify'] }] },
    ],
  });
  controller.add(pendant);
  const warnings: string[] = [];
  const id = await bridgeId(join(dir, 'id'));
  const devices = startDevices({
    radio: createNobleRadio({ log, clock, load: simulatedNoble(controller) }),
    drivers: [omi],
    only: [],
    begin: spool.begin,
    onButton: (id, button) => reports.pressed(id, button),
    clock,
    log,
    onEvent: ({ event }) => (event === 'device' || event === 'about') && reports.changed(),
    limits: { firstRetryMs: 10, maxRetryMs: 50 },
  });
  const reports = startReports({
    bridge: { id, name: 'Kitchen', version: '0.1.0' },
    statuses: devices.statuses,
    core: async () => core,
    keys: fixedKey(key),
    clock,
    log: pino({ level: 'warn' }, { write: line => warnings.push(JSON.parse(line).msg) }),
    limits: { ...SOON, ...limits },
  });
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await devices.stop();
    await reports.stop();
    pendant.stop();
    await spool.close();
  };
  t.teardown(stop);
  const press = (event: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeInt32LE(event);
    pendant.notify(BUTTON.characteristic, bytes);
  };
  return { pendant, controller, devices, press, stop, warnings };
}

interface Shown {
  id: string;
  battery: number | null;
  firmware: string | null;
  signal_dbm: number | null;
  bridge: object;
}
const devicesOf = (body: unknown) => (body as { devices: Shown[] }).devices;

test.serial('core lists the wearables of a bridge and their conversations', async t => {
  const server = await openServer(t, { stt: [] });
  const bridge = await startBridge({
    config: ConfigSchema.parse({
      dataDir: await temporaryDirectory(t),
      bridge: { core: server.url.replace('http', 'ws'), key: server.key, name: 'Desk' },
    }),
    log,
    clock,
    simulate: { audio: RECORDING, loop: true, name: 'Omi of Anna' },
    limits: { report: SOON },
  });
  t.teardown(bridge.stop);
  const shown = async () => devicesOf((await server.get('/v1/devices')).body)[0];
  const device = await eventually(shown, seen =>
    Boolean(seen?.battery === 87 && seen.firmware && seen.signal_dbm),
  );
  t.like(device, {
    ...{ name: 'Omi of Anna', source: 'omi', driver: 'omi', state: 'streaming', connected: true },
    ...{ codec: 'opus_fs320', model: 'Omi CV 1', firmware: '3.0.15' },
  });
  t.regex(device?.id ?? '', /^omi_[0-9a-f]{12}$/);
  t.like(device?.bridge, { name: 'Desk' });
  await bridge.stop();
  t.like(await shown(), { state: 'disconnected', battery: 87, signal_dbm: null });
});

test.serial('button presses, a low battery and a lost link are reported to core as they happen', async t => {
  const rest = await openRest(t);
  const { key } = await rest.keys.create(rest.user.id, { name: 'bridge', scopes: ['listen'] });
  const bridge = await setUp(t, rest.url.replace('http', 'ws'), key);
  const happened = () =>
    rest.told['device.happened'].map(({ happening: { kind, button } }) => button ?? kind).filter(isNews);
  await eventually(() => happened().includes('connected'));
  for (const event of [1, 3]) bridge.press(event);
  await eventually(() => happened().includes('long'));
  bridge.pendant.setBattery(12);
  await eventually(() => happened().includes('battery_low'));
  bridge.pendant.vanish();
  await eventually(() => happened().includes('disconnected'));
  t.deepEqual(happened(), ['connected', 'single', 'long', 'battery_low', 'disconnected']);
});
const isNews = (kind: string) => kind !== 'changed';

test.serial('reports that failed are sent once core is reachable, and button presses only once', async t => {
  const answers = [500, 404];
  const told: { devices: { state: string }[]; buttons: { button: string }[] }[] = [];
  const http = createServer((request, response) => {
    let text = '';
    request.on('data', piece => {
      text += piece;
    });
    request.on('end', () => {
      const status = answers.shift() ?? 200;
      if (status === 200) told.push(JSON.parse(text));
      response.writeHead(status).end('{}');
    });
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => http.close());
  const { port } = http.address() as AddressInfo;
  const bridge = await setUp(t, `ws://127.0.0.1:${port}/below`, 'k', { everyMs: 200 });
  await eventually(() => told.length > 0);
  t.deepEqual(bridge.warnings, [
    'cannot report the wearables to core: it answers 500',
    'cannot report the wearables to core: it is older than the bridge',
  ]);
  bridge.press(2);
  await eventually(() => told.some(({ buttons }) => buttons.length > 0));
  const before = told.length;
  await eventually(() => told.length > before + 1);
  t.deepEqual(
    told.flatMap(({ buttons }) => buttons.map(({ button }) => button)),
    ['double'],
  );
  await bridge.stop();
  t.is(told.at(-1)?.devices[0]?.state, 'disconnected');
});
