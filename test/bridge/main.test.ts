import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../bridge/clock.ts';
import type { BridgeEvent } from '../../bridge/events.ts';
import { type BridgeOptions, startBridge } from '../../bridge/main.ts';
import { createFrames } from '../../bridge/simulator/frames.ts';
import { readWav } from '../../bridge/simulator/wav.ts';
import { type Config, ConfigSchema } from '../../config/schema.ts';
import { type HeldMessage, type ListenServer, startListenServer } from '../helpers/listen-server.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const MAIN = join(ROOT, 'bridge/bin.mjs');
const RECORDING = join(ROOT, 'test/fixtures/tomorrow.wav');
const clock = createClock(Date.now);
const source = createFrames(await readWav(RECORDING), 21);
/** What the pendant sends: the recording, and silence behind it, so that time goes on. */
const expected = (count: number) =>
  Array.from({ length: count }, (_, i) => Buffer.from(source.at(i)).toString('hex'));

async function makeDir(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'bridge-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

async function makeServer(t: ExecutionContext, port = 0): Promise<ListenServer> {
  const server = await startListenServer({ port });
  t.teardown(server.kill);
  return server;
}

function configFor(dataDir: string, bridge: Partial<Config['bridge']>): Config {
  return ConfigSchema.parse({ dataDir, bridge });
}

const log = pino({ level: 'silent' });

async function start(t: ExecutionContext, options: Partial<BridgeOptions> & { config: Config }) {
  const bridge = await startBridge({ log, clock, ...options });
  t.teardown(bridge.stop);
  return bridge;
}

const hexOf = (messages: HeldMessage[]) => messages.map(({ hex }) => hex);
const firstStream = (server: ListenServer) => [...server.streams.values()][0]?.messages ?? [];

test('a recording goes from the simulated pendant to a server that speaks /v4/listen, frame by frame', async t => {
  const [dataDir, server] = await Promise.all([makeDir(t), makeServer(t)]);
  const events: BridgeEvent[] = [];
  const bridge = await start(t, {
    config: configFor(dataDir, { core: server.url, key: 'k' }),
    simulate: { audio: RECORDING, speed: 20 },
    onEvent: event => events.push(event),
  });
  await server.until(() => firstStream(server).length > source.length + 20);
  const messages = hexOf(firstStream(server));
  t.deepEqual(messages, expected(messages.length));
  await bridge.stop();
  const names = events.map(({ event }) => event);
  for (const name of ['radio', 'device', 'connected', 'conversation_session', 'disconnected', 'counts'])
    t.true(names.includes(name as BridgeEvent['event']), name);
  t.like(events.at(-1), { event: 'counts', spool: { bytes: 0, oldestMs: null, dropped: 0 } });
});

test('it stops in good order while core is away, and the next one brings the audio', async t => {
  const [dataDir, server] = await Promise.all([makeDir(t), makeServer(t)]);
  await server.kill();
  const config = configFor(dataDir, { core: server.url, key: 'k' });
  const streaming = Promise.withResolvers<void>();
  const bridge = await start(t, {
    config,
    simulate: { audio: RECORDING, speed: 20 },
    onEvent: event => event.event === 'disconnected' && streaming.resolve(),
  });
  await streaming.promise;
  await bridge.stop();
  const back = await makeServer(t, server.port);
  await start(t, { config, simulate: { audio: RECORDING, name: 'Another' }, limits: FAST });
  await back.until(() => back.streams.size >= 1);
  const [earlier] = back.connections;
  await earlier?.closed;
  const messages = hexOf(firstStream(back));
  t.true(messages.length > 0);
  t.deepEqual(messages, expected(messages.length));
});
const FAST = { uplink: { firstRetryMs: 10, finalAckMs: 100 } };

test('now and then it counts what waits and for how long, who streams, and how core was reached', async t => {
  const [dataDir, server] = await Promise.all([makeDir(t), makeServer(t)]);
  server.refuse = { status: 503 };
  type Counts = BridgeEvent & { event: 'counts' };
  const counts: Counts[] = [];
  let look = () => {};
  const lines: { msg: string }[] = [];
  await start(t, {
    config: configFor(dataDir, { core: server.url, key: 'k' }),
    log: pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }),
    simulate: { audio: RECORDING, speed: 20, loop: true },
    limits: { ...FAST, countsMs: 20 },
    onEvent(event) {
      if (event.event !== 'counts') return;
      counts.push(event);
      look();
    },
  });
  const until = (fits: (counts: Counts) => boolean) =>
    new Promise<Counts>(resolve => {
      look = () => {
        const latest = counts.at(-1);
        if (latest && fits(latest)) resolve(latest);
      };
    });
  const away = await until(({ core, spool }) => core.failures > 1 && (spool.oldestMs ?? 0) > 100);
  t.true(away.spool.bytes > 0);
  t.is(away.core.connections, 0);
  t.like(away.devices[0], { name: 'Omi', streaming: true, connections: 1, lost: 0 });
  server.refuse = null;
  const back = await until(({ core }) => core.connections > 0);
  t.true(back.core.failures >= away.core.failures);
  const line = lines.findLast(({ msg }) => msg === 'counts');
  t.like(line, { core: back.core, devices: [{ name: 'Omi' }] });
});

