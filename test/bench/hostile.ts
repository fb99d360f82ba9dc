/**
 * Measures how an attacking client delays honest ones, and how much memory it uses on a server with a small
 * heap.
 */
import type { ChildProcess } from 'node:child_process';
import { setInterval } from 'node:timers/promises';
import type { Args, CommandName } from '../../core/control/commands.ts';
import { callControl, controlPath } from '../../core/control/control.ts';
import { SCOPES } from '../../core/domain/accounts/keys.ts';
import { ACTIONS } from '../../core/domain/apps/apps.ts';
import { coreProcess } from '../helpers/core-process.ts';
import { type Bench, type Benchmark, type Cell, percentile, spread, type Table } from './benchmark.ts';
import type { Attack, AttackPlan, AttackTold, Kind, Target } from './hostile/attack.ts';
import { ATTACKS } from './hostile/attacks.ts';
import type { RestPlan, RestTold } from './hostile/rest-main.ts';
import { launcherOf, memoryOf, nextMessage, startProgram } from './processes.ts';
import { type Heard, sendStreams } from './streams/load.ts';
import { waitsOf } from './streams/measure.ts';
import { PROMPT } from './streams/subjects.ts';

const STREAMS = 20;
const REST_EVERY_MS = 125;
const HEAP_MB = 512;
/** Largest ratio of a 99th percentile to that with the same honest load. */
const GOAL = 2;
/** Largest memory: the heap, and the same again for code, socket buffers, databases and models. */
const GOAL_RSS_MB = 2 * HEAP_MB;

const KINDS = ['honest', 'attack'] as const;
const LABELS: Record<Kind, string> = { honest: 'as much honest load', attack: 'the attack' };

interface Extent {
  rounds: number;
  streams: number;
  warmMs: number;
  measureMs: number;
  /** Attacks measured at the same time, each on its own server. */
  atOnce: number;
}

/** Returns whether everything works. */
const QUICK: Extent = { rounds: 1, streams: 2, warmMs: 500, measureMs: 3000, atOnce: 6 };
/** Short enough for all attacks in one run, and long enough for what an attack leaves behind to be processed. */
const ALL: Extent = { rounds: 1, streams: STREAMS, warmMs: 2000, measureMs: 30_000, atOnce: 1 };
const ONE: Extent = { rounds: 3, streams: STREAMS, warmMs: 3000, measureMs: 30_000, atOnce: 1 };

export const HOSTILE: Benchmark[] = [
  {
    name: 'hostile',
    title: `${STREAMS} streams and a REST client beside each of ${ATTACKS.length} attacks`,
    run: bench => run(bench, ATTACKS, ALL),
  },
  ...ATTACKS.map(attack => ({
    name: `hostile:${attack.name}`,
    title: `the same beside ${attack.title}`,
    long: true as const,
    run: (bench: Bench) => run(bench, [attack], ONE),
  })),
];

interface Subject {
  victim: { url: string; key: string };
  process: ChildProcess;
  target: Target;
}

/** Results of one round. */
interface Seen extends Heard {
  rest: number[];
  failures: number;
  rss: number;
  counts: Record<string, number>;
}

async function run(bench: Bench, attacks: readonly Attack[], usual: Extent): Promise<Table[]> {
  const extent = bench.quick ? QUICK : within(usual, bench.minutes);
  const rows: Cell[][] = [];
  for (let first = 0; first < attacks.length; first += extent.atOnce) {
    const some = attacks.slice(first, first + extent.atOnce);
    rows.push(...(await Promise.all(some.map(attack => rowOf(bench, attack, extent)))));
  }
  return [
    {
      title: `${extent.streams} streams and a REST client beside an attack`,
      columns: [
        ...['attack', 'words p99 ms', 'beside honest', 'ratio', 'no text'],
        ...['REST p99 ms', 'beside honest', 'ratio', 'not answered'],
        ...['RSS MB', 'beside honest', 'done'],
      ],
      rows,
      notes: [
        `The server has a heap of ${HEAP_MB} MB. Goals: both 99th percentiles at most ${GOAL} times those beside as much honest load, every request answered, less than ${GOAL_RSS_MB} MB in all.`,
        ...attacks.map(({ name, title }) => `\`${name}\`: ${title}.`),
      ],
    },
  ];
}

/** @param minutes of each measurement */
function within(usual: Extent, minutes: number | undefined): Extent {
  return minutes === undefined ? usual : { ...usual, measureMs: minutes * 60_000 };
}

async function rowOf(bench: Bench, attack: Attack, extent: Extent): Promise<Cell[]> {
  const seen: Record<Kind, Seen[]> = { honest: [], attack: [] };
  for (let round = 0; round < extent.rounds; round++)
    for (const kind of KINDS) seen[kind].push(await measure(bench, attack, { ...extent, kind, round }));
  const p99 = (of: (one: Seen) => number[]) => {
    const [attacked, honest] = [seen.attack, seen.honest].map(all => all.map(one => percentile(of(one), 99)));
    const ratios = attacked?.map((value, round) => value / (honest?.[round] ?? Number.NaN));
    return [attacked, honest, ratios].map(values => cellOf(values ?? []));
  };
  const total = (of: (one: Seen) => number) => seen.attack.reduce((sum, one) => sum + of(one), 0);
  return [
    attack.name,
    ...p99(waitsOf),
    total(one => one.missing),
    ...p99(one => one.rest),
    total(one => one.failures),
    ...[seen.attack, seen.honest].map(all => cellOf(all.map(one => one.rss))),
    doneIn(seen.attack),
  ];
}

