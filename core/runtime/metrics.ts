import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { JobCount } from '../contract/model.ts';
import type { Storage } from '../contract/plugin.ts';
import type { Outcome } from './errors.ts';
import { droppedLogLines } from './log-output.ts';

/**
 * Totals over the streams of one codec since the start. They are plain numbers that are read when metrics are
 * requested, so a message costs a few additions.
 */
export interface StreamCounts {
  open: number;
  messages: number;
  bytes: number;
  badFrames: number;
  samples: number;
  /** Time for which clients reported missing audio, and how much of it was concealed. */
  gapSamples: number;
  concealedSamples: number;
  decodeMs: number;
  gateMs: number;
  detectorMs: number;
}

type Queue = 'messages' | 'speech' | 'answers';
type Queues = Record<Queue, Set<() => number>>;

interface Stopwatch {
  /** A monotonic clock in ms; only differences mean anything. */
  now(): number;
}

export interface ListenMetrics extends Stopwatch {
  /** Returns the same object for all streams of a codec. */
  streams(codec: string): StreamCounts;
  /** How many live connections are in each state. */
  readonly connections: Map<string, number>;
  /** `bytes` returns the size of the waiting audio; it is called until the returned function is. */
  watch(queue: Queue, bytes: () => number): () => void;
  /** Counts an utterance, or audio without one. `quarantined`: every recogniser failed, the audio is in a file. */
  utterance(outcome: Outcome | 'quarantined'): void;
  /** A recogniser failed during an utterance, and is opened again. */
  lost(): void;
  /** An utterance was transcribed; its last segment has just been sent. */
  transcribed(provider: string, times: { recogniserMs: number; latencyMs: number; beyondMs: number }): void;
  segments(count: number): void;
}

export interface JobMetrics extends Stopwatch {
  /** Called once the end of a run is stored, so that the database agrees with the count. */
  ran(kind: string, outcome: 'done' | 'again' | 'failed' | 'dead'): void;
  took(kind: string, ms: number): void;
}

export interface HttpMetrics extends Stopwatch {
  /** @param route the pattern, not the path, so that the number of series is bounded */
  answered(request: { method: string; route: string; status: number }, ms: number): void;
}

export interface SpoolMetrics {
  /** Audio was written and synced to disk. */
  synced(ms: number): void;
}

export interface DeliveryMetrics {
  /**
   * One attempt has ended. `again`: it is retried; `dropped`: it was too old, or one too many, to be
   * attempted.
   */
  attempted(target: 'hook' | 'channel' | 'live', outcome: DeliveryOutcome, ms: number): void;
  /** Returns what waits in memory; called for each request of the metrics. */
  watchLive(waiting: () => { count: number; bytes: number }): void;
}
type DeliveryOutcome = 'delivered' | 'again' | 'failed' | 'dropped';