test('a configuration from which core cannot be found says what to set', async t => {
  const dataDir = await makeDir(t);
  const config = ConfigSchema.parse({ dataDir, port: 0 });
  await t.throwsAsync(startBridge({ config, log, clock, simulate: { audio: RECORDING } }), {
    message: /set bridge.core/,
  });
});

test('a second bridge on one data directory is refused, and a killed one does not stand in the way', async t => {
  const dataDir = await makeDir(t);
  const config = configFor(dataDir, { core: 'ws://127.0.0.1:1', key: 'k' });
  const simulate = { audio: RECORDING };
  const bridge = await start(t, { config, simulate });
  await t.throwsAsync(startBridge({ config, log, clock, simulate }), {
    message: /another bridge runs on .*; stop it first/,
  });
  await bridge.stop();
  const child = run(t, ['--simulate', RECORDING, '--json'], dataDir, 'ws://127.0.0.1:1');
  await child.event(({ event }) => event === 'radio');
  child.process.kill('SIGKILL');
  await child.exit;
  await start(t, { config, simulate });
});

test('a recording that cannot be played is named, with what can', async t => {
  const dataDir = await makeDir(t);
  const config = configFor(dataDir, { core: 'ws://127.0.0.1:1', key: 'k' });
  const audio = join(dataDir, 'song.mp3');
  await t.throwsAsync(startBridge({ config, log, clock, simulate: { audio } }), {
    message: /cannot read .*song\.mp3/,
  });
  await writeFile(audio, 'ID3 something');
  await t.throwsAsync(startBridge({ config, log, clock, simulate: { audio } }), {
    message: /song\.mp3: is not a WAV file; a WAV file of 16-bit PCM.* is accepted/,
  });
});

test('a driver of somebody else is loaded by its path, before the built-in ones', async t => {
  const [dataDir, server] = await Promise.all([makeDir(t), makeServer(t)]);
  await writeFile(
    join(dataDir, 'clone.mjs'),
    `const omi = number => '19b1' + number + '-e8f2-537e-4f6c-d104768a1214';
    export default {
      name: 'clone', title: 'A clone', source: 'fieldy',
      match: { namePrefixes: ['Om'], confirm: { service: omi('0000'), characteristic: omi('0002') } },
      audio: {
        service: omi('0000'), characteristic: omi('0001'), minMtu: 23,
        codec: { service: omi('0000'), characteristic: omi('0002'), values: { 21: { codec: 'opus_fs320', sampleRate: 16000, frameMs: 20 } } },
      },
      createDecoder() {
        const counts = { packets: 0, frames: 0, lost: 0, duplicates: 0, malformed: 0, resets: 0 };
        return { counts, push: packet => ({ frames: [{ bytes: packet.subarray(3), lostBefore: 0 }] }), flush: () => ({ frames: [] }) };
      },
    };`,
  );
  await start(t, {
    config: configFor(dataDir, { core: server.url, key: 'k', drivers: ['clone.mjs'] }),
    configDir: dataDir,
    simulate: { audio: RECORDING, speed: 20 },
  });
  await server.until(() => firstStream(server).length > 50);
  t.like(server.connections[0]?.query, { source: 'fieldy' });
  t.regex(server.connections[0]?.query.client_device_id ?? '', /^fieldy_/);
  t.deepEqual(hexOf(firstStream(server)).slice(0, 50), expected(50));
});

