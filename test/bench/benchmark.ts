/** Interface and results of benchmarks. */

export interface Benchmark {
  /** `streams:40`: chosen by it, or by `streams` where no benchmark has that name. */
  name: string;
  title: string;
  /** Only when it is asked for. */
  long?: true;
  run(bench: Bench): Promise<Table[]>;
}

/** Arguments of a benchmark. */
export interface Bench {
  /** The short form: does it work at all? Its figures mean little. */
  quick: boolean;
  /** How long one takes that can take any time. */
  minutes?: number | undefined;
  /** Undone when it is over, newest first. */
  teardown(undo: () => void | Promise<void>): void;
  /** A line on how far it is. */
  say(line: string): void;
}

export interface Table {
  title: string;
  columns: string[];
  rows: Cell[][];
  /** How to read it. */
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

/** The least value that `percent` of the values do not exceed; NaN of none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

/** Runs each subject once per round, in turn: what disturbs the machine disturbs them all. */
export async function interleave<T>(
  rounds: number,
  subjects: Readonly<Record<string, (round: number) => Promise<T>>>,
): Promise<Record<string, T[]>> {
  const results = Object.fromEntries(Object.keys(subjects).map(name => [name, [] as T[]]));
  for (let round = 0; round < rounds; round++)
    for (const [name, measure] of Object.entries(subjects)) results[name]?.push(await measure(round));
  return results;
}
