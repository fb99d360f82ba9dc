import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../clock.ts';
import type { OnFault, Radio } from '../radio.ts';
import { joinRadios, type NamedRadio } from './joined.ts';
import { type LoadNoble, loadNoble } from './noble/library.ts';
import { createNobleRadio, type RadioLimits } from './noble/radio.ts';

export interface RadioOptions {
  config: Pick<Config, 'bridge' | 'dataDir'>;
  log: Logger;
  clock: Clock;
  /** Loads a simulated adapter, which replaces all configured radios. */
  load?: LoadNoble | undefined;
  onFault?: OnFault | undefined;
  limits?: Partial<RadioLimits> | undefined;
  /** Leaves out `lan`, whose boards need no pairing. */
  nearbyOnly?: boolean;
}

const NO_RADIO = 'bridge.radios lists no way to reach a wearable nearby, such as noble';
const NO_PROXIES =
  'bridge.radios lists esphome, but bridge.esphome lists no Bluetooth proxy: set the host of one';

/** Opens the radios listed in `bridge.radios`, and loads no other kind. @throws Error if there is none */
export async function openRadio({ load, nearbyOnly = false, ...options }: RadioOptions): Promise<Radio> {
  if (load) return noble(options, load);
  const names = options.config.bridge.radios.filter(name => !nearbyOnly || name !== 'lan');
  const openings = [...new Set(names)].flatMap(name => openingsOf(name, options));
  const isAlone = openings.length === 1;
  const parts = await Promise.all(
    openings.map(async ({ name, open }): Promise<NamedRadio> => {
      const log = isAlone ? options.log : options.log.child({ radio: name });
      return { name, radio: await open(log) };
    }),
  );
  const [first] = parts;
  if (!first) throw new Error(names.includes('esphome') ? NO_PROXIES : NO_RADIO);
  return isAlone ? first.radio : joinRadios(parts, options);
}

interface Opening {
  name: string;
  open(log: Logger): Promise<Radio>;
}

/** The radios that an entry of `bridge.radios` stands for. */
function openingsOf(name: string, options: RadioOptions): Opening[] {
  const { config, clock, onFault } = options;
  const [kind, adapter] = name.split(':');
  if (kind === 'lan') {
    const dir = join(resolve(config.dataDir), 'bridge');
    const { lan } = config.bridge;
    const open = async (log: Logger) => {
      const { createLanRadio } = await import('./lan/radio.ts');
      return createLanRadio({ ...lan, dir, log, clock, ...(onFault ? { onFault } : {}) });
    };
    return [{ name, open }];
  }
  if (kind === 'bluez')
    return [
      {
        name,
        open: async log => (await import('./bluez/radio.ts')).createBluezRadio({ adapter, log, clock }),
      },
    ];
  if (kind === 'esphome') return config.bridge.esphome.map(proxy => openingOfProxy(proxy, options));
  const deviceId = adapter === undefined ? undefined : Number(adapter.slice('hci'.length));
  return [
    { name, open: async log => noble({ ...options, log }, libraryLog => loadNoble(libraryLog, deviceId)) },
  ];
}

function openingOfProxy(
  proxy: Config['bridge']['esphome'][number],
  { clock, onFault }: RadioOptions,
): Opening {
  return {
    name: `esphome:${proxy.host}`,
    async open(log) {
      const { createEsphomeRadio } = await import('./esphome/radio.ts');
      return createEsphomeRadio({ ...proxy, log, clock, ...(onFault ? { onFault } : {}) });
    },
  };
}

function noble({ log, clock, onFault, limits }: RadioOptions, load: LoadNoble): Radio {
  return createNobleRadio({
    log,
    clock,
    load,
    ...(onFault ? { onFault } : {}),
    ...(limits ? { limits } : {}),
  });
}
