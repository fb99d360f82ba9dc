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
import { buildServer, countingStt, openServer } from '../helpers/services.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const MAIN = join(ROOT, 'bridge/bin.mjs');
const RECORDING = join(ROOT, 'test/fixtures/tomorrow.wav');
const clock = createClock(Date.now);
const source = createFrames(await readWav(RECORDING), 21);
/** Frames that the pendant sends: the recording, followed by silence, so that time continues. */
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

test.serial(
  'a recording travels from the simulated pendant to a server with /v4/listen, frame by frame',
  async t => {
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
  },
);

test.serial(
  'it stops cleanly while core is unreachable, and the next process delivers the audio',
  async t => {
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
  },
);

test.serial('it stops while it waits for a key from a server that does not run', async t => {
  const dataDir = await makeDir(t);
  const streaming = Promise.withResolvers<void>();
  const bridge = await start(t, {
    config: configFor(dataDir, {}),
    simulate: { audio: RECORDING, speed: 20 },
    onEvent: event => event.event === 'device' && event.state === 'streaming' && streaming.resolve(),
    limits: { countsMs: 50 },
  });
  await streaming.promise;
  await clock.sleep(500); // the upload and the report of the wearable both wait for the key
  const timer = new AbortController();
  const late = clock.sleep(20_000, timer.signal).then(
    () => 'it still runs',
    () => '',
  );
  t.is(await Promise.race([bridge.stop().then(() => 'stopped'), late]), 'stopped');
  timer.abort();
});

const FAST = { uplink: { firstRetryMs: 10, finalAckMs: 100 } };

test.serial(
  'counts are reported now and then: the backlog and its age, streaming devices, and the connection to core',
  async t => {
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
  },
);

test.serial('while nothing changes only the last counts are reported', async t => {
  const [idleDir, busyDir, server] = await Promise.all([makeDir(t), makeDir(t), makeServer(t)]);
  const told: BridgeEvent['event'][] = [];
  const idle = await start(t, {
    config: configFor(idleDir, { core: server.url, key: 'k', devices: ['Nobody'] }),
    simulate: { audio: RECORDING },
    limits: { ...FAST, countsMs: 20 },
    onEvent: ({ event }) => told.push(event),
  });
  let left = 5;
  const counted = Promise.withResolvers<void>();
  await start(t, {
    config: configFor(busyDir, { core: server.url, key: 'k' }),
    simulate: { audio: RECORDING, speed: 20, loop: true },
    limits: { ...FAST, countsMs: 20 },
    onEvent: ({ event }) => event === 'counts' && --left === 0 && counted.resolve(),
  });
  await counted.promise; // the other one's timer has fired as often
  t.false(told.includes('counts'));
  await idle.stop();
  t.is(told.filter(event => event === 'counts').length, 1);
});

test.serial(
  'with port 0 the server on the same data directory is asked for its port, again after a restart',
  async t => {
    const dataDir = await makeDir(t);
    const events: BridgeEvent[] = [];
    let look = () => {};
    const lines: { level: number; msg: string }[] = [];
    await start(t, {
      config: ConfigSchema.parse({ dataDir, port: 0 }),
      log: pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }),
      simulate: { audio: RECORDING, speed: 20, loop: true },
      limits: FAST,
      onEvent(event) {
        events.push(event);
        look();
      },
    });
    const until = (isSo: () => boolean) =>
      new Promise<void>(resolve => {
        look = () => isSo() && resolve();
        look();
      });
    const connections = () => events.filter(({ event }) => event === 'connected').length;
    await until(() => events.some(({ event }) => event === 'device'));
    const instance = await buildServer({ ...countingStt(), dataDir });
    await until(() => connections() > 0);
    await instance.stop();
    const before = connections();
    await openServer(t, { ...countingStt(), dataDir });
    await until(() => connections() > before);
    const said = lines.find(({ msg }) => msg.startsWith('no address of core yet'));
    t.regex(
      said?.msg ?? '',
      /core does not run here.*its port is 0: start core on the data directory .* or set port/,
    );
  },
);

