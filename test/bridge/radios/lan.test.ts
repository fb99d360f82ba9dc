import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import { startDevices } from '../../../bridge/devices/devices.ts';
import { builtInDrivers } from '../../../bridge/driver-host/drivers.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import { startBridge } from '../../../bridge/main.ts';
import type { Advertisement, Radio, ToldFault } from '../../../bridge/radio.ts';
import { addBoard, forgetBoard, readBoards } from '../../../bridge/radios/lan/boards.ts';
import type { Introduction } from '../../../bridge/radios/lan/messages.ts';
import { createLanRadio, type LanLimits } from '../../../bridge/radios/lan/radio.ts';
import { createFrames } from '../../../bridge/simulator/frames.ts';
import { connectBoard, type LanBoard, type Way } from '../../../bridge/simulator/lan-board.ts';
import { readWav } from '../../../bridge/simulator/wav.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { ConfigSchema } from '../../../config/schema.ts';
import { eventually } from '../../helpers/eventually.ts';
import { freePort } from '../../helpers/free-port.ts';
import { startListenServer } from '../../helpers/listen-server.ts';

const clock = createClock(Date.now);
const log = pino({ level: 'silent' });
const WAYS: readonly Way[] = ['tcp', 'ws', 'udp'];
const OPUS = { codec: 'opus_fs320', sampleRate: 16_000, frameMs: 20 } as const;
const frames = createFrames(
  await readWav(new URL('../../fixtures/tomorrow.wav', import.meta.url).pathname),
  21,
);

async function makeDir(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'lan-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function setUp(t: ExecutionContext, limits: Partial<LanLimits> = {}, time = clock) {
  const dir = await makeDir(t);
  const token = await addBoard(dir, 'desk');
  const told: ToldFault[] = [];
  const radio = createLanRadio({
    host: '127.0.0.1',
    port: 0,
    dir,
    log,
    clock: time,
    onFault: fault => told.push(fault),
    limits: { announceMs: 20, boardsMs: 20, ...limits },
  });
  t.teardown(radio.close);
  await eventually(() => radio.state.name === 'ready');
  async function board(
    options: { way?: Way; token?: string; introduction?: Partial<Introduction> } = {},
  ): Promise<LanBoard> {
    const made = await connectBoard({
      way: options.way ?? 'tcp',
      port: radio.port ?? 0,
      token: options.token ?? token,
      introduction: { id: 'desk', ...OPUS, ...options.introduction },
    });
    t.teardown(made.close);
    return made;
  }
  return { dir, token, radio, board, told };
}

async function first(radio: Radio): Promise<Advertisement> {
  const looking = new AbortController();
  for await (const sighting of radio.scan(looking.signal)) return sighting;
  throw new Error('the scan ended');
}

/** Starts the whole bridge except its connection to core. */
async function carry(t: ExecutionContext, radio: Radio, only: string[] = []) {
  const spool = await openSpool({ dir: await makeDir(t), maxBytes: 16 * 1024 * 1024, clock, log });
  const events: BridgeEvent[] = [];
  const recordings: ReturnType<typeof spool.begin>[] = [];
  const devices = startDevices({
    radio,
    drivers: await builtInDrivers(),
    only,
    begin(info) {
      const recording = spool.begin(info);
      recordings.push(recording);
      return recording;
    },
    clock,
    log,
    onEvent: event => events.push(event),
    limits: { firstRetryMs: 10, maxRetryMs: 50 },
  });
  t.teardown(async () => {
    await devices.stop();
    await spool.close();
  });
  return { devices, events, recordings };
}

test.serial(
  'boards over TCP, WebSocket and UDP reach a server that speaks /v4/listen, frame by frame',
  async t => {
    const [dataDir, server, port] = [
      await makeDir(t),
      await startListenServer({ port: 0 }),
      await freePort(),
    ];
    t.teardown(server.kill);
    const tokens = new Map<Way, string>();
    for (const way of WAYS) tokens.set(way, await addBoard(join(dataDir, 'bridge'), way));
    const events: BridgeEvent[] = [];
    const bridge = await startBridge({
      config: ConfigSchema.parse({
        dataDir,
        bridge: { core: server.url, key: 'k', radios: ['lan'], lan: { host: '127.0.0.1', port } },
      }),
      log,
      clock,
      onEvent: event => events.push(event),
    });
    t.teardown(bridge.stop);
    await eventually(() => events.some(event => event.event === 'radio' && event.state === 'ready'));

    for (const [index, way] of WAYS.entries()) {
      const introduction = { id: way, ...OPUS, firmware: '1.2' };
      const board = await connectBoard({ way, port, token: tokens.get(way) ?? '', introduction });
      t.teardown(board.close);
      await board.welcomed;
      board.battery(64);
      for (let number = 0; number < 100; number += 1) board.audio(frames.at(number));
      await eventually(() => events.some(event => event.event === 'device' && event.name === way));
      board.button(2);
      await server.until(() => [...server.streams.values()][index]?.messages.length === 100);
      const { messages } = [...server.streams.values()][index] ?? { messages: [] };
      t.deepEqual(
        messages.map(({ hex }) => hex),
        Array.from({ length: 100 }, (_, number) => Buffer.from(frames.at(number)).toString('hex')),
      );
      await eventually(() => events.some(event => event.event === 'button' && event.device === way));
      t.true(
        events.some(event => event.event === 'about' && event.device === way && event.firmware === '1.2'),
      );
      t.true(events.some(event => event.event === 'device' && event.name === way && event.battery === 64));
    }
  },
);

