/** Time from the start of the process to the first answer, and idle memory. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { SERVE } from '../helpers/core-process.ts';
import { freePort } from '../helpers/free-port.ts';
import { type Bench, type Benchmark, type Cell, interleave, spread, type Table } from './benchmark.ts';
import { cpuOf, endProcess, launcherOf, memoryOf } from './processes.ts';

interface Started {
  startMs: number;
  cpuMs: number;
  rss: number;
  pss: number;
}

const FLOOR = join(import.meta.dirname, 'start/floor-main.mjs');
const IDLE_MS = 10_000;
const POLL_MS = 3;
const LATE_MS = 120_000;

export const START: Benchmark[] = [
  {
    name: 'start',
    title: 'start to the first answer, and idle memory',
    run: async bench => [await run(bench)],
  },
];

async function run(bench: Bench): Promise<Table> {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-bench-'));
  bench.teardown(() => rm(dir, { recursive: true, force: true }));
  const kept = join(dir, 'kept');
  await startCore(bench, kept); // compiled code, and the database, exist from here on
  const results = await interleave(bench.quick ? 1 : 3, {
    'koa + better-sqlite3': async () => startFloor(bench, join(dir, 'floor.db')),
    core: () => startCore(bench, kept),
    'core, the very first time': round => startCore(bench, join(dir, `round-${round}`)),
  });
  const floor = results['koa + better-sqlite3'] ?? [];
  const rows = Object.entries(results).map(([name, all]): Cell[] => [
    name,
    spread(all.map(({ startMs }) => startMs)),
    spread(all.map(({ startMs }, at) => startMs / (floor[at]?.startMs ?? Number.NaN))),
    spread(all.map(({ cpuMs }) => cpuMs)),
    spread(all.map(({ rss }) => rss)),
    spread(all.map(({ pss }) => pss)),
  ]);
  return {
    title: 'Start and idle memory',
    columns: ['server', 'start ms', 'to the floor', 'CPU ms', 'RSS MB', 'PSS MB'],
    rows,
    notes: [`Memory after ${IDLE_MS / 1000} s without a request.`],
  };
}

async function startFloor(bench: Bench, file: string): Promise<Started> {
  const port = await freePort();
  return watchStart(bench, port, [FLOOR, file, String(port)], {});
}

/** Without recognisers. Compiled code is cached with the data. */
async function startCore(bench: Bench, dir: string): Promise<Started> {
  const port = await freePort();
  await mkdir(dir, { recursive: true });
  const config = join(dir, 'earshot.yaml');
  await writeFile(config, stringify({ port, dataDir: dir, stt: [], log: { level: 'warn' } }));
  const env = { EARSHOT_CONFIG: config, NODE_COMPILE_CACHE: join(dir, 'compiled') };
  return watchStart(bench, port, SERVE, env);
}

async function watchStart(
  bench: Bench,
  port: number,
  args: string[],
  env: Record<string, string>,
): Promise<Started> {
  bench.say(args.join(' '));
  const [command = '', ...rest] = [...launcherOf('subject'), process.execPath, ...args];
  const startedAt = performance.now();
  const child = spawn(command, rest, { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' });
  bench.teardown(() => endProcess(child));
  await untilAnswered(`http://127.0.0.1:${port}/healthz`, startedAt);
  const startMs = performance.now() - startedAt;
  const { main, workers, helpers } = cpuOf(child.pid ?? 0);
  await sleep(bench.quick ? 100 : IDLE_MS);
  const memory = memoryOf(child.pid ?? 0);
  await endProcess(child, 'SIGTERM'); // in order: compiled code is written at the end
  return { startMs, cpuMs: main + workers + helpers, ...memory };
}

async function untilAnswered(url: string, startedAt: number): Promise<void> {
  while (performance.now() - startedAt < LATE_MS) {
    const response = await fetch(url).catch(() => null);
    if (response?.ok) return;
    await sleep(POLL_MS);
  }
  throw new Error(`no answer from ${url} within ${LATE_MS} ms`);
}
