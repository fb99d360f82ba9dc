import type { DriverMemory } from '../driver.ts';

/** Ranges of pages, both ends included, that are remembered above the first missing one. */
const MAX_RANGES = 500;
const KEY = 'pages';

type Range = [from: number, to: number];

/** Which numbered pages of a pendant are here: it may forget those before the first that is missing. */
export interface PageLedger {
  /** First page that is missing; null: not known before the pendant has told its oldest one. */
  readonly missing: number | null;
  has(page: number): boolean;
  add(page: number): void;
  /** The pendant has these. A pendant that begins to count anew is one of which nothing is here. */
  told(pages: { oldest: number; newest: number }): void;
  /** Gives up the missing pages before the next one that is here. Returns how many those are. */
  skip(): number;
  /** Resolves when it is on disk. */
  save(): Promise<void>;
}

export function openLedger(memory: DriverMemory): PageLedger {
  let { missing, ranges } = saved(memory.get(KEY));
  let isTold = false;
  /** Came before the pendant told what it has: with a memory that was wiped, they are others of the same numbers. */
  let early: number[] = [];

  /** Ranges that the first missing page has reached. */
  function absorb(): void {
    if (missing === null) return;
    for (let first = ranges[0]; first && first[0] <= missing; first = ranges[0]) {
      missing = Math.max(missing, first[1] + 1);
      ranges.shift();
    }
  }

  function has(page: number): boolean {
    return (missing !== null && page < missing) || ranges.some(([from, to]) => page >= from && page <= to);
  }

  function insert(page: number): void {
    const last = ranges.at(-1);
    if (last && page === last[1] + 1) last[1] = page;
    else {
      ranges.push([page, page]);
      ranges.sort(([a], [b]) => a - b);
      join();
    }
    if (ranges.length > MAX_RANGES) ranges.pop(); // fetched again
  }

  function join(): void {
    const joined: Range[] = [];
    for (const range of ranges) {
      const last = joined.at(-1);
      if (last && range[0] <= last[1] + 1) last[1] = Math.max(last[1], range[1]);
      else joined.push(range);
    }
    ranges = joined;
  }

  return {
    get missing() {
      return isTold ? missing : null;
    },
    has: page => isTold && has(page),
    add(page) {
      if (!isTold) {
        if (early.length < MAX_EARLY) early.push(page);
        return;
      }
      if (has(page)) return;
      insert(page);
      absorb();
    },
    told({ oldest, newest }) {
      const highest = ranges.at(-1)?.[1] ?? -1;
      if ((missing ?? 0) > newest + 1 || highest > newest + MAX_AHEAD) ranges = [];
      if ((missing ?? 0) > newest + 1) missing = null;
      missing = Math.max(missing ?? oldest, oldest);
      isTold = true;
      for (const page of early) if (!has(page)) insert(page);
      early = [];
      absorb();
    },
    skip() {
      const next = ranges[0]?.[0];
      if (missing === null || next === undefined) return 0;
      const given = next - missing;
      missing = next;
      absorb();
      return given;
    },
    save: () => memory.set(KEY, { missing, ranges }),
  };
}

/** Without a status nothing is acknowledged, so there is no use for more. */
const MAX_EARLY = 1000;
/** Pages that come between a status and its reading. */
const MAX_AHEAD = 1000;

function saved(value: unknown): { missing: number | null; ranges: Range[] } {
  const { missing, ranges } = (value ?? {}) as { missing?: unknown; ranges?: unknown };
  const isPage = (one: unknown): one is number => Number.isSafeInteger(one) && Number(one) >= 0;
  const isRange = (one: unknown): one is Range => Array.isArray(one) && one.length === 2 && one.every(isPage);
  return {
    missing: isPage(missing) ? missing : null,
    ranges: Array.isArray(ranges) ? ranges.filter(isRange).slice(0, MAX_RANGES) : [],
  };
}