test.serial(
  'a second bridge on one data directory is refused, and a killed one does not block the next',
  async t => {
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
  },
);

test.serial('a recording that cannot be played is reported, with the supported formats', async t => {
  const dataDir = await makeDir(t);
  const config = configFor(dataDir, { core: 'ws://127.0.0.1:1', key: 'k' });
  const audio = join(dataDir, 'song.mp3');
  await t.throwsAsync(startBridge({ config, log, clock, simulate: { audio } }), {
    message: /song\.mp3: there is no such file/,
  });
  await writeFile(audio, 'ID3 something');
  await t.throwsAsync(startBridge({ config, log, clock, simulate: { audio } }), {
    message: /song\.mp3: .*ffmpeg/,
  });
});

test.serial('a third-party driver is loaded by its path, before the built-in ones', async t => {
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
    simulate: { audio: RECORDING, speed: 5 },
  });
  await server.until(() => firstStream(server).length > 50);
  t.like(server.connections[0]?.query, { source: 'fieldy' });
  t.regex(server.connections[0]?.query.client_device_id ?? '', /^fieldy_/);
  t.deepEqual(hexOf(firstStream(server)).slice(0, 50), expected(50));
});

test.serial('a module that does not load, or is not a driver, is reported', async t => {
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
  await t.throwsAsync(load('absent.mjs'), { message: 'bridge.drivers: absent.mjs: there is no such file' });
  await t.throwsAsync(load('none.mjs'), { message: /bridge\.drivers: none\.mjs is not a driver: .*match/ });
  await writeFile(join(dataDir, 'empty.mjs'), 'export const name = "x";');
  await t.throwsAsync(load('empty.mjs'), { message: /empty\.mjs is not a driver: it has no default export/ });
  await writeFile(join(dataDir, 'throws.mjs'), 'throw new Error("no such thing");');
  await t.throwsAsync(load('throws.mjs'), { message: /throws\.mjs does not load: no such thing/ });
});

test.serial('each invalid field of a driver is reported', async t => {
  const dataDir = await makeDir(t);
  const place = `{ service: '180f', characteristic: '2a19' }`;
  const whole = (change: string) => `const place = ${place};
    const driver = {
      name: 'x', title: 'X', match: { namePrefixes: ['X'], confirm: place }, createDecoder() {},
      audio: { ...place, minMtu: 23, codec: { ...place, values: { 1: { codec: 'pcm16', sampleRate: 8000, frameMs: 10 } } } },
    };
    ${change};
    export default driver;`;
  const wrong: [string, RegExp][] = [
    ['delete driver.audio.codec', /audio\.codec: is missing$/],
    ['delete driver.audio', /audio: is missing$/],
    [
      'driver.audio.codec.values = {}',
      /audio\.codec\.values: must have at least one entry: a number and its format/,
    ],
    [
      'driver.audio.codec.values = { opus: driver.audio.codec.values[1] }',
      /audio\.codec\.values: must have at least one entry: a number and its format/,
    ],
    ['driver.audio.codec.values[1].frameMs = 0', /audio\.codec\.values\.1\.frameMs: /],
    ['driver.audio.codec.values[1].sampleRate = "8 kHz"', /audio\.codec\.values\.1\.sampleRate: /],
    ['driver.audio.minMtu = NaN', /audio\.minMtu: /],
    ['driver.name = "My Driver"', /name: must be lower case, with dashes/],
    ['driver.match = { confirm: driver.match.confirm }', /match: needs serviceUuids or namePrefixes/],
    ['driver.match.serviceUuids = "180f"', /match\.serviceUuids: /],
    [
      'driver.match.confirm = { service: "my service" }',
      /match\.confirm\.service: must be a UUID.*match\.confirm\.characteristic: /,
    ],
    ['driver.battery = true', /battery: /],
    ['driver.createDecoder = "opus"', /createDecoder: must be a function/],
  ];
  for (const [index, [change, message]] of wrong.entries()) {
    const name = `wrong-${index}.mjs`;
    await writeFile(join(dataDir, name), whole(change));
    const load = startBridge({
      config: configFor(dataDir, { core: 'ws://127.0.0.1:1', key: 'k', drivers: [name] }),
      configDir: dataDir,
      log,
      clock,
      simulate: { audio: RECORDING },
    });
    const error = await t.throwsAsync(load, { message }, change);
    t.true(error?.message.startsWith(`bridge.drivers: ${name} is not a driver: `), error?.message);
  }
});

