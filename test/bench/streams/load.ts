import type { Bench } from '../benchmark.ts';
import { endProcess, nextMessage, startProgram } from '../processes.ts';

/** Plan of the load generator. */
export interface Plan {
  url: string;
  key: string;
  streams: number;
  /** Part of the time in which each speaks, 0 to 1. */
  share: number;
  /** Before it counts, and then. */
  warmMs: number;
  measureMs: number;
  /** Shifts the streams against each other. */
  seed: number;
  /** Languages to speak, distributed over the streams; absent: English. */
  languages?: readonly string[];
  /** Goes on where the server closes, after a pause, as the bridge does; absent: that is the end. */
  reconnects?: boolean;
}

/** Observations during the measurement. */
export interface Heard {
  /** From sending the last sample of an utterance, hangover included, to its segment, in ms. */
  latencies: number[];
  /** Sentences that were over and had no segment within TAIL_MS. */
  missing: number;
  /** How late it was itself, in ms, 99th percentile: above some ms it is the generator that is too slow. */
  lagP99: number;
}

export type Told = { event: 'begin' } | { event: 'end' } | ({ event: 'heard' } & Heard);

/** After the measurement the streams go on for so long, for what was said at its end. */
export const TAIL_MS = 2000;

/** Resolves when they have warmed up. */
export async function startStreams(bench: Bench, plan: Plan) {
  const child = startProgram(bench, 'load', new URL('./load-main.ts', import.meta.url));
  const begun = nextMessage<Told>(child, 'begin');
  child.send(plan);
  await begun;
  return { child, end: () => endProcess(child) };
}

/** Sends in real time from a process of its own. @param on what to do the moment that counting begins and ends */
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
