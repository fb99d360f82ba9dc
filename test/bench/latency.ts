/** Latency of a word, part by part, and the cost of storing audio on disk meanwhile. */
import { GATE_DEFAULTS } from '../../core/audio/gate-options.ts';
import { compilePreload } from '../helpers/preload.ts';
import {
  type Bench,
  type Benchmark,
  type Cell,
  interleave,
  percentile,
  spread,
  type Table,
} from './benchmark.ts';
import { type Measured, measure, waitsOf } from './streams/measure.ts';
import { PROMPT, startCore } from './streams/subjects.ts';

const STREAMS = 50;
const ROUNDS = 3;
const SECONDS = 20;
/** Goal for our share, at p99. */
const GOAL_MS = 20;
const PERCENTILES = [50, 95, 99];
const RECOGNISER_MS = 100;
const HANGOVER_MS = GATE_DEFAULTS.hangoverMs;
const CONFIG = { stt: ['prompt'], plugins: { prompt: { use: PROMPT, answerMs: RECOGNISER_MS } } };
const SPOOL_DIR = '/audio/';

export const LATENCY: Benchmark[] = [
  {
    name: 'latency',
    title: `from the last speech to its text, with ${STREAMS} speaking streams: hangover, recogniser, ours; with and without the disk`,
    run,
  },
];

async function run(bench: Bench): Promise<Table[]> {
  const subjects = await startAll(bench);
  const streams = bench.quick ? 3 : STREAMS;
  const seconds = bench.quick ? 5 : SECONDS;
  const runs = Object.entries(subjects).map(([name, subject]) => [
    name,
    (round: number) => {
      bench.say(`${streams} streams, ${name}, round ${round + 1}`);
      return measure(bench, subject, { streams, share: 1, seconds, seed: round + 1 });
    },
  ]);
  const results: Record<string, Measured[]> = await interleave(
    bench.quick ? 1 : ROUNDS,
    Object.fromEntries(runs),
  );
  return [partsOf(streams, results[HELD] ?? []), costsOf(streams, results)];
}

const HELD = 'written and synced';

/** The same core, and variants with less work per write of audio, which need a compiler. */
async function startAll(bench: Bench) {
  const held = await startCore(bench, { config: CONFIG });
  const preload = compilePreload('no-disk');
  if (preload instanceof Error) {
    bench.say(`only with the disk: ${preload.message}`);
    return { [HELD]: held };
  }
  const without = (what: string) => ({ ...preload, NO_DISK_OF: SPOOL_DIR, NO_DISK: what });
  return {
    [HELD]: held,
    'written, not synced': await startCore(bench, { config: CONFIG, env: without('syncs') }),
    'neither written nor synced': await startCore(bench, { config: CONFIG, env: without('writes') }),
  };
}

function partsOf(streams: number, rounds: readonly Measured[]): Table {
  const row = (part: string, share: (wait: number) => number): Cell[] => [
    part,
    ...PERCENTILES.map(percent => spread(rounds.map(one => percentile(waitsOf(one).map(share), percent)))),
  ];
  return {
    title: `From the last sample of speech to its segment, ${streams} streams that speak all the time, ms`,
    columns: ['part', ...PERCENTILES.map(percent => `p${percent}`)],
    rows: [
      row('all', wait => HANGOVER_MS + wait),
      row('silence that ends an utterance', () => HANGOVER_MS),
      row('recogniser', () => RECOGNISER_MS),
      row('ours', oursOf),
    ],
    notes: [
      `The recogniser answers ${RECOGNISER_MS} ms after an utterance is over; where that comes late in a busy process it counts as ours, as do both sockets and the generator. Goal: ours at most ${GOAL_MS} ms at p99.`,
    ],
  };
}

const oursOf = (wait: number) => wait - RECOGNISER_MS;

function costsOf(streams: number, results: Readonly<Record<string, Measured[]>>): Table {
  const floor = Object.values(results).at(-1) ?? [];
  return {
    title: `What it costs to hold audio on disk, ${streams} streams that speak all the time`,
    columns: [
      'audio',
      'CPU ms per stream-second',
      'to the last',
      'ours p50 ms',
      'ours p99 ms',
      'utterances',
      'no text',
      "generator's lag p99 ms",
    ],
    rows: Object.entries(results).map(([name, all]): Cell[] => [
      name,
      spread(all.map(({ cpu }) => cpu.total)),
      spread(all.map(({ cpu }, at) => cpu.total / (floor[at]?.cpu.total ?? Number.NaN))),
      ...[50, 99].map(percent => spread(all.map(one => percentile(waitsOf(one).map(oursOf), percent)))),
      all.reduce((sum, { latencies }) => sum + latencies.length, 0),
      all.reduce((sum, { missing }) => sum + missing, 0),
      spread(all.map(({ lagP99 }) => lagP99)),
    ]),
  };
}
