import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../bridge/clock.ts';
import type { Link } from '../../bridge/link.ts';
import { type Advertisement, createRadio, type Radio, type RadioLimits } from '../../bridge/radio.ts';
import type { RadioState } from '../../bridge/radio-state.ts';
import { type AdapterFault, createController } from '../../bridge/simulator/controller.ts';
import {
  AUDIO_CODEC,
  AUDIO_DATA,
  AUDIO_SERVICE,
  BATTERY_LEVEL,
  BATTERY_SERVICE,
  createPendant,
} from '../../bridge/simulator/pendant.ts';
import { simulatedNoble } from '../../bridge/simulator/simulator.ts';

process.setMaxListeners(100); // every library instance listens for the end of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const require = createRequire(import.meta.url);
const LIBRARIES = ['@abandonware/noble', '@stoprocent/noble'].filter(isInstalled);

/** HCI commands by opcode. */
const SCAN_ENABLE = 0x200c;
const CREATE_CONNECTION = 0x200d;
const DISCONNECT = 0x0406;

const plain = (uuid: string) => uuid.replaceAll('-', '');

function isInstalled(name: string): boolean {
  try {
    return Boolean(require.resolve(name));
  } catch {
    return false;
  }
}

function setUp(t: ExecutionContext, library: string, limits: Partial<RadioLimits> = {}) {
  const controller = createController();
  const pendant = createPendant({ codecId: 21, frames: null, clock });
  controller.add(pendant);
  const radio = createRadio({
    log,
    clock,
    load: simulatedNoble(controller, library),
    limits: { attMs: 200, connectMs: 200, disconnectMs: 200, ...limits },
  });
  t.teardown(radio.close);
  const never = new AbortController().signal;
  const sighted = async () => (await first(radio)).id;
  const connect = async () => radio.connect(await sighted(), { signal: never });
  return { controller, pendant, radio, sighted, connect, never };
}

async function reaches(radio: Radio, name: RadioState['name']): Promise<RadioState> {
  for await (const state of radio.states()) if (state.name === name) return state;
  throw new Error(`the radio was closed before it became ${name}`);
}

/** The next device in sight. */
async function first(radio: Radio): Promise<Advertisement> {
  const looking = new AbortController();
  for await (const sighting of radio.scan(looking.signal)) return sighting;
  throw new Error('the scan ended');
}

const readCodec = (link: Link) => link.read(AUDIO_SERVICE, AUDIO_CODEC);
const subscribe = (link: Link, onData: (data: Buffer) => void = () => {}) =>
  link.subscribe(AUDIO_SERVICE, AUDIO_DATA, onData);

