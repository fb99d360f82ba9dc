/**
 * Measures how a receiver that never answers delays the others, and what a delivery costs the code that
 * causes it.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DeliveringPlan, Order, Said } from '../helpers/delivering-main.ts';
import { type Bench, type Benchmark, interleave, percentile, spread, type Table } from './benchmark.ts';
import { nextMessage, startProgram } from './processes.ts';

export const HEAD_OF_LINE: Benchmark[] = [
  {
    name: 'deliveries:line',
    title: 'how late deliveries to 50 receivers are, without and beside one that never answers',
    run: async bench => [await headOfLine(bench)],
  },
];

const CHARS = 2000;
const ROUNDS = 5;
const MAIN = new URL('../helpers/delivering-main.ts', import.meta.url);
const LEASE_MS = 15_000;

const HEALTHY = 50;

async function headOfLine(bench: Bench): Promise<Table> {
  const each = bench.quick ? 2 : 20;
  const counter = await startCounter(bench);
  const silent = createServer(() => {});
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  bench.teardown(() => {
    silent.close();
    silent.closeAllConnections();
  });
  const dead = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const storedMs: number[] = [];
  const measure = (first: string[]) => async () => {
    const urls = [...first, ...Array<string>(HEALTHY).fill(counter.url)];
    const child = await startDelivering(bench, { urls });
    storedMs.push((await fill(child, each)) / (each * urls.length));
    const came = counter.count(each * HEALTHY);
    const began = performance.now();
    child.send({ order: 'start' } satisfies Order);
    const at = await came;
    child.kill('SIGKILL');
    return percentile(
      at.map(({ atMs }) => atMs - began),
      99,
    );
  };
  const subjects = { alone: measure([]), beside: measure([dead]) };
  const { alone = [], beside = [] } = await interleave(bench.quick ? 1 : ROUNDS, subjects);
  const ratio = spread(beside).median / spread(alone).median;
  return {
    title: `${HEALTHY} webhooks with ${each} deliveries each, without and beside one that never answers`,
    columns: ['webhooks', 'p99 ms to the arrival', 'to the first'],
    rows: [
      ['healthy alone', spread(alone), 1],
      ['healthy beside a dead one', spread(beside), ratio],
    ],
    notes: [`To store one, in transactions of ${each}: ${spread(storedMs).median.toFixed(3)} ms.`],
  };
}

/** A receiver on the core of the load, which reports after this many requests. */
async function startCounter(bench: Bench) {
  const counter = {
    url: '',
    at: [] as { path: string; atMs: number }[],
    wanted: Number.POSITIVE_INFINITY,
    all: () => {},
  };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.end('ok');
      counter.at.push({ path: request.url ?? '', atMs: performance.now() });
      if (counter.at.length === counter.wanted) counter.all();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  bench.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  counter.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** Resolves after this many requests from now on, to the time of each. */
  async function count(wanted: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(counter, { at: [], wanted, all: resolve });
    await promise;
    return counter.at;
  }
  return { url: counter.url, count };
}

async function startDelivering(bench: Bench, plan: Omit<DeliveringPlan, 'file' | 'leaseMs' | 'isStarted'>) {
  const dir = await mkdtemp(join(tmpdir(), 'earshot-bench-'));
  bench.teardown(() => rm(dir, { recursive: true, force: true }));
  const whole: DeliveringPlan = {
    ...plan,
    file: join(dir, 'earshot.db'),
    leaseMs: LEASE_MS,
    isStarted: false,
  };
  const child = startProgram(bench, 'subject', MAIN, [JSON.stringify(whole)]);
  await nextMessage<Said & { event: 'ready' }>(child, 'ready');
  return child;
}

async function fill(child: ChildProcess, each: number): Promise<number> {
  child.send({ order: 'fill', each, chars: CHARS } satisfies Order);
  return (await nextMessage<Said & { event: 'filled' }>(child, 'filled')).ms;
}
