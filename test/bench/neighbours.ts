/** What sessions notice of others whose recogniser hangs or falls over. */
import { join } from 'node:path';
import {
  type Bench,
  type Benchmark,
  type Cell,
  interleave,
  percentile,
  spread,
  type Table,
} from './benchmark.ts';
import { type Heard, sendStreams, startStreams } from './streams/load.ts';
import { waitsOf } from './streams/measure.ts';
import { PROMPT, type Subject, startCore } from './streams/subjects.ts';

const FAILING = join(import.meta.dirname, '../fixtures/plugins/failing-stt.ts');
const CONFIG = {
  stt: ['prompt', 'failing'],
  plugins: { prompt: { use: PROMPT, languages: ['en'] }, failing: { use: FAILING } },
};
const GOOD = 40;
/** Of each kind. */
const BAD = 10;
const ROUNDS = 5;

export const NEIGHBOURS: Benchmark[] = [
  {
    name: 'neighbours',
    title: 'sessions beside others whose recogniser hangs or falls over',
    run: async bench => [await run(bench)],
  },
];

async function run(bench: Bench): Promise<Table> {
  const alone = await startCore(bench, { config: CONFIG });
  const beside = await startCore(bench, { config: CONFIG });
  const results = await interleave(bench.quick ? 1 : ROUNDS, {
    alone: round => measure(bench, alone, round),
    'beside failing ones': async round => {
      const language = ['de', 'fr'] as const;
      const bad = await Promise.all(language.map(each => disturb(bench, beside, each, round)));
      const heard = await measure(bench, beside, round);
      await Promise.all(bad.map(({ end }) => end()));
      return heard;
    },
  });
  const quiet = results.alone ?? [];
  const rows = Object.entries(results).map(([name, all]): Cell[] => [
    name,
    spread(all.map(heard => waitOf(heard, 50))),
    spread(all.map(heard => waitOf(heard, 99))),
    spread(all.map((heard, at) => waitOf(heard, 99) / waitOf(quiet[at], 99))),
    all.reduce((sum, { latencies }) => sum + latencies.length, 0),
    all.reduce((sum, { missing }) => sum + missing, 0),
  ]);
  return {
    title: `${GOOD} sessions that speak all the time, beside ${2 * BAD} whose recogniser fails, on one core`,
    columns: ['sessions', 'p50 ms', 'p99 ms', 'p99 to alone', 'utterances', 'no text'],
    rows,
    notes: [
      `Half of the ${2 * BAD} have a recogniser that hangs, half one that falls over in each utterance. Latency as in streams.`,
    ],
  };
}

function measure(bench: Bench, { url, key }: Subject, round: number): Promise<Heard> {
  bench.say(`round ${round + 1}`);
  const times = bench.quick ? { warmMs: 500, measureMs: 8000 } : { warmMs: 3000, measureMs: 12_000 };
  const streams = bench.quick ? 5 : GOOD;
  const plan = { url, key, streams, share: 1, seed: round + 1, ...times };
  return sendStreams(bench, plan, { begin() {}, end() {} });
}

/** Sessions that get no text. Resolves when they have begun. */
function disturb(bench: Bench, { url, key }: Subject, language: string, round: number) {
  const times = { warmMs: bench.quick ? 500 : 3000, measureMs: 1e9 };
  const streams = bench.quick ? 2 : BAD;
  return startStreams(bench, {
    url,
    key,
    streams,
    share: 1,
    seed: 100 + round,
    language,
    reconnects: true,
    ...times,
  });
}

function waitOf(heard: Heard | undefined, percent: number): number {
  return heard ? percentile(waitsOf(heard), percent) : Number.NaN;
}
