import type { Log } from './log.ts';
import type { Clock } from './model.ts';

const EVERY_MS = 60_000;

/**
 * Runs what writes down now and then what was only noted in memory: each minute, and once more when it is closed. One
 * that fails is logged, keeps what it noted, and is run again.
 */
export function startUpkeep({
  clock,
  log,
  tasks,
}: {
  clock: Clock;
  log: Log;
  tasks: Readonly<Record<string, () => Promise<void>>>;
}): { close(): Promise<void> } {
  const stop = new AbortController();

  async function runAll(): Promise<void> {
    for (const [task, run] of Object.entries(tasks))
      await run().catch(error => log.warn({ err: error, task }, 'could not be written down yet'));
  }

  async function keepRunning(): Promise<void> {
    for (;;) {
      await clock.sleep(EVERY_MS, stop.signal);
      await runAll();
    }
  }

  const running = keepRunning().catch(() => {}); // ends by the signal alone
  return {
    async close() {
      stop.abort();
      await running;
      await runAll();
    },
  };
}
