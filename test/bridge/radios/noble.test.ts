import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import type { Link } from '../../../bridge/link.ts';
import type { Advertisement, Radio, RadioState, ToldFault } from '../../../bridge/radio.ts';
import type { Noble } from '../../../bridge/radios/noble/noble.ts';
import { createNobleRadio, type RadioLimits } from '../../../bridge/radios/noble/radio.ts';
import {
  type AdapterFault,
  type ControllerOptions,
  createController,
} from '../../../bridge/simulator/controller.ts';
import {
  AUDIO_CODEC,
  AUDIO_DATA,
  AUDIO_SERVICE,
  BATTERY_LEVEL,
  BATTERY_SERVICE,
  createPendant,
  type PendantOptions,
} from '../../../bridge/simulator/pendant.ts';
import { encodeReport } from '../../../bridge/simulator/reports.ts';
import { simulatedNoble } from '../../../bridge/simulator/simulator.ts';
import { eventually } from '../../helpers/eventually.ts';

process.setMaxListeners(100); // every library instance listens for the exit of the process
const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const require = createRequire(import.meta.url);
const LIBRARIES = ['@abandonware/noble', '@stoprocent/noble'].filter(isInstalled);

/** HCI commands by opcode. */
const SCAN_ENABLE = 0x200c;
const CREATE_CONNECTION = 0x200d;
const DISCONNECT = 0x0406;

/** For events that must be in time on a busy machine, and for those that must be late. */
const [PATIENT_MS, SHORT_MS] = [60_000, 1000];

const plain = (uuid: string) => uuid.replaceAll('-', '');

function isInstalled(name: string): boolean {
  try {
    return Boolean(require.resolve(name));
  } catch {
    return false;
  }
}

function setUp(
  t: ExecutionContext,
  library: string,
  limits: Partial<RadioLimits> = {},
  options: { controller?: ControllerOptions; pendant?: Partial<PendantOptions> } = {},
) {
  const controller = createController(options.controller);
  const pendant = createPendant({ codecId: 21, frames: null, clock, ...options.pendant });
  controller.add(pendant);
  const told: ToldFault[] = [];
  const loaded: Noble[] = [];
  const radio = createNobleRadio({
    log,
    clock,
    load(libraryLog) {
      const noble = simulatedNoble(controller, library)(libraryLog);
      loaded.push(noble);
      return noble;
    },
    onFault: fault => told.push(fault),
    limits: { attMs: PATIENT_MS, connectMs: PATIENT_MS, disconnectMs: PATIENT_MS, ...limits },
  });
  t.teardown(radio.close);
  const never = new AbortController().signal;
  const sighted = async () => (await first(radio)).id;
  const connect = async () => radio.connect(await sighted(), { signal: never });
  return { controller, pendant, radio, sighted, connect, never, told, loaded };
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const event = (code: number, parameters: Iterable<number>) =>
  Buffer.from([4, code, [...parameters].length, ...parameters]);

/**
 * Builds one data packet of a connection.
 * @param channel 4: attributes, 5: signalling, 6: pairing
 */
function carried(handle: number, channel: number, message: Buffer): Buffer {
  const packet = Buffer.alloc(9 + message.length);
  packet[0] = 2;
  packet.writeUInt16LE(handle | 0x2000, 1);
  packet.writeUInt16LE(4 + message.length, 3);
  packet.writeUInt16LE(message.length, 5);
  packet.writeUInt16LE(channel, 7);
  message.copy(packet, 9);
  return packet;
}

/** Resolves when everything injected has arrived. */
const settled = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)));

async function reaches(radio: Radio, name: RadioState['name']): Promise<RadioState> {
  for await (const state of radio.states()) if (state.name === name) return state;
  throw new Error(`the radio was closed before it became ${name}`);
}

/** Resolves to the next device sighted. */
async function first(radio: Radio): Promise<Advertisement> {
  const looking = new AbortController();
  for await (const sighting of radio.scan(looking.signal)) return sighting;
  throw new Error('the scan ended');
}

