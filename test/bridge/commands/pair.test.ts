import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { checkDevice } from '../../../bridge/commands/device-check.ts';
import { type Accounts, forgetPaired, pair, renderPaired } from '../../../bridge/commands/pair.ts';
import { readPaired } from '../../../bridge/devices/paired.ts';
import type { Driver } from '../../../bridge/driver.ts';
import { builtInDrivers } from '../../../bridge/driver-host/drivers.ts';
import { startBridge } from '../../../bridge/main.ts';
import { createNobleRadio } from '../../../bridge/radios/noble/radio.ts';
import { createBoard } from '../../../bridge/simulator/board.ts';
import { type ControllerOptions, createController } from '../../../bridge/simulator/controller.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { eventually } from '../../helpers/eventually.ts';
import { openServer } from '../../helpers/services.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const drivers: Driver[] = await builtInDrivers();
const BRIDGE = new URL('../../../bridge/bin.mjs', import.meta.url).pathname;
const RECORDING = new URL('../../fixtures/tomorrow.wav', import.meta.url).pathname;
const UART = '6e400001-b5a3-f393-e0a9-e50e24dcca9e';
const AUDIO = '6e400003-b5a3-f393-e0a9-e50e24dcca9e';

/** Devices in range, and a person who gives these answers. */
async function sit(
  t: ExecutionContext,
  answers: (string | null)[],
  {
    controller: options = {},
    accounts = null,
  }: { controller?: ControllerOptions; accounts?: Accounts | null } = {},
) {
  const dir = await temporaryDirectory(t);
  const controller = createController(options);
  const radio = createNobleRadio({ log, clock, load: simulatedNoble(controller) });
  t.teardown(radio.close);
  const omi = createPendant({ codecId: 21, frames: null, clock, battery: 64 });
  const board = createBoard({
    ...{ address: 'c0:ff:ee:00:00:02', name: 'My Mic', advertised: ['180f'], audio: AUDIO, sound: null },
    ...{ clock, pack: () => [] },
    services: [
      { uuid: UART, characteristics: [{ uuid: AUDIO, properties: ['notify'] }] },
      {
        uuid: '180f',
        characteristics: [{ uuid: '2a19', properties: ['read'], value: () => Uint8Array.of(5) }],
      },
    ],
  });
  for (const device of [omi, board]) t.teardown(device.stop);
  let said = '';
  const person = {
    say(text: string) {
      said += text;
    },
    async ask(question: string) {
      said += question;
      const answer = answers.shift() ?? null;
      said += `${answer ?? ''}\n`;
      return answer;
    },
  };
  const run = () => pair({ radio, drivers, dir, accounts, person, clock, lookMs: 600 });
  return { dir, controller, omi, board, run, said: () => said };
}

test.serial(
  'a person sees the devices in range with signal and battery, chooses one and names it',
  async t => {
    const { dir, controller, omi, board, run, said } = await sit(t, ['7', '1', 'Pendant\u0007 of Anna']);
    controller.add(omi);
    controller.add(board);
    await run();
    t.regex(said(), /1\. {2}Omi {2}[▂▄▆█·]{4} -?\d+ dBm {2}64 % {2}Omi and Friend pendants/);
    t.regex(said(), /Other devices with a name: 1/);
    t.regex(said(), /That is not one of the choices/);
    t.regex(said(), /Pendant of Anna is paired/);
    t.deepEqual(await readPaired(dir), [
      { address: 'c0:ff:ee:00:00:01', name: 'Pendant of Anna', owner: null, key: null },
    ]);
    t.is((await stat(join(dir, 'paired.json'))).mode & 0o777, 0o600);
    t.is(renderPaired(await readPaired(dir)), 'Pendant of Anna  c0:ff:ee:00:00:01\n');
    await t.throwsAsync(forgetPaired(dir, 'Bracelet'), { message: /no paired wearable is called Bracelet/ });
    t.is((await forgetPaired(dir, 'pendant of anna')).address, 'c0:ff:ee:00:00:01');
    t.deepEqual(await readPaired(dir), []);
  },
);

