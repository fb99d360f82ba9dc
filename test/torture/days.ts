/** A simulated day of two bridges and a pendant: accounts for each second of audio, and for memory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { memoryOf } from '../bench/processes.ts';
import { type Trend, trendOf } from '../bench/trend.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { CODE_MS, FRAME_MS as FRAME_MS_OF_CODE, PAUSE, type Run, runsIn, textOf } from './code.ts';
import { HELD } from './days/core-held.ts';
import { FAULTS } from './days/faults.ts';
import type {
  DayReport,
  SimulationCommand,
  SimulationEvent,
  SimulationPlan,
} from './days/simulation-main.ts';
import { AIR, FRAME_MS, type Said } from './days/talk.ts';
import { judge, LONGEST_ERROR_MS, numbersOf, piecesOf, readAll, type Spoken, type Stored } from './judge.ts';
import { emptied, endConversations, noneOpen, type Stage, TONES_CONFIG } from './run.ts';

export interface DaysPlan {
  seed: number;
  /** Simulated time. */
  hours: number;
  /** Simulated time between two faults. */
  everyMs: number;
  /** Names of the faults to inject; all of them if absent. */
  faults?: readonly string[];
  /** Duration of a long outage of core. */
  awayMs: number;
  /** Maximum multiple of real time. */
  speed: number;
}

/** Seconds of audio by their outcome. */
export interface Account {
  /** Sent while connected. */
  sent: number;
  /** Stored by core, once and at its time. */
  inCore: number;
  /** Tones in core of numbers that are incomplete. */
  inCoreInPart: number;
  /** Missing, by cause: the missing parts of a number that a disconnect or a loss has hit. */
  lost: Record<string, number>;
  /** Missing in core without a cause. */
  unexplained: number;
}

interface Memory {
  firstMb: number;
  lastMb: number;
  mostMb: number;
  /** MB per simulated hour; `plusMinus`: 95 %. */
  growth: Trend;
}

export interface DaysReport {
  hours: number;
  minutes: number;
  faults: Record<string, number>;
  seconds: Account;
  /** Time without a connection, by the cause of the disconnect. */
  apart: Record<string, number>;
  connections: number;
  numbers: number;
  doubles: string[];
  disorder: string[];
  debris: string[];
  worstErrorMs: number;
  holes: DayReport['holes'];
  duplicates: DayReport['duplicates'];
  droppedMs: number;
  leftBytes: number;
  bridges: DayReport['bridges'];
  memory: { 'bridges, RSS': Memory; 'bridges, held': Memory; 'core, RSS': Memory; 'core, held': Memory };
}

/** Core is restarted in this part of the time; in the rest its memory is measured. */
const RESTART_SHARE = 2 / 3;
const SOURCE = 'omi';
/**
 * Two bridges have at most this many connections. More streams in progress mean that core lags behind the
 * simulated time.
 */
const MOST_STREAMS = 4;
const PACE_MS = 500;

interface Sample {
  hour: number;
  bridgeRss: number;
  bridgeHeld: number;
  coreRss: number;
  /** After a collection. Not a number: it did not run just then. */
  coreHeld: number;
}

/** Report of the simulation, conversations stored by core, and the memory of both meanwhile. */
export interface Day {
  day: DayReport;
  stored: Stored;
  samples: readonly Sample[];
  minutes: number;
}

const TELLS_HELD = join(import.meta.dirname, 'days/core-held.ts');

export async function playDays(stage: Stage, plan: DaysPlan): Promise<Day> {
  const beganAt = performance.now();
  const core = await coreProcess(stage, TONES_CONFIG, () => ['env', `NODE_OPTIONS=--import=${TELLS_HELD}`]);
  const dir = join(core.dataDir, 'simulation');
  await mkdir(dir, { recursive: true });
  const { day, samples } = await live(stage, core, { ...plan, dir });
  await core.kill(); // its next start removes the spool file that is still open
  await core.start();
  stage.say('waiting until all is written down');
  await emptied(join(core.dataDir, 'audio'));
  await endConversations(core, SOURCE, day.deviceId);
  await noneOpen(core);
  const minutes = Math.round((performance.now() - beganAt) / 6000) / 10;
  return { day, stored: await readAll(core), samples, minutes };
}

