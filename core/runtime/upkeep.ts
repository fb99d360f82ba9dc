import { schedule } from 'node-cron';
import type { Clock } from '../contract/model.ts';
import type { Log } from './log.ts';

/** Tasks by the names that the log gives them. */
type Tasks = Readonly<Record<string, () => Promise<void>>>;

const MINUTE_MS = 60_000;
/**
 * Time of the nightly run, in UTC, which has no clock changes. A missed run does no harm: the next one catches up.
 */
const NIGHTLY = '30 3 * * *';

/**
 * Runs background tasks one after the other. A task that fails is logged, does not stop the others, and runs again
 * the next time.
 * @param eachMinute tasks that write what was only noted in memory; they also run on closing
 * @param eachNight tasks that delete what is old; they also run at the start
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

  const noting = runEachMinute().catch(() => {}); // ends only by the signal
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

/** The library would print to standard output, which belongs to commands. */
function quiet(log: Log) {
  const say = (told: unknown) => log.debug({ told: String(told) }, 'schedule');
  return { info: say, warn: say, error: say, debug: say };
}
