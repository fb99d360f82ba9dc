/** Processes under test: started on a separate processor core, and observed through /proc. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Bench } from './benchmark.ts';

/** The subject has one processor core, the load another, so that the result is the capacity of one core. */
export type Place = 'subject' | 'load';
const CORES = { subject: '0', load: '1' };
const CAN_PIN = availableParallelism() > 1 && spawnSync('taskset', ['-V']).status === 0;

/** Returns the arguments before a command that pins it to a core; none if that is impossible. */
export function launcherOf(place: Place): string[] {
  return CAN_PIN ? ['taskset', '-c', CORES[place]] : [];
}

/** Starts a program of the benchmarks with an IPC channel; it is killed after the benchmark. */
export function startProgram(bench: Bench, place: Place, file: URL, args: string[] = []): ChildProcess {
  const [command = '', ...rest] = [...launcherOf(place), process.execPath, file.pathname, ...args];
  const child = spawn(command, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  bench.teardown(() => endProcess(child));
  return child;
}

export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

/** Resolves to the next message of a kind; rejects if the process exits before. */
export async function nextMessage<T extends { event: string }>(
  child: ChildProcess,
  event: T['event'],
): Promise<T> {
  const over = new AbortController();
  const options = { signal: over.signal };
  const ended = once(child, 'exit', options).then(([code]) => {
    throw new Error(`the program ended with ${code} before it said "${event}"`);
  });
  ended.catch(() => {});
  try {
    for (;;) {
      const [message]: [T] = await Promise.race([once(child, 'message', options) as Promise<[T]>, ended]);
      if (message.event === event) return message;
    }
  } finally {
    over.abort();
  }
}

/** Processor time since the start, in ms. */
export interface Cpu {
  /** The event loop's thread. */
  main: number;
  /** Our worker threads. */
  workers: number;
  /** Threads of V8 and libuv: garbage collection, compilation, files. */
  helpers: number;
}

const HELPERS = /^(V8Worker|DelayedTaskSche|SignalInspector|libuv-worker)/;

export function cpuOf(pid: number): Cpu {
  const cpu: Cpu = { main: 0, workers: 0, helpers: 0 };
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const read = (file: string) => readFileSync(`/proc/${pid}/task/${task}/${file}`, 'utf8');
    const kind = Number(task) === pid ? 'main' : HELPERS.test(read('comm')) ? 'helpers' : 'workers';
    cpu[kind] += Number(read('schedstat').split(' ')[0]) / 1e6;
  }
  return cpu;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

/** Moves its child processes to the core of the load. */
export function giveOtherCore(pid: number): void {
  for (const child of CAN_PIN ? childrenOf(pid) : [])
    spawnSync('taskset', ['-a', '-cp', CORES.load, String(child)]);
}

/** Processor time of all its child processes, in ms. */
export function cpuOfChildren(pid: number): number {
  const times = childrenOf(pid).map(cpuOf);
  return times.reduce((sum, { main, workers, helpers }) => sum + main + workers + helpers, 0);
}

export function cpuBetween(before: Cpu, after: Cpu): Cpu & { total: number } {
  const main = after.main - before.main;
  const workers = after.workers - before.workers;
  const helpers = after.helpers - before.helpers;
  return { main, workers, helpers, total: main + workers + helpers };
}

/** In MB (10^6): resident memory, and its proportional part where pages are shared. */
export function memoryOf(pid: number): { rss: number; pss: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const of = (name: string) => (Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(text)?.[1]) * 1024) / 1e6;
  return { rss: of('Rss'), pss: of('Pss') };
}
