import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { environment } from '../../../config/load.ts';
import type { Noble } from './noble.ts';

/** Loads a library; throws when there is none that works here. */
export type LoadNoble = (log: Logger) => Noble;

/** ATT MTU for the longest attribute value (512 bytes). Some devices send stored audio in pieces of 440 bytes. */
export const REQUESTED_MTU = 517;

/** A Bluetooth library. `native` uses the system's own interface, `hci` an HCI socket on any system. */
interface Library {
  name: string;
  native: (require: NodeJS.Require, options: AdapterOptions) => Noble;
  hci: (require: NodeJS.Require, options: AdapterOptions) => Noble;
  /** Returns why it does not work here although it loads; null: it works. */
  unusable?: () => string | null;
}

/** `deviceId`: the number of the adapter, 1 for hci1; absent: the first. */
interface AdapterOptions {
  deviceId?: number;
}

const LIBRARIES: readonly Library[] = [
  {
    name: '@abandonware/noble',
    // Makes a new instance each time; index.js would share one in the whole process.
    native: (require, options) => {
      requestMtu(require('@abandonware/noble/lib/hci-socket/gatt'));
      return require('@abandonware/noble/with-custom-binding')(options);
    },
    hci: (require, options) => {
      requestMtu(require('@abandonware/noble/lib/hci-socket/gatt'));
      const Bindings = require('@abandonware/noble/lib/hci-socket/bindings');
      return require('@abandonware/noble/with-bindings')(new Bindings(options));
    },
    // On the user channel it never reads the adapter's buffer size, so every write to a device waits for ever.
    unusable: () =>
      environment.HCI_CHANNEL_USER
        ? 'it hangs with HCI_CHANNEL_USER; unset this variable, or install @stoprocent/noble'
        : null,
  },
  {
    name: '@stoprocent/noble',
    native: (require, options) => require('@stoprocent/noble').withBindings('default', options),
    hci: (require, options) => require('@stoprocent/noble').withBindings('hci', options),
  },
];

/** Makes @abandonware/noble ask for our MTU: it has 256 built in. @stoprocent/noble has an option for it. */
function requestMtu({ prototype }: { prototype: { exchangeMtu(): void; _desired_mtu?: number } }): void {
  const { exchangeMtu } = prototype;
  if (asksForMore.has(exchangeMtu)) return;
  prototype.exchangeMtu = function (this: { _desired_mtu?: number }) {
    this._desired_mtu = REQUESTED_MTU;
    return exchangeMtu.call(this);
  };
  asksForMore.add(prototype.exchangeMtu);
}
const asksForMore = new WeakSet<() => void>();

/**
 * Loads the first library that works. The first one needs an addon compiled at install for this version of Node, and a
 * system with Bluetooth sockets.
 * @param deviceId number of the adapter, 1 for hci1; absent: the first
 */
export function loadNoble(log: Logger, deviceId?: number): Noble {
  return firstThatLoads('native', log, LIBRARIES, deviceId === undefined ? {} : { deviceId });
}

/** Loads a library over an HCI socket, for a virtual adapter. `only`: name of the library. */
export function loadNobleOverHci(log: Logger, only?: string): Noble {
  return firstThatLoads('hci', log, only ? LIBRARIES.filter(({ name }) => name === only) : LIBRARIES);
}

function firstThatLoads(
  way: 'native' | 'hci',
  log: Logger,
  libraries: readonly Library[],
  options: AdapterOptions = {},
): Noble {
  const require = createRequire(import.meta.url);
  const failures: string[] = [];
  for (const library of libraries) {
    const { name } = library;
    try {
      const unusable = library.unusable?.();
      if (unusable) throw new Error(unusable);
      const noble = library[way](require, options);
      log.info({ library: name }, 'Bluetooth library loaded');
      return noble;
    } catch (error) {
      const reason = firstLine(error);
      failures.push(`${name}: ${reason}`);
      log.debug({ library: name, reason }, 'Bluetooth library does not load');
    }
  }
  throw new Error(failures.join('; '));
}

export function firstLine(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.split('\n')[0] ?? message;
}