for (const way of WAYS)
  test(`${way}: frames that the board left out are counted, and a repeated message is ignored`, async t => {
    const { radio, board } = await setUp(t);
    const { devices, recordings } = await carry(t, radio);
    const desk = await board({ way });
    await desk.welcomed;
    desk.audio(frames.at(0));
    desk.skip(3);
    desk.audio(frames.at(4));
    desk.raw(desk.sent.at(-1) ?? Buffer.alloc(0));
    desk.audio(frames.at(5));
    await eventually(() => recordings[0]?.next === 3);
    t.like(devices.counts()[0], { name: 'desk', streaming: true, frames: 3, lost: 3 });
    await eventually(() => radio.counts.malformed.lan === 1);
    desk.alive();
    await eventually(() => desk.answers === 1);
  });

test('a board is carried although bridge.devices names others, as its token proves that it belongs here', async t => {
  const { radio, board } = await setUp(t);
  const { recordings } = await carry(t, radio, ['Omi']);
  const desk = await board();
  await desk.welcomed;
  desk.audio(frames.at(0));
  t.is(
    await eventually(
      () => recordings[0]?.next,
      next => next === 1,
    ),
    1,
  );
});

for (const way of WAYS)
  test(`${way}: a wrong token, an unknown board and an invalid introduction are refused with an explanation`, async t => {
    const { radio, board } = await setUp(t);
    const refusal = async (options: Parameters<typeof board>[0]) =>
      (await t.throwsAsync((await board({ way, ...options })).welcomed)).message;
    const unknown = 'no board with this id has this token';
    t.is(await refusal({ token: 'x'.repeat(40) }), unknown);
    t.is(await refusal({ introduction: { id: 'garden' } }), unknown);
    const wrong = { codec: 'mp3' } as unknown as Partial<Introduction>;
    t.regex(await refusal({ introduction: wrong }), /^codec: /);
    t.is(radio.counts.malformed.lan, 3);
  });

test('audio is unreadable on the wire, and a modified message is dropped', async t => {
  const { radio, board } = await setUp(t);
  const { recordings } = await carry(t, radio);
  const desk = await board();
  await desk.welcomed;
  const frame = Buffer.from('b8 what was said, word for word');
  desk.audio(frame);
  await eventually(() => recordings[0]?.next === 1);
  t.false(Buffer.concat(desk.sent).includes('what was said'));
  const changed = Buffer.from(desk.sent.at(-1) ?? []);
  changed.writeUInt32LE(1, 1);
  desk.raw(changed);
  await eventually(() => radio.counts.malformed.lan === 1);
  t.is(recordings[0]?.next, 1);
});

test('a recorded session cannot be replayed', async t => {
  const { radio, board } = await setUp(t);
  const desk = await board({ way: 'udp' });
  await desk.welcomed;
  desk.audio(frames.at(0));
  const [, hello] = desk.sent;
  desk.raw(hello ?? Buffer.alloc(0)); // as if the welcome was lost: the same session continues
  desk.alive();
  await eventually(() => desk.answers === 1);
  const link = await radio.connect('desk', { signal: new AbortController().signal });
  await link.disconnect();
  desk.raw(hello ?? Buffer.alloc(0));
  await eventually(() => radio.counts.malformed.lan === 1);
  await t.throwsAsync(radio.connect('desk', { signal: new AbortController().signal }), {
    message: /is not connected/,
  });
  const other = await board({ way: 'udp' });
  await other.welcomed;
  other.raw(hello ?? Buffer.alloc(0)); // another address does not know the bridge's challenge
  t.is(
    await eventually(
      () => radio.counts.malformed.lan,
      count => count === 2,
    ),
    2,
  );
});

