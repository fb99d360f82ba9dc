import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { environment, loadConfig } from '../../config/load.ts';
import type { Clock } from '../clock.ts';
import { inOrder, loadDriver, loadDrivers } from '../driver-host/driver-check.ts';
import { builtInDrivers } from '../driver-host/drivers.ts';
import { divertPrinting } from '../printed.ts';
import { openRadio } from '../radios/open.ts';
import { checkDevice } from './device-check.ts';
import { recordDevice } from './device-record.ts';

const USAGE = `usage: earshot-bridge device check FILE [--trace FILE]
       earshot-bridge device record FILE [--driver FILE] [--device NAME] [--seconds N] [--simulate]`;

const OPTIONS = {
  trace: { type: 'string' },
  driver: { type: 'string' },
  device: { type: 'string' },
  seconds: { type: 'string', default: '20' },
  simulate: { type: 'boolean', default: false },
  config: { type: 'string' },
  'data-dir': { type: 'string' },
} as const;

const MAX_SECONDS = 3600;
/** Time limit until a wearable is found, and streams. */
const LOOK_MS = 60_000;

/**
 * `device check` and `device record`.
 * @returns whether all is well
 * @throws Error with what is wrong, on one line
 */
export async function runDevice(argv: string[], clock: Clock): Promise<boolean> {
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  const [what, file, ...more] = positionals;
  if (!file || more.length > 0) throw new Error(USAGE);
  if (what === 'check') {
    const { lines, isGood } = await checkDevice(file, values.trace);
    process.stdout.write(`${lines.join('\n')}\n`);
    return isGood;
  }
  if (what === 'record') return record(file, values, clock);
  throw new Error(USAGE);
}

interface RecordValues {
  driver?: string | undefined;
  device?: string | undefined;
  seconds: string;
  simulate: boolean;
  config?: string | undefined;
}

async function record(file: string, values: RecordValues, clock: Clock): Promise<boolean> {
  const { driver, device, simulate } = values;
  const seconds = Number(values.seconds);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_SECONDS)
    throw new Error(`--seconds takes a whole number from 1 to ${MAX_SECONDS}, not ${values.seconds}`);
  const { config, dir } = loadConfig({ env: environment, file: values.config });
  const users = driver ? [await loadDriver(driver, driver)] : await loadDrivers(config.bridge.drivers, dir);
  const drivers = driver ? users : inOrder(users, await builtInDrivers());
  const log = pino({ level: 'warn' }, process.stderr);
  divertPrinting(log);
  const simulator = simulate ? await simulated(clock) : null;
  const radio = await openRadio({ config, log, clock, load: simulator?.load, nearbyOnly: true });
  const origin = simulate
    ? 'the simulated pendant of the bridge'
    : `recorded ${new Date(clock.now()).toISOString().slice(0, 10)}`;
  const only = device ? [device] : config.bridge.devices;
  try {
    const trace = await recordDevice({
      file,
      radio,
      drivers,
      only,
      seconds,
      limitMs: LOOK_MS,
      origin,
      clock,
      log,
    });
    const { expect, events } = trace;
    process.stdout.write(
      `${file}: ${events.length} events of ${trace.device}; ${expect ? `${expect.frames} frames` : 'no frames: see device check'}. It contains what was said.\n`,
    );
    return expect !== null;
  } finally {
    simulator?.stop();
  }
}

export async function simulated(clock: Clock) {
  const { createSimulator } = await import('../simulator/simulator.ts');
  const audio = new URL('../simulator/recording.wav', import.meta.url).pathname;
  return createSimulator({ audio, loop: true }, clock);
}
