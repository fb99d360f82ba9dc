/** Live streams for a long time: does anything grow? */
import { readdirSync } from 'node:fs';
import type { Bench, Benchmark, Cell, Spread, Table } from './benchmark.ts';
import { memoryOf } from './processes.ts';
import { sendStreams } from './streams/load.ts';
import { type Subject, startCore } from './streams/subjects.ts';
import { mean, trendOf } from './trend.ts';

const STREAMS = 20;
const SHARE = 0.4;
const SAMPLE_MS = 1000;
/** Until caches are full and most is compiled: this part of the time, at most so long. */
const WARM_SHARE = 0.25;
const MAX_WARM_MS = 300_000;
const HOUR_MS = 3_600_000;

const SERIES = [
  'RSS MB',
  'heap MB',
  'file descriptors',
  'timers',
  'handles and requests',
  'event loop lag p99 ms',
  'spool MB',
] as const;
type Sample = { atMs: number } & Record<(typeof SERIES)[number], number>;

export const SOAK: Benchmark[] = [
  {
    name: 'soak',
    title: `${STREAMS} live streams for a long time (--minutes 30): does anything grow?`,
    long: true,
    run: async bench => [await run(bench)],
  },
];

async function run(bench: Bench): Promise<Table> {
  const minutes = bench.minutes ?? (bench.quick ? 1 : 30);
  const subject = await startCore(bench);
  const warmMs = Math.min(MAX_WARM_MS, minutes * 60_000 * WARM_SHARE);
  const measureMs = minutes * 60_000 - warmMs;
  const { url, key } = subject;
  const sampler = createSampler(subject);
  bench.say(`${STREAMS} streams, ${minutes} minutes`);
  const plan = { url, key, streams: STREAMS, share: SHARE, warmMs, measureMs, seed: 1 };
  const heard = await sendStreams(bench, plan, {
    begin: sampler.start,
    end: sampler.stop,
  });
  const samples = sampler.taken;
  return {
    title: `${STREAMS} streams in real time, ${SHARE * 100} % speech, for ${minutes} minutes`,
    columns: ['core', 'at first', 'at last', 'most', 'growth in an hour', 'seen as'],
    rows: SERIES.map(name => rowOf(name, samples)),
    notes: [
      `${samples.length} samples, one a second, after ${Math.round(warmMs / 1000)} s of warming up. Growth is the slope of least squares with its 95 % interval, widened by how far samples resemble those before them.`,
      `${heard.latencies.length} utterances became text, ${heard.missing} did not.`,
    ],
  };
}

/** At first, at last: the means of the first and the last tenth. */
function rowOf(name: (typeof SERIES)[number], samples: readonly Sample[]): Cell[] {
  const values = samples.map(sample => sample[name]);
  const tenth = Math.ceil(values.length / 10);
  const { slope, plusMinus } = trendOf(
    samples.map(sample => ({ x: sample.atMs / HOUR_MS, y: sample[name] })),
  );
  const growth: Spread = { median: slope, low: slope - plusMinus, high: slope + plusMinus };
  return [
    name,
    mean(values.slice(0, tenth)),
    mean(values.slice(-tenth)),
    Math.max(...values),
    growth,
    growth.low > 0 ? 'growth' : growth.high < 0 ? 'decline' : 'none',
  ];
}

function createSampler(subject: Subject) {
  const taken: Sample[] = [];
  let timer: NodeJS.Timeout | undefined;
  const take = async () => void taken.push(await sample(subject));
  return {
    taken,
    start() {
      timer = setInterval(take, SAMPLE_MS);
    },
    stop: () => clearInterval(timer),
  };
}

async function sample({ url, pid }: Subject): Promise<Sample> {
  const lines = (await (await fetch(new URL('/metrics', url))).text()).split('\n');
  const metric = (name: string) =>
    Number(lines.find(line => line.startsWith(`${name} `))?.slice(name.length));
  return {
    atMs: performance.now(),
    'RSS MB': memoryOf(pid).rss,
    'heap MB': metric('nodejs_heap_size_used_bytes') / 1e6,
    'file descriptors': readdirSync(`/proc/${pid}/fd`).length,
    timers: metric('nodejs_active_resources{type="Timeout"}'),
    'handles and requests': metric('nodejs_active_resources_total'),
    'event loop lag p99 ms': metric('nodejs_eventloop_lag_p99_seconds') * 1000,
    'spool MB': metric('earshot_spool_bytes{state="disk"}') / 1e6,
  };
}
