/** Measures how sessions are affected by others: by faulty recognisers, and by attacking clients. */
import { join } from 'node:path';
import { VICES } from '../fixtures/plugins/faulty-stt.ts';
import {
  type Bench,
  type Benchmark,
  type Cell,
  interleave,
  percentile,
  spread,
  type Table,
} from './benchmark.ts';
import type { HostilePlan } from './neighbours/hostile-main.ts';
import { endProcess, startProgram } from './processes.ts';
import { type Heard, sendStreams, startStreams } from './streams/load.ts';
import { waitsOf } from './streams/measure.ts';
import { PROMPT, type Subject, startCore } from './streams/subjects.ts';

const FAULTY = join(import.meta.dirname, '../fixtures/plugins/faulty-stt.ts');
/**
 * English has a good recogniser, other languages a faulty one, as long as the file that triggers the fault
 * exists.
 */
const FAULTY_CONFIG = {
  stt: ['prompt', 'faulty'],
  plugins: { prompt: { use: PROMPT, languages: ['en'] }, faulty: { use: FAULTY, vices: FAULTY } },
};
const GOOD = 40;
const HOSTILE = 20;
const ATTACK_EVERY_MS = 1000;
const ROUNDS = 5;
/** Goal at p99, relative to the same sessions alone. */
const GOAL = 1.5;
/** The load of the sessions with faulty recognisers, without the others. */
const MORE = 'beside as many that behave';

export const NEIGHBOURS: Benchmark[] = [
  {
    name: 'neighbours',
    title: 'sessions beside others with faulty recognisers, and beside attacking clients',
    run: async bench => [await run(bench)],
  },
];

type End = () => Promise<void>;

async function run(bench: Bench): Promise<Table> {
  const alone = await startCore(bench);
  const more = await startCore(bench);
  const faulty = await startCore(bench, { config: FAULTY_CONFIG });
  const attacked = await startCore(bench);
  const beside = (subject: Subject, disturb: () => Promise<End>) => async (round: number) => {
    const end = await disturb();
    const heard = await measure(bench, subject, round);
    await end();
    return heard;
  };
  const results = await interleave(bench.quick ? 1 : ROUNDS, {
    alone: round => measure(bench, alone, round),
    [MORE]: beside(more, () => addStreams(bench, more, 'en')),
    'beside faulty recognisers': beside(faulty, () => addStreams(bench, faulty, 'de')),
    'beside hostile clients': beside(attacked, () => attack(bench, attacked)),
  });
  const times = (all: Heard[], name: string) =>
    spread(all.map((heard, at) => waitOf(heard, 99) / waitOf(results[name]?.[at], 99)));
  const rows = Object.entries(results).map(([name, all]): Cell[] => [
    name,
    spread(all.map(heard => waitOf(heard, 50))),
    spread(all.map(heard => waitOf(heard, 99))),
    times(all, 'alone'),
    times(all, MORE),
    all.reduce((sum, { latencies }) => sum + latencies.length, 0),
    all.reduce((sum, { missing }) => sum + missing, 0),
  ]);
  return {
    title: `${GOOD} sessions that speak all the time, beside others, on one core`,
    columns: ['sessions', 'p50 ms', 'p99 ms', 'p99 to alone', 'p99 to as many', 'utterances', 'no text'],
    rows,
    notes: [
      `Faulty recognisers: ${VICES.length} sessions, each with another vice of a recogniser, that connect again when they are closed. Hostile: ${HOSTILE} clients, each of which breaks the protocol once in ${ATTACK_EVERY_MS / 1000} s. Latency as in streams; of 400 utterances in a round the 99th percentile is the fourth worst. As many that behave are the load of those with faulty recognisers, without their vices. Goal: p99 at most ${GOAL} times that of the same sessions alone.`,
    ],
  };
}

function measure(bench: Bench, { url, key }: Subject, round: number): Promise<Heard> {
  bench.say(`round ${round + 1}`);
  const times = bench.quick ? { warmMs: 500, measureMs: 8000 } : { warmMs: 3000, measureMs: 60_000 };
  const streams = bench.quick ? 5 : GOOD;
  const plan = { url, key, streams, share: 1, seed: round + 1, ...times };
  return sendStreams(bench, plan, { begin() {}, end() {} });
}

/**
 * Sessions of this language, each with another fault of the faulty recogniser. Resolves when they have
 * started.
 */
async function addStreams(bench: Bench, { url, key }: Subject, language: string): Promise<End> {
  const languages = VICES.slice(0, bench.quick ? 5 : VICES.length).map(vice => `${language}-${vice}`);
  const times = { warmMs: bench.quick ? 500 : 3000, measureMs: 1e9 };
  const plan = { url, key, streams: languages.length, languages, share: 1, seed: 100, reconnects: true };
  const { end } = await startStreams(bench, { ...plan, ...times });
  return end;
}

async function attack(bench: Bench, { url, key }: Subject): Promise<End> {
  const child = startProgram(bench, 'load', new URL('./neighbours/hostile-main.ts', import.meta.url));
  child.send({
    url,
    key,
    clients: bench.quick ? 5 : HOSTILE,
    everyMs: ATTACK_EVERY_MS,
  } satisfies HostilePlan);
  return () => endProcess(child);
}

function waitOf(heard: Heard | undefined, percent: number): number {
  return heard ? percentile(waitsOf(heard), percent) : Number.NaN;
}