test('unauthenticated messages are cheap: a late hello, no message, a message that is too long', async t => {
  const { radio } = await setUp(t, { helloMs: 50 });
  const opened = async (bytes: Buffer) => {
    const socket = connect(radio.port ?? 0, '127.0.0.1');
    const heard: Buffer[] = [];
    socket.on('data', chunk => heard.push(chunk));
    socket.on('error', () => {});
    socket.write(bytes);
    await once(socket, 'close');
    return Buffer.concat(heard).subarray(3).toString();
  };
  t.is(await opened(Buffer.alloc(0)), '');
  t.is(await opened(Buffer.from([0xff, 0xff, 1])), 'a message has 1 to 2048 bytes, not 65535');
  t.is(await opened(Buffer.from([3, 0, 0x10, 1, 2])), '');
  t.is(radio.counts.malformed.lan, 1);
  t.is(radio.state.name, 'ready');
});

test('of many connections without a hello, the oldest are closed', async t => {
  const { radio, board } = await setUp(t, { helloMs: 600_000 });
  const sockets = Array.from({ length: 40 }, () => connect(radio.port ?? 0, '127.0.0.1'));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (const socket of sockets) socket.on('error', () => {}).resume();
  await eventually(() => sockets.filter(({ closed }) => closed).length === 8);
  const desk = await board();
  await t.notThrowsAsync(desk.welcomed);
});

test('a board that sends too much is disconnected', async t => {
  const { radio, board } = await setUp(t, { messagesPerSecond: 20 });
  const desk = await board();
  await desk.welcomed;
  await first(radio);
  const link = await radio.connect('desk', { signal: new AbortController().signal });
  for (let number = 0; number < 100; number += 1) desk.audio(frames.at(0));
  t.is(await link.closed, 'the board sends too much data');
  await desk.closed;
});

test('no board is refused at the start, because the port is opened once the boards have been read', async t => {
  const dir = await makeDir(t);
  const token = await addBoard(dir, 'desk');
  const file = join(dir, 'boards.json');
  const content = await readFile(file);
  await rm(file);
  execFileSync('mkfifo', [file]); // whoever reads it waits until it is written
  const limits = { boardsMs: 600_000 };
  const radio = createLanRadio({ host: '127.0.0.1', port: 0, dir, log, clock, limits });
  t.teardown(radio.close);

  const writer = await open(file, 'w'); // as soon as the radio reads it
  t.teardown(() => writer.close().catch(() => {}));
  for (let round = 0; round < 100; round += 1) await setImmediate();
  t.is(radio.port, null);
  await writer.writeFile(content);
  await writer.close();

  await eventually(() => radio.state.name === 'ready');
  const port = radio.port ?? 0;
  const board = await connectBoard({ way: 'tcp', port, token, introduction: { id: 'desk', ...OPUS } });
  t.teardown(board.close);
  await t.notThrowsAsync(board.welcomed);
});

test('a silent board is removed; one that connects again replaces its former connection', async t => {
  let now = 0;
  const { radio, board } = await setUp(t, { silentMs: 300 }, { ...clock, now: () => now });
  const before = await board();
  await before.welcomed;
  await first(radio);
  const never = new AbortController().signal;
  const link = await radio.connect('desk', { signal: never });
  const after = await board({ way: 'udp' });
  await after.welcomed;
  t.is(await link.closed, 'the board connected again');
  await before.closed;
  await first(radio);
  const next = await radio.connect('desk', { signal: never });
  now = 300;
  t.is(await next.closed, 'the board stopped responding');
});

test('boards are added and deleted while the bridge runs; only its account may read their tokens', async t => {
  const { radio, board, dir } = await setUp(t);
  const garden = await addBoard(dir, 'garden');
  t.is((await stat(join(dir, 'boards.json'))).mode & 0o777, 0o600);
  await eventually(async () => {
    const made = await board({ token: garden, introduction: { id: 'garden' } });
    return made.welcomed.then(
      () => true,
      () => false,
    );
  });
  t.is((await first(radio)).id, 'garden');
  const link = await radio.connect('garden', { signal: new AbortController().signal });
  await forgetBoard(dir, 'garden');
  t.is(await link.closed, 'the board was removed');
  t.deepEqual(
    (await readBoards(dir)).map(({ id }) => id),
    ['desk'],
  );
  await t.throwsAsync(forgetBoard(dir, 'garden'), { message: /no board is called garden/ });
  await t.throwsAsync(addBoard(dir, 'desk'), { message: /there is already a board desk/ });
  await t.throwsAsync(addBoard(dir, 'My Desk'), { message: /lower-case letters/ });
});

test('a port in use is reported with instructions, and used when it is free', async t => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const limits = { reopenMs: 20 };
  const radio = createLanRadio({ host: '127.0.0.1', port, dir: await makeDir(t), log, clock, limits });
  t.teardown(radio.close);
  await eventually(() => radio.state.name === 'unsupported');
  t.regex(radio.state.hint, /EADDRINUSE.*choose another bridge\.lan\.port/);
  other.close();
  await eventually(() => radio.state.name === 'ready');
  t.is(radio.port, port);
});