const has = async (link: Link, service: string, uuid: string) =>
  (await link.properties(service, uuid)).length > 0;
const readCodec = (link: Link) => link.read(AUDIO_SERVICE, AUDIO_CODEC);
const subscribe = (link: Link, onData: (data: Buffer) => void = () => {}) =>
  link.subscribe(AUDIO_SERVICE, AUDIO_DATA, onData);

for (const library of LIBRARIES) {
  const name = library.split('/')[0];

  test.serial(`${name}: a device is seen, connected, read, and streamed from`, async t => {
    const { pendant, radio, connect } = setUp(t, library);
    await reaches(radio, 'ready');
    t.like(await first(radio), { name: 'Omi', address: 'c0:ff:ee:00:00:01', rssi: -50 });
    const link = await connect();
    t.true(await has(link, AUDIO_SERVICE, AUDIO_CODEC));
    t.false(await has(link, AUDIO_SERVICE, '2a19'));
    t.false(await has(link, '1234', AUDIO_CODEC));
    t.deepEqual([...(await readCodec(link))], [21]);
    t.deepEqual([...(await link.read(BATTERY_SERVICE, BATTERY_LEVEL))], [87]);
    t.is(link.mtu, 498);
    const heard = Promise.withResolvers<Buffer>();
    await subscribe(link, heard.resolve);
    pendant.notifyAudio(Buffer.alloc(200, 7));
    t.deepEqual(await heard.promise, Buffer.alloc(200, 7));
  });

  test.serial(`${name}: a connection requests a supervision timeout of 4 s, and pauses the scan`, async t => {
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
  });

  test.serial(`${name}: a device seen before is seen again when it returns`, async t => {
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

  test.serial(`${name}: a refused read rejects, although the library resolves to nothing`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.errors.set(plain(AUDIO_CODEC), 0x02);
    const link = await connect();
    await t.throwsAsync(readCodec(link), { message: /19b10002/ });
  });

  test.serial(`${name}: an empty value rejects`, async t => {
    const { pendant, connect } = setUp(t, library);
    pendant.faults.codec = () => new Uint8Array();
    await t.throwsAsync(readCodec(await connect()), { message: /refused the read of 19b10002/ });
  });

  test.serial(`${name}: a refused subscription has a time limit, and ends the connection`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: SHORT_MS });
    pendant.faults.errors.set(plain(AUDIO_DATA), 0x03);
    const link = await connect();
    await t.throwsAsync(subscribe(link), { message: /subscribing to 19b10001.* connection was dropped/ });
    t.regex(await link.closed, /subscribing to 19b10001.*refused with ATT error 3/);
    pendant.faults.errors.clear();
    await subscribe(await connect());
  });

  test.serial(`${name}: a read without an answer has a time limit, and ends the connection`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: SHORT_MS });
    pendant.faults.silent.add(plain(AUDIO_CODEC));
    const link = await connect();
    await t.throwsAsync(readCodec(link), { message: /reading 19b10002.* more than 1000 ms/ });
    await link.closed;
    pendant.faults.silent.clear();
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test.serial(`${name}: the error that stalls the library's queue ends the connection`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: SHORT_MS });
    pendant.faults.errors.set(plain(AUDIO_CODEC), 0x04);
    const link = await connect();
    await t.throwsAsync(readCodec(link), { message: /connection was dropped/ });
    pendant.faults.errors.clear();
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test.serial(`${name}: a device that disappears during a read rejects it at once`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: 60_000 });
    const link = await connect();
    await has(link, AUDIO_SERVICE, AUDIO_CODEC);
    pendant.faults.silent.add(plain(AUDIO_CODEC));
    const reading = readCodec(link);
    pendant.dropLink();
    await t.throwsAsync(reading, { message: /out of range|Disconnected/ });
    t.regex(await link.closed, /out of range/);
    await t.throwsAsync(readCodec(link));
  });

  test.serial(
    `${name}: connecting to an absent device has a time limit, and does not block others`,
    async t => {
      const { controller, pendant, connect } = setUp(t, library, { connectMs: SHORT_MS });
      pendant.faults.attempt = 'ignore';
      await t.throwsAsync(connect(), { message: /connecting took more than 1000 ms/ });
      t.false(controller.isConnecting());
      pendant.faults.attempt = 'accept';
      t.deepEqual([...(await readCodec(await connect()))], [21]);
      // A disconnect while connecting would be sent for handle 0, which may be another device's.
      t.deepEqual(handlesDisconnected(controller.commands), []);
    },
  );

  test.serial(`${name}: a connection attempt can be cancelled`, async t => {
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
    await has(link, AUDIO_SERVICE, AUDIO_CODEC);
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

  test.serial(`${name}: connections that time out repeatedly restart the library`, async t => {
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

  test.serial(`${name}: a scan that reports nothing is restarted`, async t => {
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

  test.serial(`${name}: closing ends links cleanly and wakes all waiting callers`, async t => {
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
    await t.throwsAsync(radio.connect(link.id, { signal: never }), { message: /not in range/ });
  });

  test(`${name}: after closing a radio the process can exit, and handles its own signals`, async t => {
    const code = `
      import { pino } from 'pino';
      import { createClock } from './bridge/clock.ts';
      import { createNobleRadio } from './bridge/radios/noble/radio.ts';
      import { createController } from './bridge/simulator/controller.ts';
      import { simulatedNoble } from './bridge/simulator/simulator.ts';
      const log = pino({ level: 'silent' });
      const listening = () => process.listenerCount('SIGINT') + process.listenerCount('exit');
      const before = listening();
      const load = simulatedNoble(createController(), '${library}');
      const radio = createNobleRadio({ log, clock: createClock(Date.now), load });
      for await (const { name } of radio.states()) if (name === 'ready') break;
      const signals = process.listenerCount('SIGINT');
      await radio.close();
      console.log(JSON.stringify({ signals, more: listening() - before }));`;
    const cwd = new URL('../../..', import.meta.url).pathname;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], { cwd });
    let output = '';
    child.stdout.on('data', data => {
      output += data;
    });
    const [exitCode] = await once(child, 'close');
    t.is(exitCode, 0);
    t.is(output, '{"signals":0,"more":0}\n');
  });

  for (const extended of [false, true]) {
    const kind = extended ? 'an extended' : 'a';
    test.serial(
      `${name}: ${kind} advertisement whose structure is too short is ignored and reported`,
      async t => {
        const options = { controller: { extended } };
        const { controller, radio, connect, told } = setUp(t, library, {}, options);
        const link = await connect();
        for (const data of [
          '02 01 06 01 0a',
          '01 0a',
          '02 01 06 02 16 0f',
          '03 20 01 02',
          '05 21 01 02 03 04',
        ])
          controller.inject(encodeReport(extended, 0, 'd0:00:00:00:00:01', hex(data)));
        controller.inject(event(0x3e, [extended ? 0x0d : 0x02, 9, 0, 1, 1, 2, 3]));
        await settled();
        t.is(told.length, 1); // of this many
        t.like(told[0], { kind: 'advertisement', from: 'd0:00:00:00:00:01', count: 1 });
        t.deepEqual(radio.counts, { malformed: { advertisement: 6 }, restarts: 0 });
        t.deepEqual([...(await readCodec(link))], [21]);
        const sighting = first(radio);
        await controller.scanning();
        for (const type of [0, 4])
          controller.inject(encodeReport(extended, type, 'd0:00:00:00:00:02', hex('02 01 06')));
        t.is((await sighting).address, 'd0:00:00:00:00:02');
      },
    );
  }

  test.serial(
    `${name}: malformed packets of a connected device are ignored, and the link continues`,
    async t => {
      const { controller, pendant, radio, connect, told } = setUp(t, library);
      const link = await connect();
      let heard = 0;
      await subscribe(link, () => {
        heard += 1;
      });
      const handle = controller.handleOf(pendant) ?? 0;
      const start = (bytes: number) => Buffer.from([2, handle, 0x20, bytes, 0, ...Buffer.alloc(bytes, 1)]);
      for (const bytes of [0, 1, 2, 3]) controller.inject(start(bytes));
      controller.inject(Buffer.from([2, handle, 0x20, 5, 0, 0, 0, 4, 0, 0x1b])); // longer than its header states
      controller.inject(event(0x08, [0, handle, 0, 1])); // unrequested encryption
      for (const message of ['1b', '1b 01', '']) controller.inject(carried(handle, 4, hex(message)));
      for (const message of ['', '02', '03', '04 00']) controller.inject(carried(handle, 6, hex(message)));
      controller.inject(carried(handle, 6, hex('02 03 00 01 10 00 01'))); // unrequested pairing
      for (const message of ['', '12', '12 01 08 00 01']) controller.inject(carried(handle, 5, hex(message)));
      controller.inject(event(0x0e, [1, 0, 0])); // how adapters only signal that they accept commands
      await settled();
      const { malformed, restarts } = radio.counts;
      t.deepEqual(malformed, { data: 6, event: 1, notification: 2, pairing: 5, signalling: 3 });
      t.true(told.every(({ from, problem }) => from === 'Omi' && problem !== ''));
      t.is(restarts, 0);
      pendant.notifyAudio(Buffer.alloc(200, 7));
      t.deepEqual([...(await readCodec(link))], [21]);
      t.is(heard, 1);
    },
  );

  test.serial(`${name}: a device with an unusable answer is disconnected, with the reason`, async t => {
    for (const answer of ['11 06', '11 00 01 00 05 00 0f 18', '11 07 01 00 05 00 0f 18']) {
      const { controller, pendant, radio, connect } = setUp(t, library, { attMs: 60_000 });
      const { receive } = pendant;
      pendant.receive = pdu => (pdu[0] === 0x10 ? hex(answer) : receive(pdu));
      const link = await connect();
      await t.throwsAsync(readCodec(link), { message: /its answer is malformed: its list/ });
      t.regex(await link.closed, /its answer is malformed: its list/);
      t.deepEqual(radio.counts, { malformed: { answer: 1 }, restarts: 0 });
      pendant.receive = receive;
      t.deepEqual([...(await readCodec(await connect()))], [21]);
      t.not(controller.handleOf(pendant), undefined);
      await radio.close();
    }
  });

  test.serial(`${name}: a failure inside the library restarts it, and devices are found again`, async t => {
    const { controller, radio, connect, loaded } = setUp(t, library);
    const link = await connect();
    loaded[0]?._bindings?._hci?.once('leConnUpdateComplete', () => {
      throw new TypeError('a fault of the library');
    });
    controller.inject(event(0x3e, [3, 0, 0x40, 0, 24, 0, 0, 0, 144, 1]));
    t.regex(await link.closed, /library failed, and was restarted/);
    await reaches(radio, 'ready');
    t.deepEqual([...(await readCodec(await connect()))], [21]);
    t.is(loaded.length, 2);
    t.is(radio.counts.restarts, 1);
  });

  test.serial(`${name}: nothing is kept of a connection that ended`, async t => {
    const { controller, pendant, connect, loaded } = setUp(t, library);
    const link = await connect();
    await readCodec(link);
    const noble = loaded[0];
    const bindings = noble?._bindings;
    const tables = () =>
      [noble?._services, noble?._characteristics, noble?._descriptors].map(
        table => Object.keys((table as Record<string, object>)[link.id] ?? {}).length,
      );
    t.true(tables().every(count => count > 0));
    const handle = controller.handleOf(pendant) ?? 0;
    const part = carried(handle, 4, Buffer.alloc(20)).subarray(0, 19);
    part.writeUInt16LE(14, 3);
    controller.inject(part);
    await settled();
    t.deepEqual(Object.keys(bindings?._hci?._handleBuffers ?? {}), [String(handle)]);
    pendant.dropLink();
    await link.closed;
    await settled();
    t.deepEqual(tables(), [0, 0, 0]);
    t.deepEqual(bindings?._hci?._handleBuffers, {});
  });

  test.serial(`${name}: a connection ends when another one takes its handle or its device`, async t => {
    const { controller, pendant, connect, loaded } = setUp(t, library);
    const other = '01 00 00 00 00 d0';
    const established = (handle: number, address: string) =>
      event(0x3e, [1, 0, handle, 0, 0, 1, ...hex(`${address} 18 00 00 00 90 01 00`)]);
    const link = await connect();
    const handle = controller.handleOf(pendant) ?? 0;
    controller.inject(established(handle, other));
    t.regex(await link.closed, /out of range/);
    const { _gatts = {}, _aclStreams = {} } = loaded[0]?._bindings ?? {};
    t.deepEqual(Object.keys(_gatts), [String(handle), 'd00000000001']);
    controller.inject(established(handle + 1, other));
    await settled();
    t.deepEqual(Object.keys(_gatts), [String(handle + 1), 'd00000000001']);
    t.deepEqual(Object.keys(_aclStreams), [String(handle + 1)]);
  });

  test.serial(`${name}: a name with control characters is shown without them`, async t => {
    const { radio, connect } = setUp(t, library, {}, { pendant: { name: '\x1b[31mOmi\r\n\x07' } });
    t.is((await first(radio)).name, '[31mOmi');
    t.is((await connect()).name, '[31mOmi');
  });

  test.serial(`${name}: the number of remembered addresses of strangers is limited`, async t => {
    const { controller, radio, connect, loaded } = setUp(t, library);
    const link = await connect();
    const looking = new AbortController();
    const watching = (async () => {
      for await (const _ of radio.scan(looking.signal));
    })();
    await controller.scanning();
    for (let i = 0; i < 20_000; i += 1) {
      const address = `d0:00:00:00:${[i >> 8, i & 0xff].map(byte => byte.toString(16).padStart(2, '0')).join(':')}`;
      for (const type of i % 2 ? [0, 4] : [0])
        controller.inject(encodeReport(false, type, address, hex('02 01 06')));
      if (i % 500 === 0) await settled();
    }
    await settled();
    const [noble] = loaded;
    const tables = [
      noble?._peripherals,
      noble?._services,
      noble?._characteristics,
      noble?._descriptors,
      noble?._bindings?._addresses,
      noble?._bindings?._connectable,
      noble?._bindings?._gap?._discoveries,
    ];
    for (const table of tables) {
      const size = table instanceof Map ? table.size : Object.keys(table ?? {}).length;
      t.true(size > 0 && size < 1100, `${size}`);
    }
    t.deepEqual([...(await readCodec(link))], [21]);
    looking.abort();
    await watching;
    await link.disconnect();
    await connect();
  });

  test.serial(
    `${name}: an adapter that refuses to scan is reported with instructions, until it scans`,
    async t => {
      const { controller, radio } = setUp(t, library, { scanRetryMs: 5 });
      await reaches(radio, 'ready');
      controller.refuseScan(0x0c);
      const sighting = first(radio);
      const hints: string[] = [];
      for await (const { hint } of radio.states()) if (hints.push(hint) > 1 && hint) break;
      t.regex(
        radio.state.hint,
        /refuses to scan \(another program may be scanning, 0x0c\).*bluetoothctl scan off/,
      );
      controller.refuseScan(0);
      t.is((await sighting).name, 'Omi');
      for await (const { hint } of radio.states()) if (!hint) break;
      t.is(radio.state.name, 'ready');
    },
  );

  test.serial(
    `${name}: an adapter that is silent at the start is reported as such, and asked again`,
    async t => {
      const controller = createController();
      controller.setSilent(true);
      const load = simulatedNoble(controller, library);
      const radio = createNobleRadio({ log, clock, load, limits: { askAgainMs: 30 } });
      t.teardown(radio.close);
      for await (const { hint } of radio.states()) if (hint) break;
      t.like(radio.state, { name: 'starting' });
      t.regex(radio.state.hint, /does not answer.*hciconfig hci0 reset/);
      controller.setSilent(false);
      t.is((await reaches(radio, 'ready')).hint, '');
    },
  );

  test.serial(`${name}: an adapter that is plugged in later is found`, async t => {
    const controller = createController({ fault: 'ENODEV' });
    const load = simulatedNoble(controller, library);
    const radio = createNobleRadio({ log, clock, load, limits: { askAgainMs: 30 } });
    t.teardown(radio.close);
    await reaches(radio, 'unsupported');
    controller.setFault(undefined);
    t.is((await reaches(radio, 'ready')).hint, '');
  });

  test.serial(`${name}: an absent adapter is never reported as off`, async t => {
    const simulated = simulatedNoble(createController({ fault: 'ENODEV' }), library);
    let loaded = 0;
    const load: typeof simulated = libraryLog => {
      loaded += 1;
      return simulated(libraryLog);
    };
    const radio = createNobleRadio({ log, clock, load, limits: { askAgainMs: 30 } });
    t.teardown(radio.close);
    const seen = new Set<string>();
    const watch = async () => {
      for await (const { name } of radio.states()) seen.add(name);
    };
    void watch();
    await eventually(() => loaded >= 4);
    t.false(seen.has('off'));
    t.true(seen.has('unsupported'));
  });

  test.serial(`${name}: an adapter that becomes unsupported later is asked again`, async t => {
    const { controller, radio, connect } = setUp(t, library, { askAgainMs: 1 });
    await connect();
    controller.inject(event(0x0e, [1, 0x01, 0x10, 0, 5, 0, 0, 5, 0xff, 0xff, 0, 0])); // a Bluetooth adapter of 2009
    await reaches(radio, 'unsupported');
    await reaches(radio, 'ready');
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test.serial(`${name}: failed pairing is reported as such, at once if the device says so`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: 300 });
    pendant.faults.errors.set(plain(AUDIO_CODEC), 0x0f);
    await t.throwsAsync(readCodec(await connect()), { message: /pairing failed: it did not answer/ });
    pendant.faults.pairing = 0x03;
    const { connect: connectPatiently, pendant: other } = setUp(t, library, { attMs: 60_000 });
    other.faults.errors.set(plain(AUDIO_CODEC), 0x05);
    other.faults.pairing = 0x03;
    const link = await connectPatiently();
    await t.throwsAsync(readCodec(link), { message: /pairing failed: it requires Secure Connections/ });
    await link.closed;
  });

  test.serial(`${name}: the failure of an optional request never ends the connection`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: SHORT_MS });
    const optional = { optional: true };
    const readBattery = (link: Link) => link.read(BATTERY_SERVICE, BATTERY_LEVEL, optional);
    const watchBattery = (link: Link) => link.subscribe(BATTERY_SERVICE, BATTERY_LEVEL, () => {}, optional);
    pendant.faults.errors.set('2a19', 0x02);
    const link = await connect();
    await t.throwsAsync(readBattery(link), { message: /refused/ });
    await t.throwsAsync(watchBattery(link), { message: /refused with ATT error 2/ });
    t.deepEqual([...(await readCodec(link))], [21]);
    pendant.faults.silent.add('2a19');
    await t.throwsAsync(readBattery(link), { message: /more than 1000 ms/ });
    await link.probe(AUDIO_SERVICE, AUDIO_CODEC); // all requests wait behind that one, so the adapter is asked
    pendant.slipAway();
    await link.probe(AUDIO_SERVICE, AUDIO_CODEC);
    t.regex(await link.closed, /the adapter no longer has this connection/);
  });

  test.serial(
    `${name}: a test of the link does not wait behind an optional request without answer`,
    async t => {
      const { pendant, connect } = setUp(t, library, { attMs: SHORT_MS });
      pendant.faults.silent.add('2a19');
      const link = await connect();
      await readCodec(link);
      await link.properties(BATTERY_SERVICE, BATTERY_LEVEL); // which leaves the read alone
      const battery = link.read(BATTERY_SERVICE, BATTERY_LEVEL, { optional: true });
      await settled(); // it has been sent
      const [refused] = await Promise.allSettled([battery, link.probe(AUDIO_SERVICE, AUDIO_CODEC)]);
      t.is(refused.status, 'rejected');
      t.is(await Promise.race([link.closed, 'open']), 'open');
      pendant.slipAway();
      await link.probe(AUDIO_SERVICE, AUDIO_CODEC);
      t.regex(await link.closed, /the adapter no longer has this connection/);
    },
  );

  test.serial(`${name}: characteristics are found in all services with the same UUID`, async t => {
    const pendant: Partial<PendantOptions> = {
      services: ([audio, ...others]) => [
        { uuid: AUDIO_SERVICE, characteristics: [] },
        ...(audio ? [audio] : []),
        ...others,
        { uuid: AUDIO_SERVICE, characteristics: [{ uuid: '2a00', properties: ['read'] }] },
      ],
    };
    const { pendant: device, connect } = setUp(t, library, {}, { pendant });
    const link = await connect();
    t.deepEqual([...(await readCodec(link))], [21]);
    t.true(await has(link, AUDIO_SERVICE, '2a00'));
    const heard = Promise.withResolvers<Buffer>();
    await subscribe(link, heard.resolve);
    device.notifyAudio(Buffer.alloc(20, 7));
    t.is((await heard.promise).length, 20);
  });

  test.serial(`${name}: a device that is slow with each answer is waited for`, async t => {
    const { pendant, connect } = setUp(t, library, { attMs: 150 });
    pendant.faults.answerMs = 100; // a discovery takes several
    t.deepEqual([...(await readCodec(await connect()))], [21]);
  });

  test.serial(
    `${name}: a connection reported under the device's identity address is the requested one`,
    async t => {
      const pendant = { address: '5a:ff:ee:00:00:01', identity: 'c0:ff:ee:00:00:99' };
      const { connect } = setUp(t, library, {}, { pendant });
      const link = await connect();
      t.is(link.id, '5affee000001');
      t.deepEqual([...(await readCodec(link))], [21]);
    },
  );

  test.serial(`${name}: the support of long packets by the adapter is known`, async t => {
    const { connect } = setUp(t, library, {}, { controller: { dataLength: false } });
    t.is((await connect()).hasDataLength, false);
    const { connect: connectNewer } = setUp(t, library);
    t.not((await connectNewer()).hasDataLength, false);
  });

  const faults: [AdapterFault, RadioState['name'], RegExp][] = [
    ['EPERM', 'unauthorized', /sudo setcap cap_net_raw,cap_net_admin\+eip \//],
    ['ENODEV', 'unsupported', /no Bluetooth Low Energy adapter.*plug one in/],
    ['EAFNOSUPPORT', 'unsupported', /--network host --cap-add NET_RAW/],
  ];
  for (const [fault, state, hint] of faults) {
    test(`${name}: ${fault} becomes "${state}" with instructions`, async t => {
      const controller = createController({ fault });
      const radio = createNobleRadio({ log, clock, load: simulatedNoble(controller, library) });
      t.teardown(radio.close);
      t.regex((await reaches(radio, state)).hint, hint);
    });
  }
}

test.serial('with HCI_CHANNEL_USER the library that would hang is skipped, with the reason', async t => {
  process.env.HCI_CHANNEL_USER = '1';
  t.teardown(() => delete process.env.HCI_CHANNEL_USER);
  const controller = createController();
  const radio = createNobleRadio({ log, clock, load: simulatedNoble(controller, '@abandonware/noble') });
  t.teardown(radio.close);
  t.regex(
    radio.state.hint,
    /it hangs with HCI_CHANNEL_USER; unset this variable, or install @stoprocent\/noble/,
  );
  const other = createNobleRadio({ log, clock, load: simulatedNoble(controller) });
  t.teardown(other.close);
  await reaches(other, 'ready');
});

test('an adapter that is off at the start is reported as such', async t => {
  const controller = createController();
  controller.setUp(false);
  const radio = createNobleRadio({ log, clock, load: simulatedNoble(controller) });
  t.teardown(radio.close);
  t.regex((await reaches(radio, 'off')).hint, /switch it on/);
});

test('if no library loads, the state says so and how to install one', async t => {
  const radio = createNobleRadio({
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
