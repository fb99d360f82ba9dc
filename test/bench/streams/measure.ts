/** One load on one server: its cost, and the latency of words. */
import type { Bench } from '../benchmark.ts';
import { type Cpu, cpuBetween, cpuOf, cpuOfChildren, memoryOf } from '../processes.ts';
import { type Heard, sendStreams } from './load.ts';
import type { Subject } from './subjects.ts';

export interface Load {
  streams: number;
  /** Share of the time in which each speaks, 0 to 1. */
  share: number;
  seconds: number;
  seed?: number;
}

export interface Measured extends Heard {
  /** Milliseconds of processor time per second of one stream. */
  cpu: Cpu & { total: number };
  /** The same for its child processes. */
  children: number;
  /** MB. */
  rss: number;
}

export async function measure(bench: Bench, { url, key, pid }: Subject, load: Load): Promise<Measured> {
  const { streams, share, seconds, seed = 1 } = load;
  const warmMs = bench.quick ? 500 : 3000;
  let before = cpuOf(pid);
  let after = before;
  let children = 0;
  let ms = 0;
  const plan = { url, key, streams, share, warmMs, measureMs: seconds * 1000, seed };
  const heard = await sendStreams(bench, plan, {
    begin() {
      before = cpuOf(pid);
      children = cpuOfChildren(pid);
      ms = performance.now();
    },
    end() {
      after = cpuOf(pid);
      children = cpuOfChildren(pid) - children;
      ms = performance.now() - ms;
    },
  });
  const used = cpuBetween(before, after);
  const per = (part: number) => (part * 1000) / ms / streams;
  const cpu = {
    main: per(used.main),
    workers: per(used.workers),
    helpers: per(used.helpers),
    total: per(used.total),
  };
  return { ...heard, cpu, children: per(children), rss: memoryOf(pid).rss };
}

/**
 * From the end of each utterance, its silence included, to its text, in ms; utterances without text are not
 * included.
 */
export function waitsOf({ latencies, missing }: Heard): number[] {
  return [...latencies, ...Array<number>(missing).fill(Number.POSITIVE_INFINITY)];
}