/** Null if too little was measured, as may happen in the quick form. */
function cellOf(values: readonly number[]): Cell {
  return values.some(Number.isNaN) ? null : spread(values);
}

/** `429: 3000, 401: 120` */
function doneIn(all: readonly Seen[]): string {
  const sum = new Map<string, number>();
  for (const { counts } of all)
    for (const [what, count] of Object.entries(counts)) sum.set(what, (sum.get(what) ?? 0) + count);
  return [...sum].map(([what, count]) => `${what}: ${count}`).join(', ') || 'nothing';
}

interface Round extends Extent {
  kind: Kind;
  round: number;
}

/** Measures on a separate server, so that no round affects another. */
async function measure(bench: Bench, attack: Attack, round: Round): Promise<Seen> {
  const { kind } = round;
  bench.say(`${attack.name}, round ${round.round + 1}, ${LABELS[kind]}`);
  const undo: (() => void | Promise<void>)[] = [];
  const own: Bench = { ...bench, teardown: step => void undo.push(step) };
  try {
    const subject = await startSubject(own, attack, kind);
    await summariseOne(subject.target);
    await attack.prepare?.(subject.target, { kind, quick: bench.quick });
    return await observe(own, subject, { name: attack.name, kind, target: subject.target }, round);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

async function observe(
  bench: Bench,
  { victim, process: server }: Subject,
  plan: AttackPlan,
  { streams, warmMs, measureMs, round }: Round,
): Promise<Seen> {
  const rest = startProgram(bench, 'load', new URL('./hostile/rest-main.ts', import.meta.url));
  const asked = nextMessage<RestTold>(rest, 'asked');
  rest.send({ ...victim, everyMs: REST_EVERY_MS } satisfies RestPlan);
  await asked;
  const answered = nextMessage<RestTold & { event: 'answered' }>(rest, 'answered');
  answered.catch(() => {}); // the streams failed first
  const attacker = startProgram(bench, 'load', new URL('./hostile/attack-main.ts', import.meta.url));
  attacker.send(plan);
  const peak = watchMemory(server.pid ?? 0);
  const load = { ...victim, streams, share: 1, seed: round + 1, reconnects: true, warmMs, measureMs };
  const heard = await sendStreams(bench, load, {
    begin: () => void rest.send('begin'),
    end: () => void rest.send('end'),
  });
  const counted = nextMessage<AttackTold>(attacker, 'counted');
  attacker.send('end');
  const { counts } = await counted;
  const { latencies, failures } = await answered;
  if (server.exitCode !== null || server.signalCode !== null) counts['the server ended'] = 1;
  return { ...heard, rest: latencies, failures, rss: peak.end(), counts };
}

function watchMemory(pid: number): { end(): number } {
  const over = new AbortController();
  let most = 0;
  const watch = async () => {
    for await (const _ of setInterval(100, undefined, { signal: over.signal }))
      most = Math.max(most, memoryOf(pid).rss);
  };
  watch().catch(() => {}); // aborted, or the server has ended
  return {
    end() {
      over.abort();
      return most;
    },
  };
}

async function startSubject(bench: Bench, attack: Attack, kind: Kind): Promise<Subject> {
  const settings = { stt: ['prompt'], plugins: { prompt: { use: PROMPT } }, ...attack.config?.(kind) };
  const core = await coreProcess(bench, settings, () => [
    ...launcherOf('subject'),
    ...['env', `NODE_OPTIONS=--max-old-space-size=${HEAP_MB}`],
  ]);
  const target = { url: core.url, dataDir: core.dataDir, ...(await attackerOn(core.dataDir)) };
  return { victim: { url: core.url, key: core.key }, process: core.process(), target };
}

/** Loads the modules that a summary needs, which are loaded at first use and would count for one side alone. */
async function summariseOne({ url, key }: Target): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ text: 'Tea at seven, said Eve.' });
  const { status } = await fetch(`${url}/v1/dev/user/conversations`, { method: 'POST', headers, body });
  if (status !== 200) throw new Error(`a conversation was answered with ${status}`);
}

async function attackerOn(dataDir: string): Promise<Omit<Target, 'url' | 'dataDir'>> {
  const call = async <C extends CommandName>(command: C, args: Args<C>) => {
    const made = await callControl(controlPath(dataDir), command, args);
    if (made === 'absent') throw new Error('core does not answer on its control socket');
    return made;
  };
  const user = 'attacker';
  const { id: userId } = await call('user.add', { name: user });
  const { key } = await call('key', { user, scopes: [...SCOPES] });
  const { token } = await call('token', { user });
  const { id: appId, secret } = await call('app.create', { user, name: 'attack', actions: [...ACTIONS] });
  await call('app.install', { user, app: appId });
  return { userId, key, token, appId, appSecret: secret };
}
