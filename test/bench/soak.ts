/** Long-running live streams, and a fast upload of hours: detects growth. */
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../helpers/free-port.ts';
import type { Bench, Benchmark, Cell, Spread, Table } from './benchmark.ts';
import { memoryOf, nextMessage, startProgram } from './processes.ts';
import { openCollector } from './soak/collector.ts';
import type { SessionPlan, SessionTold } from './soak/session-main.ts';
import { sendStreams } from './streams/load.ts';
import { type Subject, startCore } from './streams/subjects.ts';
import { mean, trendOf } from './trend.ts';

const STREAMS = 20;
const SESSION_HOURS = 4;
const SHARE = 0.4;
/** Part of the time for warm-up of caches and compilation, with an upper limit. */
const WARM_SHARE = 0.25;
const MAX_WARM_MS = 300_000;
const MAX_PAUSE_MS = 10_000;
const HOUR_MS = 3_600_000;
const METHOD =
  'Each after a garbage collection: what grows is kept. Growth is the slope of least squares with its 95 % interval, widened by how far samples resemble those before them.';

const SERIES = [
  'RSS MB',
  'heap MB',
  'file descriptors',
  'timers',
  'handles',
  'event loop lag p90 ms',
  'spool MB',
] as const;
type Sample = { atMs: number; audioMs: number } & Record<(typeof SERIES)[number], number>;

export const SOAK: Benchmark[] = [
  {
    name: 'soak:streams',
    title: `${STREAMS} live streams for a long time (--minutes 30): does anything grow?`,
    long: true,
    run: async bench => [await runStreams(bench)],
  },
  {
    name: 'soak:session',
    title: `one recording of ${SESSION_HOURS} hours at once: does anything grow with it?`,
    long: true,
    run: async bench => [await runSession(bench)],
  },
];

async function runStreams(bench: Bench): Promise<Table> {
  const minutes = bench.minutes ?? (bench.quick ? 1 : 30);
  const warmMs = Math.min(MAX_WARM_MS, minutes * 60_000 * WARM_SHARE);
  const measureMs = minutes * 60_000 - warmMs;
  const { subject, sampler } = await startSampled(bench, Math.min(MAX_PAUSE_MS, measureMs / 20));
  const { url, key } = subject;
  bench.say(`${STREAMS} streams, ${minutes} minutes`);
  const plan = { url, key, streams: STREAMS, share: SHARE, warmMs, measureMs, seed: 1 };
  const heard = await sendStreams(bench, plan, { begin: sampler.start, end: sampler.stop });
  const samples = sampler.taken;
  return {
    title: `${STREAMS} streams in real time, ${SHARE * 100} % speech, for ${minutes} minutes`,
    columns: ['core', 'at first', 'at last', 'most', 'growth in an hour', 'seen as'],
    rows: SERIES.map(name => rowOf(name, samples, ({ atMs }) => atMs)),
    notes: [
      `${samples.length} samples, after ${Math.round(warmMs / 1000)} s of warming up. ${METHOD}`,
      `${heard.latencies.length} utterances became text, ${heard.missing} did not.`,
    ],
  };
}

async function runSession(bench: Bench): Promise<Table> {
  const minutes = bench.quick ? 10 : SESSION_HOURS * 60;
  const { subject, sampler } = await startSampled(bench, bench.quick ? 100 : 1000);
  const { url, key } = subject;
  bench.say(`${minutes} minutes at once`);
  const child = startProgram(bench, 'load', new URL('./soak/session-main.ts', import.meta.url));
  const over = nextMessage<SessionTold>(child, 'over');
  child.send({ url, key, minutes, share: SHARE } satisfies SessionPlan);
  const beganAt = performance.now();
  sampler.start();
  const { texts, missing } = await over.finally(sampler.stop);
  const seconds = (performance.now() - beganAt) / 1000;
  const samples = sampler.taken.filter(({ audioMs }) => audioMs >= minutes * 60_000 * WARM_SHARE);
  return {
    title: `One connection that brings ${minutes} minutes at once, recorded earlier, ${SHARE * 100} % speech`,
    columns: ['core', 'at first', 'at last', 'most', 'growth in an hour of recording', 'seen as'],
    rows: SERIES.map(name => rowOf(name, samples, ({ audioMs }) => audioMs)),
    notes: [
      `${samples.length} samples, after a quarter of the recording. ${METHOD}`,
      `It took ${Math.round(seconds)} s. ${texts} utterances became text, ${missing} did not.`,
    ],
  };
}

/** At first, at last: the means of the first and the last tenth. */
function rowOf(
  name: (typeof SERIES)[number],
  samples: readonly Sample[],
  timeOf: (sample: Sample) => number,
): Cell[] {
  const values = samples.map(sample => sample[name]);
  const tenth = Math.ceil(values.length / 10);
  const { slope, plusMinus } = trendOf(
    samples.map(sample => ({ x: timeOf(sample) / HOUR_MS, y: sample[name] })),
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

/** Samples of a core, each after a garbage collection. */
async function startSampled(bench: Bench, pauseMs: number) {
  const port = await freePort();
  const subject = await startCore(bench, { env: { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` } });
  const collector = await openCollector(port);
  bench.teardown(collector.close);
  const taken: Sample[] = [];
  const over = new AbortController();
  let sampling = Promise.resolve();
  const takeOn = async () => {
    while (!over.signal.aborted) {
      await collector.collect();
      taken.push(await sample(subject));
      await sleep(pauseMs, undefined, { signal: over.signal }).catch(() => {});
    }
  };
  const sampler = {
    taken,
    start() {
      sampling = takeOn();
    },
    async stop() {
      over.abort();
      await sampling;
    },
  };
  return { subject, sampler };
}

async function sample({ url, pid }: Subject): Promise<Sample> {
  const headers = { Connection: 'close' }; // a kept connection may be closed at the moment of the next request
  const ask = async () => (await fetch(new URL('/metrics', url), { headers })).text();
  const lines = (await ask().catch(ask)).split('\n'); // an overloaded server may lose one
  const metric = (name: string) =>
    Number(lines.find(line => line.startsWith(`${name} `))?.slice(name.length) ?? Number.NaN);
  return {
    atMs: performance.now(),
    audioMs: metric('earshot_stream_audio_seconds_total{codec="opus_fs320"}') * 1000,
    'RSS MB': memoryOf(pid).rss,
    'heap MB': metric('nodejs_heap_size_used_bytes') / 1e6,
    'file descriptors': readdirSync(`/proc/${pid}/fd`).length,
    timers: metric('nodejs_active_resources{type="Timeout"}'),
    handles: metric('nodejs_active_handles_total'),
    'event loop lag p90 ms': metric('nodejs_eventloop_lag_p90_seconds') * 1000,
    'spool MB': metric('earshot_spool_bytes{state="disk"}') / 1e6,
  };
}
