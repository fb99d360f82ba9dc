import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { environment } from '../config/load.ts';
import type { Noble } from './noble.ts';

/** Loads a library; throws when there is none that works here. */
export type LoadNoble = (log: Logger) => Noble;

/** Largest ATT MTU that Bluetooth's attribute values need. Some devices send stored audio in pieces of 440 bytes. */
export const REQUESTED_MTU = 517;

/** `native`: whatever the system offers. `hci`: over an HCI socket, on any system. */
interface Library {
  name: string;
  native: (require: NodeJS.Require) => Noble;
  hci: (require: NodeJS.Require) => Noble;
  /** Why it is of no use here, although it loads. */
  unusable?: () => string | null;
}

const LIBRARIES: readonly Library[] = [
  {
    name: '@abandonware/noble',
    // A fresh instance each; index.js would make one for the whole process.
    native: require => {
      requestMtu(require('@abandonware/noble/lib/hci-socket/gatt'));
      return require('@abandonware/noble/with-custom-binding')({});
    },
    hci: require => {
      requestMtu(require('@abandonware/noble/lib/hci-socket/gatt'));
      const Bindings = require('@abandonware/noble/lib/hci-socket/bindings');
      return require('@abandonware/noble/with-bindings')(new Bindings({}));
    },
    // On the user channel it never asks for the adapter's buffers, and every write to a device waits for those.
    unusable: () =>
      environment.HCI_CHANNEL_USER
        ? 'it hangs with HCI_CHANNEL_USER; unset that, or install @stoprocent/noble'
        : null,
  },
  {
    name: '@stoprocent/noble',
    native: require => require('@stoprocent/noble').withBindings('default', {}),
    hci: require => require('@stoprocent/noble').withBindings('hci', {}),
  },
];

/** This library asks for 256, and has no setting for it; the other one has. */
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
 * The first library that loads. Both speak to the same adapter in the same way; the first needs an addon that was
 * compiled at install for this very Node, and a system with Bluetooth sockets at all.
 */
export const loadNoble: LoadNoble = log => firstThatLoads('native', log, LIBRARIES);

/** The same over an HCI socket; for a virtual adapter. `only`: this library and no other. */
export function loadNobleOverHci(log: Logger, only?: string): Noble {
  return firstThatLoads('hci', log, only ? LIBRARIES.filter(({ name }) => name === only) : LIBRARIES);
}

function firstThatLoads(way: 'native' | 'hci', log: Logger, libraries: readonly Library[]): Noble {
  const require = createRequire(import.meta.url);
  const failures: string[] = [];
  for (const library of libraries) {
    const { name } = library;
    try {
      const unusable = library.unusable?.();
      if (unusable) throw new Error(unusable);
      const noble = library[way](require);
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
