import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { z } from 'zod';
import { asCalled } from '../../config/called-as.ts';
import { environment, loadConfig } from '../../config/load.ts';
import type { Clock } from '../clock.ts';
import { readPaired } from '../devices/paired.ts';
import { inOrder, loadDrivers } from '../driver-host/driver-check.ts';
import { builtInDrivers } from '../driver-host/drivers.ts';
import { lockDirectory } from '../lock.ts';
import { divertPrinting } from '../printed.ts';
import { openRadio } from '../radios/open.ts';
import { askLocalCoreOnce } from '../uplink/local-core.ts';
import { simulated } from './device-command.ts';
import { type Accounts, forgetPaired, type Person, pair, renderPaired } from './pair.ts';

const OPTIONS = {
  config: { type: 'string' },
  'data-dir': { type: 'string' },
  list: { type: 'boolean', default: false },
  forget: { type: 'string' },
  simulate: { type: 'boolean', default: false },
} as const;

/** `pair`: lets a person choose the wearables that this bridge connects to. @throws Error with what prevents it */
export async function runPair(argv: string[], clock: Clock): Promise<void> {
  const { values } = parseArgs({ args: argv, options: OPTIONS });
  const { config, dir: configDir } = loadConfig({
    env: environment,
    file: values.config,
    overrides: { dataDir: values['data-dir'] },
  });
  const dataDir = resolve(config.dataDir);
  const dir = join(dataDir, 'bridge');
  const say = (text: string) => void process.stdout.write(asCalled(text));
  if (values.list) return say(renderPaired(await readPaired(dir)));
  if (values.forget !== undefined)
    return say(`${(await forgetPaired(dir, values.forget)).name} is forgotten.\n`);

  await mkdir(dir, { recursive: true, mode: 0o700 });
  const unlock = await lockDirectory(dir); // a bridge that runs has the adapter
  const simulator = values.simulate ? await simulated(clock) : null;
  const log = pino({ level: 'silent' });
  divertPrinting(log);
  const radio = await openRadio({ config, log, clock, load: simulator?.load, nearbyOnly: true });
  const { ask, close } = terminal();
  try {
    await pair({
      radio,
      drivers: inOrder(await loadDrivers(config.bridge.drivers, configDir), await builtInDrivers()),
      dir,
      accounts: config.bridge.core ? null : await accountsHere(dataDir),
      person: { say, ask },
      clock,
    });
  } finally {
    close();
    await radio.close();
    simulator?.stop();
    await unlock();
  }
}

/** Lines of standard input; null: it has ended. */
function terminal(): Pick<Person, 'ask'> & { close(): void } {
  const lines = createInterface({ input: process.stdin });
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async ask(question) {
      process.stdout.write(question);
      const { value, done } = await iterator.next();
      return done ? null : value;
    },
    close: () => lines.close(),
  };
}

/** Null: no core runs on this data directory. */
async function accountsHere(dataDir: string): Promise<Accounts | null> {
  const users = await askLocalCoreOnce(dataDir, {
    command: 'user.list',
    args: {},
    result: z.array(z.object({ name: z.string() })),
  }).catch(() => null);
  if (users === null) return null;
  return {
    names: users.map(({ name }) => name),
    async keyFor(owner, device) {
      const { key } = await askLocalCoreOnce(dataDir, {
        command: 'key',
        args: { user: owner, scopes: ['listen'], name: `bridge: ${device}`.slice(0, 100) },
        result: z.object({ key: z.string().min(1) }),
      });
      return key;
    },
  };
}
