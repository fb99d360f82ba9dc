/**
 * Runs two bridges and one pendant for hours of simulated time; started by `../days.ts`, with an IPC channel.
 */
import { Console } from 'node:console';
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { garbageCollector, held } from '../../helpers/memory.ts';
import { createDice } from '../dice.ts';
import { fastTime } from './fast-time.ts';
import { type CoreOrder, FAULTS, type FaultContext } from './faults.ts';
import { createSimulation, type SimulationReport } from './simulation.ts';

export interface SimulationPlan {
  core: string;
  key: string;
  dir: string;
  /** Simulated time; at least until each fault has occurred once. */
  hours: number;
  /** Duration of a long outage of core. */
  awayMs: number;
  /** Core is restarted in this part of the time, from the start. */
  restartShare: number;
  /** Simulated time between two faults. */
  everyMs: number;
  /** Names of the faults to inject. */
  faults: readonly string[];
  seed: number;
  speed: number;
}

export interface DayReport extends SimulationReport {
  hours: number;
  /** Number of occurrences of each fault. */
  faults: Record<string, number>;
}

/**
 * Messages to the simulation: core has done what was requested; core lags behind, so time must stand still;
 * time continues.
 */
export type SimulationCommand = 'done' | 'hold' | 'go on';

/** Messages from the simulation. */
export type SimulationEvent =
  | { event: 'progress'; hour: number; heldMb: number }
  | { event: 'core'; order: CoreOrder }
  | { event: 'over' };

/** Memory samples over the whole time. */
const SAMPLES = 240;
const HOUR_MS = 3_600_000;
/** Simulated time for everything on disk to reach core at the end. */
const MOST_WAIT_MS = 6 * HOUR_MS;

process.setMaxListeners(0); // every library instance listens for the exit of the process
globalThis.console = new Console(new PassThrough().resume()); // Bluetooth libraries print to the console
const [plan] = (await once(process, 'message')) as [SimulationPlan];
const tell = (told: SimulationEvent) => process.send?.(told);
const collect = garbageCollector();
const totalMs = plan.hours * HOUR_MS;
/** It ends before now: nothing can be recorded in the future. */
const startAt = Date.now() - totalMs - MOST_WAIT_MS;
const time = fastTime(startAt, plan.speed);
const orders = new EventEmitter();
process.on('message', (order: SimulationCommand) => {
  if (order === 'done') orders.emit('done');
  else time.hold(order === 'hold');
});
const elapsed = () => Date.now() - startAt;
const dice = createDice(plan.seed);
const simulation = await createSimulation(plan, createDice(plan.seed + 1));

let sampleAtMs = 0;
let faultAtMs = plan.everyMs;
let waiting: string[] = [];
let happening: Promise<void> | null = null;
const faults: Record<string, number> = {};

const context: FaultContext = {
  simulation,
  dice,
  awayMs: plan.awayMs,
  async core(order) {
    const done = once(orders, 'done');
    tell({ event: 'core', order });
    await done;
  },
};

/** Each once, in random order, and again. */
function pick(): string {
  if (waiting.length === 0)
    waiting = plan.faults
      .map(name => ({ name, at: dice.next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ name }) => name);
  return waiting.pop() ?? '';
}

function sample(): void {
  sampleAtMs += totalMs / SAMPLES;
  collect();
  tell({ event: 'progress', hour: elapsed() / HOUR_MS, heldMb: held() / 1e6 });
}

function begin(name: string): void {
  const fault = FAULTS[name];
  faultAtMs += plan.everyMs;
  if (!fault || (fault.ofCore && name in faults && elapsed() > totalMs * plan.restartShare)) return;
  faults[name] = (faults[name] ?? 0) + 1;
  if (!fault.ofCore) simulation.setCause(name);
  happening = Promise.resolve(fault.run(context)).finally(() => {
    happening = null;
    faultAtMs = elapsed() + plan.everyMs;
  });
}

/** Ends early on request: the day is then shorter. */
let isEnough = false;
process.once('SIGTERM', () => {
  isEnough = true;
});
await time.pass(() => {
  if (elapsed() >= sampleAtMs) sample();
  if (elapsed() >= faultAtMs && !happening) begin(pick());
  if (isEnough) return !happening;
  return elapsed() >= totalMs && !happening && plan.faults.every(name => name in faults);
});
simulation.switchOff();
const endedAt = elapsed();
await time.pass(() => simulation.isAllSent() || elapsed() > endedAt + MOST_WAIT_MS);
let stopped = false;
const stopping = simulation.stop().finally(() => {
  stopped = true;
});
await time.pass(() => stopped);
await stopping;
const report: DayReport = { ...simulation.report(), faults, hours: endedAt / HOUR_MS };
await writeFile(join(plan.dir, 'report.json'), JSON.stringify(report));
tell({ event: 'over' });
process.disconnect();
process.exit(0);