async function live(stage: Stage, core: CoreProcess, plan: DaysPlan & { dir: string }) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'days/simulation-main.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  stage.teardown(() => child.kill('SIGKILL'));
  const simulation: SimulationPlan = {
    core: core.url.replace('http', 'ws'),
    key: core.key,
    restartShare: RESTART_SHARE,
    faults: Object.keys(FAULTS),
    ...plan,
  };
  const samples: Sample[] = [];
  const obey: Record<string, () => Promise<unknown>> = {
    kill: core.kill,
    stop: core.stop,
    start: core.start,
  };
  const order = (what: SimulationCommand) => void (child.connected && child.send(what));
  const pacing = setInterval(async () => {
    const open = await core.metric('earshot_streams_open{codec="opus_fs320"}').catch(() => 0);
    order(open > MOST_STREAMS ? 'hold' : 'go on');
  }, PACE_MS);
  stage.teardown(() => clearInterval(pacing));
  /** Until then, its first message says that it serves. */
  let serves = true;
  child.on('message', (told: SimulationEvent) => {
    if (told.event === 'core') {
      serves = false;
      obey[told.order]?.().then(
        () => {
          serves = told.order === 'start';
          order('done');
        },
        error => child.emit('error', error),
      );
    }
    if (told.event !== 'progress') return;
    const sample = sampleOf(told, child.pid, serves ? core.process() : null);
    samples.push(sample);
    if (samples.length % 10 === 0)
      stage.say(`${told.hour.toFixed(1)} hours: ${JSON.stringify(samples.at(-2))}`);
  });
  child.send(simulation);
  const [status] = await once(child, 'exit');
  clearInterval(pacing);
  if (status !== 0) throw new Error(`the simulation ended with ${status}`);
  const day: DayReport = JSON.parse(await readFile(join(plan.dir, 'report.json'), 'utf8'));
  return { day, samples };
}

function sampleOf(
  { hour, heldMb }: Extract<SimulationEvent, { event: 'progress' }>,
  simulation: number | undefined,
  core: ChildProcess | null,
): Sample {
  const sample: Sample = {
    hour,
    bridgeHeld: heldMb,
    bridgeRss: rssOf(simulation),
    coreRss: rssOf(core?.pid),
    coreHeld: Number.NaN,
  };
  if (!core?.connected) return sample;
  core.once('message', (told: { heldMb: number }) => {
    sample.coreHeld = told.heldMb;
  });
  core.send(HELD, () => {});
  return sample;
}

/** NaN: it is not running at the moment. */
function rssOf(pid: number | undefined): number {
  try {
    return memoryOf(pid ?? 0).rss;
  } catch {
    return Number.NaN;
  }
}

/** Compares stored with spoken numbers. */
export function reportOf({ day, stored: asStored, samples, minutes }: Day): DaysReport {
  const stored = withoutEchoes(asStored);
  const { said, apartMs, hours, faults, connections, holes, duplicates, droppedMs, leftBytes, bridges } = day;
  const places = said.map(({ atMs }) => atMs);
  const excused = new Set(said.filter(({ cause }) => cause !== null).map(({ atMs }) => atMs));
  const spoken: Spoken = {
    ...{ device: 0, source: SOURCE, places, startedAt: 0, apartMs: APART_MS, lateMs: NOISE_MS },
    mayMiss: placeMs => excused.has(placeMs),
  };
  const { doubles, disorder, debris, worstErrorMs } = judge(stored, [spoken]);
  return {
    ...{
      hours,
      minutes,
      faults,
      connections,
      numbers: said.length,
      holes,
      duplicates,
      droppedMs,
      leftBytes,
      bridges,
    },
    seconds: secondsOf(said, stored),
    apart: Object.fromEntries(
      Object.entries(apartMs).map(([cause, ms]) => [cause, Math.round(ms / 100) / 10]),
    ),
    ...{ doubles, disorder, debris, worstErrorMs },
    memory: memoryOver(samples, hours),
  };
}

/** Shorter than half of any tone. */
const LONGEST_ECHO_FRAMES = 4;
const LEAST_PAUSE_FRAMES = 3;
/** Duration of a decoder's noise after a loss. */
const NOISE_MS = 150;
/** Maximum gap between pieces of one number. */
const APART_MS = 30;

type Segment = Stored[0]['transcript_segments'][0];

/**
 * After a loss, an Opus decoder briefly repeats the last sound before it. Such an echo belongs to no number,
 * and must not join two.
 */
function withoutEchoes(stored: Stored): Stored {
  return stored.map(one => ({ ...one, transcript_segments: one.transcript_segments.flatMap(parted) }));
}

/** Splits a segment at its pauses. */
function parted(segment: Segment): Segment[] {
  const pieces: { at: number; runs: Run[] }[] = [];
  let at = 0;
  let isNew = true;
  for (const run of runsIn(segment.text)) {
    const parts = run.tone === PAUSE && run.frames >= LEAST_PAUSE_FRAMES;
    if (!parts && isNew) pieces.push({ at, runs: [] });
    if (!parts) pieces.at(-1)?.runs.push(run);
    isNew = parts;
    at += run.frames;
  }
  return pieces
    .filter(({ runs }) => framesOf(runs) > LONGEST_ECHO_FRAMES)
    .map(piece => {
      const start = segment.start + (piece.at * FRAME_MS_OF_CODE) / 1000;
      return {
        start,
        end: start + (framesOf(piece.runs) * FRAME_MS_OF_CODE) / 1000,
        text: textOf(piece.runs),
      };
    });
}

