import { schedule } from 'node-cron';
import type { Clock } from '../contract/model.ts';
import type { Log } from './log.ts';

/** By name, as the log calls them. */
type Tasks = Readonly<Record<string, () => Promise<void>>>;

const MINUTE_MS = 60_000;
/** In UTC, where no night leaves an hour out. One that is missed is harmless: the next does its work. */
const NIGHTLY = '30 3 * * *';

/**
 * Runs what nobody waits for, one after the other. A task that fails is logged, takes none with it, and runs again the
 * next time.
 * @param eachMinute what writes down what was only noted in memory: once more when it is closed
 * @param eachNight what clears away what is old: also when it starts
 */
export function startUpkeep({
  clock,
  log,
  eachMinute,
  eachNight,
}: {
  clock: Clock;
  log: Log;
  eachMinute: Tasks;
  eachNight: Tasks;
}): { close(): Promise<void> } {
  const stop = new AbortController();

  async function run(tasks: Tasks): Promise<void> {
    for (const [task, work] of Object.entries(tasks))
      await work().catch(error => log.warn({ err: error, task }, 'upkeep failed; it is tried again'));
  }

  async function runEachMinute(): Promise<void> {
    for (;;) {
      await clock.sleep(MINUTE_MS, stop.signal);
      await run(eachMinute);
    }
  }

  const noting = runEachMinute().catch(() => {}); // ends by the signal alone
  let clearing = run(eachNight);
  const nightly = schedule(
    NIGHTLY,
    () => {
      clearing = clearing.then(() => run(eachNight));
      return clearing;
    },
    { timezone: 'UTC', noOverlap: true, suppressMissedWarning: true, unref: true, logger: quiet(log) },
  );
  return {
    async close() {
      stop.abort();
      await nightly.destroy();
      await Promise.all([clearing, noting]);
      await run(eachMinute);
    },
  };
}

/** Its own words would go to standard output, which belongs to commands. */
function quiet(log: Log) {
  const say = (told: unknown) => log.debug({ told: String(told) }, 'schedule');
  return { info: say, warn: say, error: say, debug: say };
}
