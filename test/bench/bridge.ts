/** Measures the bridge's cost for each streaming wearable, without the cost of simulating wearables. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, type Benchmark, type Cell, interleave, spread, type Table } from './benchmark.ts';
import type { DevicesPlan } from './bridge/devices-main.ts';
import type { Latencies, LatencyPlan } from './bridge/latency-main.ts';
import { cpuBetween, cpuOf, endProcess, memoryOf, nextMessage, startProgram } from './processes.ts';
import { startCore } from './streams/subjects.ts';

const DEVICES = [1, 4];
/** Until most code is compiled. */
const WARM_MS = 10_000;

export const BRIDGE: Benchmark[] = [
  {
    name: 'bridge',
    title: 'processor time per wearable that streams',
    run: async bench => [await run(bench)],
  },
  {
    name: 'bridge:latency',
    title: 'from the notification to the WebSocket, by wearables; memory of a bridge that waits',
    run: async bench => [await latency(bench), await idle(bench)],
  },
];

const MANY = [1, 10, 50, 100];

async function latency(bench: Bench): Promise<Table> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-bench-'));
  bench.teardown(() => rm(dir, { recursive: true, force: true }));
  const rows: Cell[][] = [];
  for (const devices of bench.quick ? [1] : MANY) {
    bench.say(`${devices} wearables`);
    const child = startProgram(bench, 'subject', new URL('./bridge/latency-main.ts', import.meta.url));
    const [warmMs, measureMs] = bench.quick ? [200, 500] : [WARM_MS, WARM_MS];
    const plan: LatencyPlan = { devices, warmMs, measureMs, dir: join(dir, String(devices)) };
    child.send(plan);
    const { frames, p50, p99, most, cpuPercent } = await nextMessage<Latencies>(child, 'measured');
    await endProcess(child);
    rows.push([devices, (frames * 1000) / measureMs, p50, p99, most, cpuPercent]);
  }
  return {
    title: 'Bridge, from a notification to the message at a WebSocket server in the same process',
    columns: [
      'wearables',
      'frames a second',
      'ms (median)',
      'ms (99 of 100)',
      'ms (most)',
      'CPU % of one core',
    ],
    rows,
    notes: ['The simulated wearables and the server are in the figures.'],
  };
}

/** The bridge itself, with its server unreachable. */
async function idle(bench: Bench): Promise<Table> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-bench-'));
  bench.teardown(() => rm(dir, { recursive: true, force: true }));
  const bridge = new URL('../../bridge/bin.mjs', import.meta.url);
  const child = startProgram(bench, 'subject', bridge, ['--data-dir', dir, '--core', 'ws://127.0.0.1:9']);
  await sleep(bench.quick ? 3000 : WARM_MS);
  const { rss, pss } = memoryOf(child.pid ?? 0);
  await endProcess(child);
  return { title: 'Idle bridge', columns: ['', 'RSS MB', 'PSS MB'], rows: [['bridge', rss, pss]] };
}

async function run(bench: Bench): Promise<Table> {
  const { url, key } = await startCore(bench, { place: 'load' });
  const core = url.replace('http', 'ws');
  const dir = await mkdtemp(join(tmpdir(), 'earshot-bench-'));
  bench.teardown(() => rm(dir, { recursive: true, force: true }));
  const rows: Cell[][] = [];
  for (const devices of bench.quick ? [1] : DEVICES) {
    const plan = (what: DevicesPlan['what']) => (round: number) =>
      measure(bench, { what, devices, core, key, dir: join(dir, `${what}-${devices}-${round}`) });
    const results = await interleave(bench.quick ? 1 : 3, { whole: plan('whole'), alone: plan('alone') });
    const { whole = [], alone = [] } = results;
    const ours = whole.map((percent, at) => percent - (alone[at] ?? Number.NaN));
    rows.push([
      devices,
      spread(whole),
      spread(alone),
      spread(ours),
      spread(ours.map(percent => percent / devices)),
    ]);
  }
  return {
    title: 'Bridge, Opus at 50 packets a second from each wearable',
    columns: [
      'wearables',
      'CPU % in all',
      'CPU % of simulation and Bluetooth library',
      'CPU % of the bridge',
      'for each wearable',
    ],
    rows,
  };
}

/** In percent of one core. */
async function measure(bench: Bench, plan: DevicesPlan): Promise<number> {
  bench.say(`${plan.what}, ${plan.devices} wearables`);
  const child = startProgram(bench, 'subject', new URL('./bridge/devices-main.ts', import.meta.url));
  child.send(plan);
  await nextMessage(child, 'streaming');
  await sleep(bench.quick ? 200 : WARM_MS);
  const pid = child.pid ?? 0;
  const before = cpuOf(pid);
  const startedAt = performance.now();
  await sleep(bench.quick ? 500 : 7000);
  const { total } = cpuBetween(before, cpuOf(pid));
  const percent = (100 * total) / (performance.now() - startedAt);
  await endProcess(child);
  return percent;
}
