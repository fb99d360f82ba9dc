/** Measures the cost of speaker recognition: the same streams with a speaker model and without. */
import { voiceModelOptions } from '../helpers/voices.ts';
import {
  type Bench,
  type Benchmark,
  type Cell,
  interleave,
  percentile,
  spread,
  type Table,
} from './benchmark.ts';
import { giveOtherCore } from './processes.ts';
import { type Measured, measure, waitsOf } from './streams/measure.ts';
import { PROMPT, type Subject, startCore } from './streams/subjects.ts';

const STREAMS = 20;
/** All of them speak all the time: the highest cost of speakers. */
const SHARE = 1;
const ROUNDS = 5;
const SECONDS = 20;
/** Goal for processor time with speakers, relative to that without. */
const GOAL = 1.15;
const WITHOUT = 'without speakers';

export const SPEAKERS: Benchmark[] = [
  {
    name: 'speakers',
    title: `live streams with speakers on: cost and delay beside the same streams without`,
    run: async bench => [await compare(bench)],
  },
];

async function compare(bench: Bench): Promise<Table> {
  const config = { stt: ['prompt'], plugins: { prompt: { use: PROMPT } } };
  const model = await voiceModelOptions(bench);
  const subjects: Record<string, Subject> = {
    [WITHOUT]: await startCore(bench, { config }),
    'with speakers': await startCore(bench, {
      config: {
        ...config,
        speakers: ['sherpa-speakers'],
        plugins: { ...config.plugins, 'sherpa-speakers': model },
      },
    }),
  };
  for (const { pid } of Object.values(subjects)) giveOtherCore(pid);
  const load = bench.quick ? { streams: 3, seconds: 5 } : { streams: STREAMS, seconds: SECONDS };
  const runs = Object.entries(subjects).map(([name, subject]) => [
    name,
    (round: number) => {
      bench.say(`${load.streams} streams, ${name}, round ${round + 1}`);
      return measure(bench, subject, { ...load, share: SHARE, seed: round + 1 });
    },
  ]);
  const results: Record<string, Measured[]> = await interleave(
    bench.quick ? 1 : ROUNDS,
    Object.fromEntries(runs),
  );
  return tableOf(load.streams, results);
}

function tableOf(streams: number, results: Readonly<Record<string, readonly Measured[]>>): Table {
  const floor = results[WITHOUT] ?? [];
  const late = (one: Measured, percent: number) => percentile(waitsOf(one), percent);
  return {
    title: `Cost of telling speakers apart, ${streams} streams, ${SHARE * 100} % speech`,
    columns: [
      'streams',
      'CPU ms per stream-second',
      'to without',
      'p50 ms',
      'p90 ms',
      'p99 ms',
      'p99 ms of all rounds',
      'p99 to without',
      "model's CPU ms per stream-second",
      'utterances',
      'no text',
    ],
    rows: Object.entries(results).map(([name, all]): Cell[] => [
      name,
      spread(all.map(({ cpu }) => cpu.total)),
      spread(all.map(({ cpu }, at) => cpu.total / (floor[at]?.cpu.total ?? Number.NaN))),
      spread(all.map(one => late(one, 50))),
      spread(all.map(one => late(one, 90))),
      spread(all.map(one => late(one, 99))),
      percentile(all.flatMap(waitsOf), 99),
      spread(all.map((one, at) => late(one, 99) / late(floor[at] ?? one, 99))),
      spread(all.map(({ children }) => children)),
      all.reduce((sum, { latencies }) => sum + latencies.length, 0),
      all.reduce((sum, { missing }) => sum + missing, 0),
    ]),
    notes: [
      `Processor time is that of the server's process; the model has a process of its own, on the other core, whose time is apart. The model is that of the tests: a small one costs what the way to it costs. Delays count as in streams:40, and hold what is waited for the model. A round has few utterances: its p99 is its slowest. Goal: at most ${GOAL} times the processor time, and p99 not worse.`,
    ],
  };
}
