import { schedule } from 'node-cron';
import type { Log } from './log.ts';

/** In UTC, where no night leaves an hour out. One that is missed is harmless: the next does its work. */
const WHEN = '30 3 * * *';

/** Runs what clears away what is old, each night and when it starts. One that fails is logged, and runs again the next. */
export function startNightly({
  log,
  tasks,
}: {
  log: Log;
  tasks: Readonly<Record<string, () => Promise<void>>>;
}): { close(): Promise<void> } {
  let running = runAll();

  async function runAll(): Promise<void> {
    for (const [task, run] of Object.entries(tasks))
      await run().catch(error => log.warn({ err: error, task }, 'what is old could not be cleared away'));
  }

  const nightly = schedule(
    WHEN,
    () => {
      running = running.then(runAll);
      return running;
    },
    { timezone: 'UTC', noOverlap: true, suppressMissedWarning: true, unref: true, logger: quiet(log) },
  );
  return {
    async close() {
      await nightly.destroy();
      await running;
    },
  };
}

/** Its own words would go to standard output, which belongs to commands. */
function quiet(log: Log) {
  const say = (told: unknown) => log.debug({ told: String(told) }, 'schedule');
  return { info: say, warn: say, error: say, debug: say };
}
