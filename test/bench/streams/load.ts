import type { Bench } from '../benchmark.ts';
import { endProcess, nextMessage, startProgram } from '../processes.ts';

/** Plan of the load generator. */
export interface Plan {
  url: string;
  key: string;
  streams: number;
  /** Share of the time in which each speaks, 0 to 1. */
  share: number;
  /** Duration of the warm-up, and of the measurement. */
  warmMs: number;
  measureMs: number;
  /** Phase shift between streams. */
  seed: number;
  /** Languages to speak, distributed over the streams; absent: English. */
  languages?: readonly string[];
  /** Reconnects after a pause when the server closes, like the bridge; absent: the stream ends. */
  reconnects?: boolean;
}

/** Observations during the measurement. */
export interface Heard {
  /** From sending the last sample of an utterance, hangover included, to its segment, in ms. */
  latencies: number[];
  /** Sentences that ended without a segment within TAIL_MS. */
  missing: number;
  /** The generator's own delay in ms, 99th percentile: beyond some ms the generator itself is too slow. */
  lagP99: number;
}

export type Told = { event: 'begin' } | { event: 'end' } | ({ event: 'heard' } & Heard);

/** Streams continue for this long after the measurement, for the speech at its end. */
export const TAIL_MS = 2000;

/** Resolves after the warm-up. */
export async function startStreams(bench: Bench, plan: Plan) {
  const child = startProgram(bench, 'load', new URL('./load-main.ts', import.meta.url));
  const begun = nextMessage<Told>(child, 'begin');
  child.send(plan);
  await begun;
  return { child, end: () => endProcess(child) };
}

/** Sends in real time from a separate process. @param on called when the measurement starts and ends */
export async function sendStreams(
  bench: Bench,
  plan: Plan,
  on: { begin(): void; end(): void },
): Promise<Heard> {
  const { child } = await startStreams(bench, plan);
  on.begin();
  await nextMessage<Told>(child, 'end');
  on.end();
  const heard = await nextMessage<Told & { event: 'heard' }>(child, 'heard');
  return heard;
}
