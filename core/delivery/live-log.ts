import type { Clock, Delivery, DeliveryAttempt } from '../contract/model.ts';
import type { Storage, Stores } from '../contract/plugin.ts';
import type { Log } from '../runtime/log.ts';

/** Time, and number of outcomes, after which they are written. */
const EVERY_MS = 1000;
const MAX_TOGETHER = 100;
/** Maximum number of outcomes in memory while they cannot be written. */
const MAX_KEPT = 1000;

interface Entry {
  /** Final state of the delivery. */
  delivery: Delivery;
  attempts: readonly DeliveryAttempt[];
  also: ((tx: Stores) => Promise<void>)[];
}

/**
 * Writes the outcomes of live deliveries, which are not stored beforehand, to the log; many at once, because nobody
 * waits for it.
 */
export function createLiveLog({ storage, clock, log }: { storage: Storage; clock: Clock; log: Log }) {
  let entries: Entry[] = [];
  let writing: Promise<void> | null = null;
  let hurry = new AbortController();
  let isClosed = false;

  function add(entry: Entry): void {
    entries.push(entry);
    if (entries.length > MAX_KEPT) entries.shift();
    if (entries.length >= MAX_TOGETHER) hurry.abort();
    writing ??= writeAll();
  }

  async function writeAll(): Promise<void> {
    while (entries.length > 0) {
      hurry = new AbortController();
      const isLittle = entries.length < MAX_TOGETHER && !isClosed;
      if (isLittle) await clock.sleep(EVERY_MS, hurry.signal).catch(() => {});
      await write();
    }
    writing = null;
  }

  async function write(): Promise<void> {
    const some = entries;
    entries = [];
    try {
      await storage.transaction('log live deliveries', tx => writeIn(tx, some));
    } catch (error) {
      log.warn({ err: error, deliveries: some.length }, 'live deliveries could not be logged');
    }
  }

  return {
    add,
    async close(): Promise<void> {
      isClosed = true;
      hurry.abort();
      await writing;
    },
  };
}

async function writeIn(tx: Stores, entries: readonly Entry[]): Promise<void> {
  await tx.deliveries.insert(entries.map(({ delivery }) => delivery));
  const outcomes = entries.flatMap(({ delivery: { state }, attempts }) =>
    attempts.map(attempt => ({ attempt, state, nextAt: null })),
  );
  await tx.deliveries.record(outcomes);
  for (const { also } of entries) for (const step of also) await step(tx);
}