for (const library of LIBRARIES) {
  const name = library.split('/')[0];

  test.serial(`${name}: a device is seen, connected, read, and heard`, async t => {
    const { pendant, radio, connect } = setUp(t, library);
    await reaches(radio, 'ready');
    t.like(await first(radio), { name: 'Omi', address: 'c0:ff:ee:00:00:01', rssi: -50 });
    const link = await connect();
    t.true(await link.has(AUDIO_SERVICE, AUDIO_CODEC));
    t.false(await link.has(AUDIO_SERVICE, '2a19'));
    t.false(await link.has('1234', AUDIO_CODEC));
    t.deepEqual([...(await readCodec(link))], [21]);
    t.deepEqual([...(await link.read(BATTERY_SERVICE, BATTERY_LEVEL))], [87]);
    t.is(link.mtu, 256);
    const heard = Promise.withResolvers<Buffer>();
    await subscribe(link, heard.resolve);
    pendant.notifyAudio(Buffer.alloc(200, 7));
    t.deepEqual(await heard.promise, Buffer.alloc(200, 7));
  });

  test.serial(
    `${name}: connecting asks for a supervision time limit of 4 s, and pauses the scan`,
    async t => {
      const { controller, radio, sighted, never } = setUp(t, library);
      const looking = new AbortController();
      const scan = radio.scan(looking.signal)[Symbol.asyncIterator]();
      await scan.next();
      const id = await sighted();
      controller.watch(({ opcode }) => opcode === CREATE_CONNECTION && t.false(controller.isScanning()));
      await radio.connect(id, { signal: never });
      const request = controller.commands.find(({ opcode }) => opcode === CREATE_CONNECTION);
      const parameters = [13, 15, 17, 19].map(at => request?.parameters.readUInt16LE(at));
      t.deepEqual(parameters, [12, 24, 0, 400]);
      await controller.scanning();
      looking.abort();
    },
  );

  test.serial(`${name}: a device seen before is seen again when it is back`, async t => {
    const { pendant, radio, connect } = setUp(t, library, { attMs: 60_000 });
    const looking = new AbortController();
    const scan = radio.scan(looking.signal)[Symbol.asyncIterator]();
    await scan.next();
    const link = await connect();
    pendant.vanish();
    t.regex(await link.closed, /out of range/);
    pendant.comeBack();
    t.is((await scan.next()).value?.name, 'Omi');
    t.deepEqual([...(await readCodec(await connect()))], [21]);
    looking.abort();
  });

  test.serial(`${name}: a refused read rejects, though the library resolves to nothing`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.errors.set(plain(AUDIO_CODEC), 0x02);
    const link = await connect();
    await t.throwsAsync(readCodec(link), { message: /19b10002/ });
  });

  test.serial(`${name}: an empty value rejects`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.codec = () => new Uint8Array();
    await t.throwsAsync(readCodec(await connect()), { message: /refused to let 19b10002/ });
  });

  test.serial(`${name}: a refused subscription has a time limit, and costs the connection`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.errors.set(plain(AUDIO_DATA), 0x03);
    const link = await connect();
    await t.throwsAsync(subscribe(link), { message: /subscribing to 19b10001.* connection was dropped/ });
    t.regex(await link.closed, /disconnected/);
    pendant.faults.errors.clear();
    await subscribe(await connect());
  });

  test.serial(`${name}: a read without an answer has a time limit, and costs the connection`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.silent.add(plain(AUDIO_CODEC));
    const link = await connect();
    await t.throwsAsync(readCodec(link), { message: /reading 19b10002.* more than 200 ms/ });
    await link.closed;
    pendant.faults.silent.clear();
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test.serial(`${name}: the error that stalls the library's queue costs the connection`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.errors.set(plain(AUDIO_CODEC), 0x04);
    const link = await connect();
    await t.throwsAsync(readCodec(link), { message: /connection was dropped/ });
    pendant.faults.errors.clear();
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test.serial(`${name}: a device that vanishes during a read rejects it at once`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: 60_000 });
    const link = await connect();
    await link.has(AUDIO_SERVICE, AUDIO_CODEC);
    pendant.faults.silent.add(plain(AUDIO_CODEC));
    const reading = readCodec(link);
    pendant.dropLink();
    await t.throwsAsync(reading, { message: /out of range|Disconnected/ });
    t.regex(await link.closed, /out of range/);
    await t.throwsAsync(readCodec(link));
  });

  test.serial(
    `${name}: connecting to an absent device has a time limit, and does not stand in the way`,
    async t => {
      const { controller, pendant, connect } = setUp(t, library);
      pendant.faults.attempt = 'ignore';
      await t.throwsAsync(connect(), { message: /connecting took more than 200 ms/ });
      t.false(controller.isConnecting());
      pendant.faults.attempt = 'accept';
      t.deepEqual([...(await readCodec(await connect()))], [21]);
      // A disconnect while connecting would go out for handle 0, which may be somebody else's.
      t.deepEqual(handlesDisconnected(controller.commands), []);
    },
  );

  test.serial(`${name}: connecting can be taken back`, async t => {
    const { controller, pendant, radio, sighted, connect } = setUp(t, library, { connectMs: 60_000 });
    pendant.faults.attempt = 'ignore';
    const giveUp = new AbortController();
    const id = await sighted();
    controller.watch(({ opcode }) => opcode === CREATE_CONNECTION && giveUp.abort(new Error('never mind')));
    await t.throwsAsync(radio.connect(id, { signal: giveUp.signal }), { message: 'never mind' });
    t.false(controller.isConnecting());
    t.deepEqual(handlesDisconnected(controller.commands), []);
    pendant.faults.attempt = 'accept';
    await readCodec(await connect());
  });

  test.serial(`${name}: a connection that the adapter refuses rejects with its reason`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.attempt = 0x3e;
    await t.throwsAsync(connect(), { message: /0x3e/ });
    pendant.faults.attempt = 'accept';
    await readCodec(await connect());
  });

  test.serial(`${name}: connections are made one after the other`, async t => {
    const { controller, radio, never } = setUp(t, library);
    const other = createPendant({
      codecId: 20,
      frames: null,
      clock,
      address: 'c0:ff:ee:00:00:02',
      name: 'Other',
    });
    controller.add(other);
    const ids = new Set<string>();
    for await (const { id } of radio.scan(never)) if (ids.add(id).size === 2) break;
    const links = await Promise.all([...ids].map(id => radio.connect(id, { signal: never })));
    const codecs = await Promise.all(links.map(readCodec));
    t.deepEqual(codecs.map(([id]) => id).sort(), [20, 21]);
  });

  test(`${name}: an adapter that goes down ends links and calls, and works again when it is back`, async t => {
    const { controller, pendant, radio, connect } = setUp(t, library, { attMs: 60_000 });
    const link = await connect();
    await link.has(AUDIO_SERVICE, AUDIO_CODEC);
    pendant.faults.silent.add(plain(AUDIO_CODEC));
    const reading = readCodec(link);
    controller.setUp(false);
    await t.throwsAsync(reading, { message: /switched off|disconnected/ });
    t.regex(await link.closed, /switched off|disconnected/);
    t.regex((await reaches(radio, 'off')).hint, /bluetoothctl power on/);
    pendant.faults.silent.clear();
    controller.setUp(true);
    await reaches(radio, 'ready');
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test(`${name}: an adapter that goes down while connecting leaves nothing hanging`, async t => {
    const { controller, pendant, radio, connect } = setUp(t, library, { connectMs: 60_000 });
    pendant.faults.attempt = 'ignore';
    controller.watch(({ opcode }) => opcode === CREATE_CONNECTION && controller.setUp(false));
    await t.throwsAsync(connect(), { message: /switched off|disconnected/ });
    controller.watch(() => {});
    pendant.faults.attempt = 'accept';
    controller.setUp(true);
    await reaches(radio, 'ready');
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test.serial(`${name}: connections that time out again and again have the library started anew`, async t => {
    const { pendant, radio, connect } = setUp(t, library, { connectMs: 30 });
    const states: string[] = [];
    const watching = (async () => {
      for await (const { name } of radio.states()) states.push(name);
    })();
    pendant.faults.attempt = 'ignore';
    for (let i = 0; i < 3; i += 1) await t.throwsAsync(connect(), { message: /took more than 30 ms/ });
    pendant.faults.attempt = 'accept';
    await reaches(radio, 'ready');
    await readCodec(await connect());
    await radio.close();
    await watching;
    t.deepEqual(states.slice(-4), ['ready', 'starting', 'ready', 'closed']);
  });

  test.serial(`${name}: a scan that falls silent is begun anew`, async t => {
    const { controller, pendant, radio } = setUp(t, library, { rescanMs: 50 });
    pendant.vanish();
    const looking = new AbortController();
    const scan = radio.scan(looking.signal)[Symbol.asyncIterator]();
    const sighting = scan.next();
    await controller.scanning();
    const again = Promise.withResolvers<void>();
    controller.watch(
      ({ opcode, parameters }) => opcode === SCAN_ENABLE && parameters[0] === 1 && again.resolve(),
    );
    await again.promise;
    pendant.comeBack();
    t.is((await sighting).value?.name, 'Omi');
    looking.abort();
  });

  test.serial(`${name}: closing ends links in good order and wakes everybody who waits`, async t => {
    const { controller, radio, connect, never } = setUp(t, library);
    const link = await connect();
    const scanEnds = (async () => {
      for await (const _ of radio.scan(never));
    })();
    await radio.close();
    t.regex(await link.closed, /closed by this side/);
    await scanEnds;
    t.is(handlesDisconnected(controller.commands).length, 1);
    t.is(radio.state.name, 'closed');
    await t.throwsAsync(radio.connect(link.id, { signal: never }), { message: /not in sight/ });
  });

  test(`${name}: a closed radio lets the process end, and leaves signals to it`, async t => {
    const code = `
      import { pino } from 'pino';
      import { createClock } from './bridge/clock.ts';
      import { createRadio } from './bridge/radio.ts';
      import { createController } from './bridge/simulator/controller.ts';
      import { simulatedNoble } from './bridge/simulator/simulator.ts';
      const log = pino({ level: 'silent' });
      const listening = () => process.listenerCount('SIGINT') + process.listenerCount('exit');
      const before = listening();
      const load = simulatedNoble(createController(), '${library}');
      const radio = createRadio({ log, clock: createClock(Date.now), load });
      for await (const { name } of radio.states()) if (name === 'ready') break;
      const signals = process.listenerCount('SIGINT');
      await radio.close();
      console.log(JSON.stringify({ signals, more: listening() - before }));`;
    const cwd = new URL('../..', import.meta.url).pathname;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { cwd });
    let output = '';
    child.stdout.on('data', data => {
      output += data;
    });
    const [exitCode] = await once(child, 'close');
    t.is(exitCode, 0);
    t.is(output, '{"signals":0,"more":0}\n');
  });

  const faults: [AdapterFault, RadioState['name'], RegExp][] = [
    ['EPERM', 'unauthorized', /sudo setcap cap_net_raw,cap_net_admin\+eip \//],
    ['ENODEV', 'unsupported', /no Bluetooth Low Energy adapter.*plug one in/],
    ['EAFNOSUPPORT', 'unsupported', /--network host --cap-add NET_RAW/],
  ];
  for (const [fault, state, hint] of faults) {
    test(`${name}: ${fault} becomes "${state}" with the way out`, async t => {
      const controller = createController({ fault });
      const radio = createRadio({ log, clock, load: simulatedNoble(controller, library) });
      t.teardown(radio.close);
      t.regex((await reaches(radio, state)).hint, hint);
    });
  }
}

test('an adapter that is off at the start is told as such', async t => {
  const controller = createController();
  controller.setUp(false);
  const radio = createRadio({ log, clock, load: simulatedNoble(controller) });
  t.teardown(radio.close);
  t.regex((await reaches(radio, 'off')).hint, /switch it on/);
});

test('without any library that loads, the state says so and how to get one', async t => {
  const radio = createRadio({
    log,
    clock,
    load() {
      throw new Error('Module did not self-register');
    },
  });
  t.like(radio.state, { name: 'unsupported' });
  t.regex(radio.state.hint, /npm ci .*\(Module did not self-register\)/);
  await radio.close();
});

function handlesDisconnected(commands: readonly { opcode: number; parameters: Buffer }[]): number[] {
  return commands
    .filter(({ opcode }) => opcode === DISCONNECT)
    .map(({ parameters }) => parameters.readUInt16LE(0));
}
