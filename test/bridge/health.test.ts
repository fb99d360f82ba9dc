import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { pino } from 'pino';
import { createClock } from '../../bridge/clock.ts';
import type { Counts } from '../../bridge/events.ts';
import { serveHealth } from '../../bridge/health.ts';
import { startBridge } from '../../bridge/main.ts';
import type { RadioState } from '../../bridge/radio.ts';
import { ConfigSchema } from '../../config/schema.ts';
import { eventually } from '../helpers/eventually.ts';
import { startListenServer } from '../helpers/listen-server.ts';

const log = pino({ level: 'silent' });
const RECORDING = join(import.meta.dirname, '../fixtures/tomorrow.wav');
const COUNTS: Counts = {
  spool: { bytes: 0, oldestMs: null, dropped: 0, droppedMs: 0, damaged: 0 },
  photos: { waiting: 0, dropped: 0, refused: 0 },
  core: { connections: 0, failures: 0 },
  radio: { malformed: {}, restarts: 0 },
  devices: [],
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise(resolve => server.close(resolve));
  return port;
}

test('a bridge that carries a simulated pendant is healthy, and its metrics count the frames', async t => {
  const dataDir = await mkdtemp(join(tmpdir(), 'health-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const [server, port] = [await startListenServer({ port: 0 }), await freePort()];
  t.teardown(server.kill);
  const bridge = await startBridge({
    config: ConfigSchema.parse({ dataDir, bridge: { core: server.url, key: 'k', health: { port } } }),
    log,
    clock: createClock(Date.now),
    simulate: { audio: RECORDING, speed: 20 },
  });
  t.teardown(bridge.stop);
  const frames = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => null); // not yet
    const text = (await response?.text()) ?? '';
    return Number(/^earshot_bridge_device_frames_total\{device="Omi"\} (\d+)$/m.exec(text)?.[1]);
  };
  const before = await eventually(frames, count => count > 0);
  await eventually(frames, count => count > before);
  const response = await fetch(`http://127.0.0.1:${port}/health`);
  t.is(response.status, 200);
  t.like(await response.json(), {
    problems: [],
    radio: { state: 'ready' },
    devices: [{ name: 'Omi', streaming: true }],
  });
});

test('an unusable radio and unacknowledged audio are reported, with 503', async t => {
  const radio: RadioState = { name: 'off', hint: 'switch it on' };
  const late = { ...COUNTS, spool: { ...COUNTS.spool, bytes: 1, oldestMs: 11 * 60_000 } };
  const health = await serveHealth(
    { host: '127.0.0.1', port: 0 },
    { counts: () => late, radio: () => radio },
  );
  t.teardown(health.close);
  const response = await fetch(`http://127.0.0.1:${health.port}/health`);
  t.is(response.status, 503);
  t.deepEqual(((await response.json()) as { problems: string[] }).problems, [
    'radio: switch it on',
    'core has not confirmed audio for 11 min',
  ]);
  const metrics = await (await fetch(`http://127.0.0.1:${health.port}/metrics`)).text();
  t.regex(metrics, /^earshot_bridge_radio_ready 0$/m);
  t.regex(metrics, /^earshot_bridge_spool_oldest_seconds 660$/m);
});

test('it is read-only, serves two paths, and accepts only the host names of this machine', async t => {
  const radio: RadioState = { name: 'ready', hint: '' };
  const health = await serveHealth(
    { host: '127.0.0.1', port: 0 },
    { counts: () => COUNTS, radio: () => radio },
  );
  t.teardown(health.close);
  const ask = async (method: string, path: string, host = 'localhost') => {
    const asked = request({ port: health.port, method, path, headers: { host } }).end();
    const [response] = await once(asked, 'response');
    response.resume();
    return response.statusCode;
  };
  t.deepEqual(
    [
      await ask('GET', '/health'),
      await ask('POST', '/health'),
      await ask('GET', '/else'),
      await ask('GET', '/metrics', 'evil.example:80'),
    ],
    [200, 405, 404, 421],
  );
});