export interface Metrics extends ListenMetrics, SpoolMetrics, JobMetrics, HttpMetrics, DeliveryMetrics {
  transaction(name: string, ms: number): void;
  /** Returns the latest latencies of speech until its text was sent. */
  latency(): { total: Latency; beyond: Latency };
  /** Returns the audio that waits for its text; called for each request of the metrics. */
  watchSpool(counts: () => { bytes: number; pendingBytes: number; damaged: number }): void;
  /** Returns all metrics in the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** The latest measurements of one latency, in ms. A percentile is null where too few were taken to know it. */
export interface Latency {
  count: number;
  /** Age of the oldest and of the newest; null: there are none. */
  oldestMs: number | null;
  newestMs: number | null;
  p50: number | null;
  p90: number | null;
  p99: number | null;
  max: number | null;
}

const KEPT_LATENCIES = 1000;

/** Keeps the latest measurements, so that their percentiles are exact. */
function createLatest(now: () => number) {
  const kept: { at: number; ms: number }[] = [];
  return {
    add(ms: number): void {
      kept.push({ at: now(), ms });
      if (kept.length > KEPT_LATENCIES) kept.shift();
    },
    read(): Latency {
      const sorted = kept.map(({ ms }) => ms).sort((a, b) => a - b);
      /** Below that many, the percentile would be the maximum. */
      const at = (percent: number) =>
        sorted.length * (100 - percent) < 100
          ? null
          : (sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? null);
      const age = (each: { at: number } | undefined) => (each ? now() - each.at : null);
      const [oldestMs, newestMs] = [age(kept[0]), age(kept.at(-1))];
      const percentiles = { p50: at(50), p90: at(90), p99: at(99), max: sorted.at(-1) ?? null };
      return { count: kept.length, oldestMs, newestMs, ...percentiles };
    },
  };
}

interface Sources {
  now: Stopwatch['now'];
  /** Gauges whose values are kept elsewhere, and read for each request. */
  plugins(): { name: string; state: string }[];
  jobs(): Promise<JobCount[]>;
}

const SAMPLES_PER_SECOND = 16_000;
const PLUGIN_STATES = ['off', 'starting', 'ready', 'degraded'];
/** In seconds. */
const BUCKETS = {
  wait: [0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30],
  work: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  long: [0.01, 0.1, 0.5, 1, 5, 15, 60, 300],
};

function toSeconds(samples: 'samples' | 'gapSamples' | 'concealedSamples') {
  return (counts: StreamCounts) => counts[samples] / SAMPLES_PER_SECOND;
}

/** Sums of the streams of each codec. */
const STREAM_SUMS: [name: string, help: string, (counts: StreamCounts) => number][] = [
  ['messages', 'Binary messages with audio', ({ messages }) => messages],
  ['received_bytes', 'Bytes of these messages', ({ bytes }) => bytes],
  ['bad_frames', 'Frames that could not be decoded, and became silence', ({ badFrames }) => badFrames],
  ['audio_seconds', 'Audio decoded', toSeconds('samples')],
  ['gap_seconds', 'Time that clients told to be without audio', toSeconds('gapSamples')],
  ['concealed_seconds', 'Short gaps that were filled with made-up sound', toSeconds('concealedSamples')],
  ['decode_seconds', 'Time in decoders', ({ decodeMs }) => decodeMs / 1000],
  ['gate_seconds', 'Time until the gate had judged, with its detector', ({ gateMs }) => gateMs / 1000],
  ['detector_seconds', 'Time until the detector had answered', ({ detectorMs }) => detectorMs / 1000],
];

/**
 * All metrics of this process. Names, units and labels are defined here; no label identifies a user or a
 * conversation.
 */
export function createMetrics(sources: Sources): Metrics {
  const registry = new Registry();
  const byCodec = new Map<string, StreamCounts>();
  const connections = new Map<string, number>();
  const queues: Queues = { messages: new Set(), speech: new Set(), answers: new Set() };
  collectDefaultMetrics({ register: registry });
  const makers = createMakers(registry);
  tellStreams(makers, byCodec, queues);
  tellServer(makers, sources);
  const { counter, gauge, histogram } = makers;
  gauge('connections', 'Connections to /v4/listen, by what they are doing', ['state'], tell => {
    for (const [state, count] of connections) tell({ state }, count);
  });

  const utterances = counter('utterances_total', 'What came of speech, and of audio without any', [
    'outcome',
  ]);
  const losses = counter('recogniser_losses_total', 'Recognisers that failed in an utterance');
  const segments = counter('segments_sent_total', 'Segments sent; one that grew is sent again');
  const recogniser = histogram(
    'recogniser',
    'From when a recogniser had all of an utterance to the last of its text',
    BUCKETS.wait,
    ['provider'],
  );
  const latency = histogram(
    'segment_latency',
    'From the arrival of the last speech of an utterance to the sending of its text',
    BUCKETS.wait,
  );
  const beyond = histogram(
    'segment_latency_beyond_hangover',
    'The same without the silence that has to follow: from when the utterance had ended',
    BUCKETS.wait,
  );
  const latest = { total: createLatest(sources.now), beyond: createLatest(sources.now) };
  const syncs = histogram('spool_sync', 'Time until audio that was written was on the disk', BUCKETS.work);
  const runs = counter('job_runs_total', 'Runs of jobs; dead: given up after the last', ['kind', 'outcome']);
  const jobTime = histogram('job', 'Time that a run of a job took', BUCKETS.long, ['kind']);
  const requests = histogram('http_request', 'Time until a request was answered', BUCKETS.work, [
    'method',
    'route',
    'status',
  ]);
  const deliveries = counter(
    'deliveries_total',
    'Tries to deliver; dropped: too old or too much to be tried',
    ['target', 'outcome'],
  );
  const deliveryTime = histogram('delivery', 'Time that a try to deliver took', BUCKETS.wait, ['target']);
  let live = () => ({ count: 0, bytes: 0 });
  gauge('live_deliveries', 'Deliveries about now that wait in memory', [], tell => tell({}, live().count));
  gauge('live_delivery_bytes', 'Bytes of these', [], tell => tell({}, live().bytes));
  let spool = () => ({ bytes: 0, pendingBytes: 0, damaged: 0 });
  gauge('spool_bytes', 'Audio that waits for its text, on disk and on its way there', ['state'], tell => {
    const { bytes, pendingBytes } = spool();
    tell({ state: 'disk' }, bytes);
    tell({ state: 'pending' }, pendingBytes);
  });
  gauge('spool_damaged', 'Stretches of that audio that could not be read back', [], tell => {
    tell({}, spool().damaged);
  });
  const transactions = histogram('transaction', 'Time that a database transaction took', BUCKETS.work, [
    'name',
  ]);

  return {
    now: sources.now,
    connections,
    streams(codec) {
      const known = byCodec.get(codec);
      if (known) return known;
      const counts = { open: 0, messages: 0, bytes: 0, badFrames: 0, samples: 0 };
      const gaps = { gapSamples: 0, concealedSamples: 0 };
      const fresh = { ...counts, ...gaps, decodeMs: 0, gateMs: 0, detectorMs: 0 };
      byCodec.set(codec, fresh);
      return fresh;
    },
    watch(queue, bytes) {
      queues[queue].add(bytes);
      return () => queues[queue].delete(bytes);
    },
    utterance: outcome => utterances.inc({ outcome }),
    lost: () => losses.inc(),
    transcribed(provider, { recogniserMs, latencyMs, beyondMs }) {
      recogniser.observe({ provider }, recogniserMs / 1000);
      latency.observe(latencyMs / 1000);
      beyond.observe(beyondMs / 1000);
      latest.total.add(latencyMs);
      latest.beyond.add(beyondMs);
    },
    segments: count => segments.inc(count),
    synced: ms => syncs.observe(ms / 1000),
    ran: (kind, outcome) => runs.inc({ kind, outcome }),
    took: (kind, ms) => jobTime.observe({ kind }, ms / 1000),
    answered: ({ method, route, status }, ms) => requests.observe({ method, route, status }, ms / 1000),
    attempted(target, outcome, ms) {
      deliveries.inc({ target, outcome });
      if (outcome !== 'dropped') deliveryTime.observe({ target }, ms / 1000);
    },
    watchLive(waiting) {
      live = waiting;
    },
    watchSpool(counts) {
      spool = counts;
    },
    transaction: (name, ms) => transactions.observe({ name }, ms / 1000),
    latency: () => ({ total: latest.total.read(), beyond: latest.beyond.read() }),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

type Makers = ReturnType<typeof createMakers>;
type Tell<L extends string> = (labels: Record<L, string>, value: number) => void;

function createMakers(registry: Registry) {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Counter({ name: `earshot_${name}`, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, buckets: number[], labelNames: L[] = []) =>
      new Histogram({ name: `earshot_${name}_seconds`, help, labelNames, buckets, registers }),
    /** Creates a counter whose value is kept elsewhere, and read for each request. */
    total: <L extends string>(name: string, help: string, labelNames: L[], ask: (tell: Tell<L>) => void) =>
      new Counter({
        name: `earshot_${name}_total`,
        help,
        labelNames,
        registers,
        collect() {
          this.reset();
          ask((labels, value) => this.inc(labels, value));
        },
      }),
    gauge: <L extends string>(
      name: string,
      help: string,
      labelNames: L[],
      ask: (tell: Tell<L>) => void | Promise<void>,
    ) =>
      new Gauge({
        name: `earshot_${name}`,
        help,
        labelNames,
        registers,
        async collect() {
          this.reset();
          await ask((labels, value) => this.set(labels, value));
        },
      }),
  };
}

function tellStreams({ gauge, total }: Makers, byCodec: Map<string, StreamCounts>, queues: Queues): void {
  for (const [name, help, value] of STREAM_SUMS)
    total(`stream_${name}`, help, ['codec'], tell => {
      for (const [codec, counts] of byCodec) tell({ codec }, value(counts));
    });
  gauge('streams_open', 'Live connections whose audio is listened to', ['codec'], tell => {
    for (const [codec, { open }] of byCodec) tell({ codec }, open);
  });
  gauge('queue_bytes', 'Messages, speech without text, and unread answers: in memory', ['queue'], tell => {
    for (const [queue, asked] of Object.entries(queues)) {
      let waiting = 0;
      for (const bytes of asked) waiting += bytes();
      tell({ queue }, waiting);
    }
  });
}

function tellServer({ gauge }: Makers, { jobs, plugins }: Sources): void {
  const jobsHelp = 'Stored jobs; failed: waiting for the next attempt, dead: given up';
  gauge('jobs', jobsHelp, ['kind', 'state'], async tell => {
    const counts = await jobs().catch(() => []); // a database that does not answer must not hide the other metrics
    for (const { kind, state, count } of counts) tell({ kind, state }, count);
  });
  gauge('log_dropped_lines', 'Log lines that could not be written since the start', [], tell => {
    tell({}, droppedLogLines());
  });
  gauge('plugin_state', '1 for the state that a plugin is in', ['plugin', 'state'], tell => {
    for (const { name, state } of plugins())
      for (const each of PLUGIN_STATES) tell({ plugin: name, state: each }, Number(each === state));
  });
}

/** Wraps a storage so that its transactions are timed. */
export function timedStorage(storage: Storage, metrics: Pick<Metrics, 'now' | 'transaction'>): Storage {
  const transaction: Storage['transaction'] = async (name, work) => {
    const beganAt = metrics.now();
    try {
      return await storage.transaction(name, work);
    } finally {
      metrics.transaction(name, metrics.now() - beganAt);
    }
  };
  return Object.create(storage, { transaction: { value: transaction } });
}