test.serial('if core has several accounts, the person chooses the owner', async t => {
  const asked: string[] = [];
  const accounts = {
    names: ['owner', 'anna'],
    async keyFor(owner: string, device: string) {
      asked.push(`${owner}: ${device}`);
      return `key of ${owner}`;
    },
  };
  const { dir, controller, omi, run } = await sit(t, ['', '', 'ben', 'anna'], { accounts });
  controller.add(omi);
  await run();
  t.deepEqual(asked, ['anna: Omi']);
  t.like((await readPaired(dir))[0], { name: 'Omi', owner: 'anna', key: 'key of anna' });
});

test.serial(
  'an unknown device is listed with its services, and a valid description to start from',
  async t => {
    const here = process.cwd();
    const { dir, controller, board, run, said } = await sit(t, ['o', '1']);
    process.chdir(dir);
    t.teardown(() => process.chdir(here));
    controller.add(board);
    await run();
    t.regex(said(), /No wearable was found/);
    t.regex(
      said(),
      /My Mic offers:\n {2}6e400001b5a3f393e0a9e50e24dcca9e {2}6e400003b5a3f393e0a9e50e24dcca9e {2}notify/,
    );
    t.true((await readdir(dir)).includes('my-mic.yaml'), said());
    const { isGood, lines } = await checkDevice(join(dir, 'my-mic.yaml'));
    t.true(isGood, lines.join('\n'));
    t.regex(
      await readFile(join(dir, 'my-mic.yaml'), 'utf8'),
      /characteristic: 6e400003-b5a3-f393-e0a9-e50e24dcca9e/,
    );
  },
);

test.serial('obstacles are reported: no adapter, an unsupported device, a damaged file', async t => {
  const none = await sit(t, ['q'], { controller: { fault: 'ENODEV' } });
  await t.throwsAsync(none.run(), { message: /no Bluetooth Low Energy adapter was found/ });
  const odd = await sit(t, ['1', 'q']);
  const led = createPendant({
    ...{ codecId: 21, frames: null, clock },
    services: usual => usual.filter(({ uuid }) => uuid === '180a'),
  });
  t.teardown(led.stop);
  odd.controller.add(led);
  await odd.run();
  t.regex(odd.said(), /It cannot be used: it has no characteristic 19b10002-/);
  await writeFile(join(odd.dir, 'paired.json'), '[{}]');
  await t.throwsAsync(readPaired(odd.dir), { message: /paired\.json is damaged; remove it, and pair again/ });
});

test.serial('the command pairs, and the bridge then carries that wearable for its owner only', async t => {
  const server = await openServer(t, { stt: [] });
  const { dataDir, app } = server;
  await app.commands['user.add']({ name: 'anna' });
  const child = spawn(process.execPath, [BRIDGE, 'pair', '--simulate', '--data-dir', dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  child.stdin.end('1\nPendant\nanna\n');
  let said = '';
  child.stdout.on('data', text => {
    said += text;
  });
  t.deepEqual(await once(child, 'exit'), [0, null], said);
  t.regex(said, /Pendant of anna is paired/);
  const events: string[] = [];
  const bridge = await startBridge({
    config: ConfigSchema.parse({ dataDir, bridge: { core: server.url.replace('http', 'ws') } }),
    ...{ log, clock, simulate: { audio: RECORDING, loop: true } },
    onEvent: event => event.event === 'connected' && events.push(event.device),
    limits: { report: { gatherMs: 5, firstRetryMs: 10 } },
  });
  t.teardown(bridge.stop);
  await eventually(() => events.includes('Pendant'));
  const { token } = await app.commands.token({ user: 'anna' });
  const headers = { Authorization: `Bearer ${token}` };
  const shown = async () =>
    (await (await fetch(`${server.url}/v1/devices`, { headers })).json()) as {
      devices: { name: string }[];
    };
  t.is((await eventually(shown, ({ devices }) => devices.length > 0)).devices[0]?.name, 'Pendant');
  t.deepEqual((await server.get('/v1/devices')).body, { devices: [] });
});
