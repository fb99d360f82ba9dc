/** Interface and results of benchmarks. */

export interface Benchmark {
  /** `streams:40`: passed to the benchmark, or to `streams` if no benchmark has that name. */
  name: string;
  title: string;
  /** Runs only when it is named. */
  long?: true;
  run(bench: Bench): Promise<Table[]>;
}

/** Arguments of a benchmark. */
export interface Bench {
  /** The quick form: checks that the benchmark works. Its figures mean little. */
  quick: boolean;
  /** Duration of measurements that can take any time. */
  minutes?: number | undefined;
  /** Run at the end, newest first. */
  teardown(undo: () => void | Promise<void>): void;
  /** Prints a line of progress. */
  say(line: string): void;
}

export interface Table {
  title: string;
  columns: string[];
  rows: Cell[][];
  /** How to read the result. */
  notes?: string[];
}

export type Cell = string | number | Spread | null;

/** Repetitions of one measurement. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: percentile(values, 50), low: Math.min(...values), high: Math.max(...values) };
}

/** The smallest value that `percent` of the values do not exceed; NaN without values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

/**
 * Runs each subject once per round, in turn, and starts each round with another one, so that disturbances of
 * the machine affect them all alike.
 */
export async function interleave<T>(
  rounds: number,
  subjects: Readonly<Record<string, (round: number) => Promise<T>>>,
): Promise<Record<string, T[]>> {
  const results = Object.fromEntries(Object.keys(subjects).map(name => [name, [] as T[]]));
  const all = Object.entries(subjects);
  for (let round = 0; round < rounds; round++) {
    const first = round % all.length;
    for (const [name, measure] of [...all.slice(first), ...all.slice(0, first)])
      results[name]?.push(await measure(round));
  }
  return results;
}