const framesOf = (runs: readonly Run[]) => runs.reduce((sum, { frames }) => sum + frames, 0);

function secondsOf(said: readonly Said[], stored: Stored): Account {
  const found = new Set(
    numbersOf(stored, { source: SOURCE, device: 0, apartMs: APART_MS }).found.map(({ number }) => number),
  );
  const heardAt = tonesIn(stored);
  const account: Account = { sent: 0, inCore: 0, inCoreInPart: 0, lost: {}, unexplained: 0 };
  for (const [number, one] of said.entries()) {
    const cameMs = (one.frames - one.lost) * FRAME_MS;
    account.sent += one.frames * FRAME_MS;
    lose(account, AIR, one.lost * FRAME_MS);
    if (found.has(number)) account.inCore += cameMs;
    else if (one.cause === null) account.unexplained += cameMs;
    else {
      const partMs = Math.min(cameMs, heardAt(one.atMs));
      account.inCoreInPart += partMs;
      lose(account, one.cause === AIR ? BESIDE : one.cause, cameMs - partMs);
    }
  }
  return inSeconds(account);
}

/** Cause for audio that arrived, but is missing in a number that the radio has lost a part of. */
const BESIDE = 'beside what was lost on the air';

function lose({ lost }: Account, cause: string, ms: number): void {
  if (ms > 0) lost[cause] = (lost[cause] ?? 0) + ms;
}

function inSeconds({ lost, ...sums }: Account): Account {
  const seconds = (all: Record<string, number>) =>
    Object.fromEntries(Object.entries(all).map(([name, ms]) => [name, Math.round(ms) / 1000]));
  return { ...(seconds(sums) as typeof sums), lost: seconds(lost) };
}

/** Returns how many milliseconds of tones are stored for the number that started then. */
function tonesIn(stored: Stored): (placeMs: number) => number {
  const pieces = piecesOf(stored, SOURCE);
  return placeMs =>
    pieces
      .filter(({ at }) => at >= placeMs - LONGEST_ERROR_MS && at < placeMs + CODE_MS + LONGEST_ERROR_MS)
      .flatMap(({ runs }) => runs)
      .filter(({ tone }) => tone !== PAUSE)
      .reduce((sum, { frames }) => sum + frames * FRAME_MS_OF_CODE, 0);
}

/** Until caches are full and most code is compiled. */
const WARM_SHARE = 0.1;

function memoryOver(samples: readonly Sample[], hours: number): DaysReport['memory'] {
  const of = (name: Exclude<keyof Sample, 'hour'>, fromHour: number) =>
    trendIn(
      samples.filter(sample => sample.hour >= fromHour).map(sample => ({ x: sample.hour, y: sample[name] })),
    );
  const coreWarmAt = hours * (RESTART_SHARE + (1 - RESTART_SHARE) * WARM_SHARE);
  return {
    'bridges, RSS': of('bridgeRss', hours * WARM_SHARE),
    'bridges, held': of('bridgeHeld', hours * WARM_SHARE),
    'core, RSS': of('coreRss', coreWarmAt),
    'core, held': of('coreHeld', coreWarmAt),
  };
}

function trendIn(points: { x: number; y: number }[]): Memory {
  const known = points.filter(({ y }) => Number.isFinite(y));
  const values = known.map(({ y }) => y);
  return {
    firstMb: values[0] ?? Number.NaN,
    lastMb: values.at(-1) ?? Number.NaN,
    mostMb: Math.max(...values),
    growth: trendOf(known),
  };
}

/** Every second is in core, once and at its time, or lost for a reason that the bridges counted. */
export function isAccounted(report: DaysReport): boolean {
  const { seconds, doubles, disorder, debris, worstErrorMs, holes, duplicates, leftBytes } = report;
  return (
    seconds.unexplained === 0 &&
    [doubles, disorder, debris].every(faults => faults.length === 0) &&
    worstErrorMs <= LONGEST_ERROR_MS &&
    holes.made === holes.counted &&
    duplicates.made === duplicates.counted &&
    report.droppedMs === 0 &&
    leftBytes === 0
  );
}

/** Limit per day: more would exhaust the memory within weeks. */
const MOST_GROWTH_MB = 1;

/** Memory does not grow measurably. */
export function isFlat({ memory }: DaysReport): boolean {
  return Object.values(memory).every(({ growth }) => growth.slope - growth.plusMinus <= MOST_GROWTH_MB);
}