// ── as a process ────────────────────────────────────────────────────────────────────────────────────────────────

interface Child {
  process: ChildProcess;
  /** Resolves with the first matching event. */
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

test.serial(
  'after kill -9 the next process delivers and deletes the recordings of the killed one',
  async t => {
    const [dir, server] = await Promise.all([makeDir(t), makeServer(t)]);
    server.acks = false;
    const killed = run(t, ['--simulate', RECORDING, '--json'], dir, server.url);
    await server.until(() => firstStream(server).length >= 40);
    killed.process.kill('SIGKILL');
    await killed.exit;
    await server.kill();
    // A core without any of it: everything has to come from the bridge's disk.
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
  },
);

test.serial(
  'on SIGINT it closes its connections before it exits, and stdout contains only events',
  async t => {
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
  },
);

test.serial('an invalid argument or a missing recording ends it with one line', async t => {
  const dir = await makeDir(t);
  const wrong = run(t, ['--sumulate', 'x'], dir, 'ws://127.0.0.1:1');
  t.is(await wrong.exit, 1);
  t.regex(wrong.errors(), /^error: .*--sumulate/);
  const missing = run(t, ['--simulate', 'absent.wav'], dir, 'ws://127.0.0.1:1');
  t.is(await missing.exit, 1);
  t.regex(missing.errors(), /absent\.wav: there is no such file/);
  t.is(missing.errors().trim().split('\n').length, 1);
});

test.serial('its commands print their own lines only, and name commands as they were called', async t => {
  const dir = await makeDir(t);
  const command = async (...args: string[]) => {
    const child = spawn(process.execPath, [MAIN, ...args, '--data-dir', dir], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, EARSHOT_CALLED_AS: 'npx earshot' },
    });
    const [out, errors] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
    return { out: out.join(''), errors: errors.join('') };
  };
  const pairing = await command('pair'); // with an adapter it looks around, without one it says so
  t.notRegex(pairing.out + pairing.errors, /noble/);
  t.is(
    (await command('control')).errors,
    'error: the bridge is not running here; start it: npx earshot bridge\n',
  );
  t.regex(
    (await command('control', 'Omi', 'led')).errors,
    /led needs a value; npx earshot bridge control lists/,
  );
  t.regex((await command('control', 'My', 'pendant', 'led', '20')).errors, /unexpected: 20; .* in quotes/);
});

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test.serial(
    `a process started by npx ends when npx is ended by ${signal}, with a shell in between`,
    async t => {
      const dir = await makeDir(t);
      const npx = `const { spawn } = require('node:child_process');
      const shell = spawn('sh', ['-c', process.argv[1] + '; exit $?'], { stdio: 'inherit' });
      process.on('SIGTERM', () => { shell.kill('SIGTERM'); process.exit(); });`;
      const command = `"${process.execPath}" "${MAIN}" --simulate --json`;
      const parent = spawn(process.execPath, ['-e', npx, command], {
        cwd: dir,
        env: {
          ...process.env,
          npm_lifecycle_event: 'npx',
          EARSHOT_DATA_DIR: dir,
          EARSHOT_BRIDGE__CORE: 'ws://127.0.0.1:1',
          EARSHOT_BRIDGE__KEY: 'k',
        },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      t.teardown(() => parent.kill('SIGKILL'));
      const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
      t.like(JSON.parse((await lines.next()).value ?? 'null'), { event: 'radio' });
      parent.kill(signal);
      let last = '';
      for (let line = await lines.next(); !line.done; line = await lines.next()) last = line.value;
      t.like(JSON.parse(last || 'null'), { event: 'counts' }); // it exited cleanly
      t.deepEqual((await readdir(join(dir, 'bridge'))).sort(), ['id', 'spool']); // and released its lock
    },
  );
}