test('a driver that does not load, or is none, is named', async t => {
  const dataDir = await makeDir(t);
  await writeFile(join(dataDir, 'none.mjs'), 'export default { name: "x", title: "y" };');
  const load = (driver: string) =>
    startBridge({
      config: configFor(dataDir, { core: 'ws://127.0.0.1:1', key: 'k', drivers: [driver] }),
      configDir: dataDir,
      log,
      clock,
      simulate: { audio: RECORDING },
    });
  await t.throwsAsync(load('absent.mjs'), { message: /bridge\.drivers: absent\.mjs does not load/ });
  await t.throwsAsync(load('none.mjs'), { message: /bridge\.drivers: none\.mjs is not a driver: .*match/ });
});

// ── as a process ────────────────────────────────────────────────────────────────────────────────────────────────

interface Child {
  process: ChildProcess;
  /** Resolves with the first event that fits. */
  event(fits: (event: BridgeEvent) => boolean): Promise<BridgeEvent>;
  exit: Promise<number | null>;
  errors(): string;
}

function run(t: ExecutionContext, args: string[], dir: string, core: string): Child {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: dir,
    env: { ...process.env, EARSHOT_DATA_DIR: dir, EARSHOT_BRIDGE__CORE: core, EARSHOT_BRIDGE__KEY: 'k' },
  });
  t.teardown(() => child.kill('SIGKILL'));
  const events: BridgeEvent[] = [];
  const watchers = new Set<() => void>();
  createInterface({ input: child.stdout }).on('line', line => {
    events.push(JSON.parse(line));
    for (const look of [...watchers]) look();
  });
  let errors = '';
  child.stderr.on('data', data => {
    errors += data;
  });
  return {
    process: child,
    event(fits) {
      const { promise, resolve } = Promise.withResolvers<BridgeEvent>();
      const look = () => {
        const found = events.find(fits);
        if (!found) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      look();
      return promise;
    },
    exit: once(child, 'close').then(([code]) => code),
    errors: () => errors,
  };
}

test('after kill -9 the next process brings what the killed one had recorded, and deletes it', async t => {
  const [dir, server] = await Promise.all([makeDir(t), makeServer(t)]);
  server.acks = false;
  const killed = run(t, ['--simulate', RECORDING, '--json'], dir, server.url);
  await server.until(() => firstStream(server).length >= 40);
  killed.process.kill('SIGKILL');
  await killed.exit;
  await server.kill();
  // A core that has nothing of it: everything has to come from the bridge's disk.
  const back = await makeServer(t, server.port);
  const next = run(t, ['--json'], dir, back.url);
  await next.event(({ event }) => event === 'connected');
  await next.event(event => event.event === 'disconnected' && event.reason === 'all sent');
  const messages = hexOf(firstStream(back));
  t.true(messages.length >= 40);
  t.deepEqual(messages, expected(messages.length));
  next.process.kill('SIGTERM');
  t.is(await next.exit, 0);
  t.deepEqual(await readdir(join(dir, 'bridge/spool')), []);
});

test('on SIGINT it closes its connections before it ends, and stdout held nothing but events', async t => {
  const [dir, server] = await Promise.all([makeDir(t), makeServer(t)]);
  const child = run(t, ['--simulate', RECORDING, '--json'], dir, server.url);
  t.like(await child.event(event => event.event === 'device'), {
    name: 'Omi',
    state: 'streaming',
    codec: 'opus_fs320',
  });
  await server.until(() => firstStream(server).length >= 5);
  child.process.kill('SIGINT');
  t.like(await child.event(event => event.event === 'counts'), { spool: { bytes: 0, dropped: 0 } });
  t.is(await child.exit, 0);
  t.is(await server.connections[0]?.closed, 1000);
});

test('a wrong argument or a missing recording ends it with one line', async t => {
  const dir = await makeDir(t);
  const wrong = run(t, ['--sumulate', 'x'], dir, 'ws://127.0.0.1:1');
  t.is(await wrong.exit, 1);
  t.regex(wrong.errors(), /^error: .*--sumulate/);
  const missing = run(t, ['--simulate', 'absent.wav'], dir, 'ws://127.0.0.1:1');
  t.is(await missing.exit, 1);
  t.regex(missing.errors(), /cannot read the recording absent\.wav/);
  t.is(missing.errors().trim().split('\n').length, 1);
});
