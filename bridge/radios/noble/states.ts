import type { RadioState } from '../../radio.ts';

const NO_SOCKETS =
  'this system has no Bluetooth sockets (a container, or a kernel without AF_BLUETOOTH); run the bridge on the host, or in a container with --network host --cap-add NET_RAW --cap-add NET_ADMIN';
const NO_ADAPTER =
  'no Bluetooth Low Energy adapter was found; plug one in (version 4.2 or newer), or in a container use --network host --cap-add NET_RAW --cap-add NET_ADMIN';
const NO_LIBRARY =
  'no Bluetooth library loads here; run npm ci with the Node that runs the bridge, and without --ignore-scripts';

const HINTS: Readonly<Record<RadioState['name'], string>> = {
  starting: '',
  ready: '',
  closed: '',
  off: 'the Bluetooth adapter is off; switch it on: bluetoothctl power on (or: sudo hciconfig hci0 up)',
  unauthorized: `this process may not use the Bluetooth adapter; allow it once: sudo setcap cap_net_raw,cap_net_admin+eip ${process.execPath}`,
  unsupported: NO_ADAPTER,
};

/** State of an adapter that was opened and has not answered yet. */
export function silentAdapter(): RadioState {
  return {
    name: 'starting',
    hint: 'the Bluetooth adapter does not answer; the bridge keeps trying; if this continues, unplug it and plug it in again, or reset it: sudo hciconfig hci0 reset',
  };
}

/** State of an adapter that refuses to scan. */
export function scanRefused(reason: string): RadioState {
  return {
    name: 'ready',
    hint: `${reason}, so no wearable is found; the bridge keeps trying; stop other programs that scan (bluetoothctl scan off), or plug the adapter in again`,
  };
}

/** States as the libraries name them. */
const NAMES: Readonly<Record<string, RadioState['name']>> = {
  poweredOn: 'ready',
  poweredOff: 'off',
  unauthorized: 'unauthorized',
  unsupported: 'unsupported',
};

export function stateOf(name: RadioState['name']): RadioState {
  return { name, hint: HINTS[name] };
}

/** Translates a state of the libraries. Null: it changes nothing. */
export function stateFromLibrary(word: string): RadioState | null {
  const name = NAMES[word];
  return name ? stateOf(name) : null;
}

/** Explanations for a library that does not load or open the adapter. Its own reason is appended. */
const FAILURES: readonly { pattern: RegExp; hint: string }[] = [
  { pattern: /EAFNOSUPPORT|family not supported/i, hint: NO_SOCKETS },
  { pattern: /ENODEV|no such device/i, hint: NO_ADAPTER },
  { pattern: /EPERM|not permitted/i, hint: HINTS.unauthorized },
];

export function stateFromFailure(reason: string): RadioState {
  const hint = FAILURES.find(({ pattern }) => pattern.test(reason))?.hint ?? NO_LIBRARY;
  return { name: hint === HINTS.unauthorized ? 'unauthorized' : 'unsupported', hint: `${hint} (${reason})` };
}
