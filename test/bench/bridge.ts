/** Measures the bridge's cost for each streaming wearable, without the cost of simulating wearables. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, type Benchmark, type Cell, interleave, spread, type Table } from './benchmark.ts';
import type { DevicesPlan } from './bridge/devices-main.ts';
import { cpuBetween, cpuOf, endProcess, nextMessage, startProgram } from './processes.ts';
import { startCore } from './streams/subjects.ts';

const DEVICES = [1, 4];
/** Until most of it is compiled. */
const WARM_MS = 10_000;

export const BRIDGE: Benchmark[] = [
  {
    name: 'bridge',
    title: 'processor time per wearable that streams',
    run: async bench => [await run(bench)],
  },
];

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
