import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { type Adapter, openAdapter } from './adapter.ts';
import type { Clock } from './clock.ts';
import { guard, TimeLimitError } from './guard.ts';
import { createLink, type Link, type LinkLimits } from './link.ts';
import type { ConnectParameters, Noble, Peripheral } from './noble.ts';
import { createQueue, type Queue } from './queue.ts';

/** Whether there is a usable adapter; anything but `ready` comes with the way out, in words. */
export interface RadioState {
  name: 'starting' | 'ready' | 'off' | 'unauthorized' | 'unsupported' | 'closed';
  /** For people; empty where there is nothing to do. */
  hint: string;
}

export interface Advertisement {
  id: string;
  /** Lower case, with colons. */
  address: string;
  /** Empty where the device does not tell. */
  name: string;
  /** As the library writes them: no dashes. */
  serviceUuids: string[];
  rssi: number;
}

/** The Bluetooth adapter, with a time limit on everything. */
export interface Radio {
  readonly state: RadioState;
  /** The present state, then every change, until `close`. */
  states(): AsyncIterable<RadioState>;
  /** Sightings of devices, again and again, until aborted. Pauses by itself while a connection is being made. */
  scan(signal: AbortSignal): AsyncIterable<Advertisement>;
  /** Connects to a device seen by `scan`. One at a time; others wait. Rejects when it does not answer in time. */
  connect(id: string, options: { signal: AbortSignal }): Promise<Link>;
  /** Ends every link and lets go of the adapter. */
  close(): Promise<void>;
}

export interface RadioLimits extends LinkLimits {
  /** Until a device must have answered a connection request. */
  connectMs: number;
  /** A scan that was silent for so long is begun anew: some adapters stop reporting. */
  rescanMs: number;
}

const LIMITS: RadioLimits = { attMs: 5000, disconnectMs: 3000, connectMs: 15_000, rescanMs: 30_000 };

/** 15 to 30 ms, no skipped events, link lost after 4 s. The libraries' own default is 0.42 s. */
const CONNECT: ConnectParameters = { minInterval: 12, maxInterval: 24, latency: 0, timeout: 400 };

const MAX_WAITING_SIGHTINGS = 256;
const MAX_CONNECT_TIMEOUTS = 3;

/** Loads a library; throws when there is none that works here. */
export type LoadNoble = (log: Logger) => Noble;

/** `native`: whatever the system offers. `hci`: over an HCI socket, on any system. */
interface Library {
  name: string;
  native: (require: NodeJS.Require) => Noble;
  hci: (require: NodeJS.Require) => Noble;
}

const LIBRARIES: readonly Library[] = [
  {
    name: '@abandonware/noble',
    // A fresh instance each; index.js would make one for the whole process.
    native: require => require('@abandonware/noble/with-custom-binding')({}),
    hci: require => {
      const Bindings = require('@abandonware/noble/lib/hci-socket/bindings');
      return require('@abandonware/noble/with-bindings')(new Bindings({}));
    },
  },
  {
    name: '@stoprocent/noble',
    native: require => require('@stoprocent/noble').withBindings('default', {}),
    hci: require => require('@stoprocent/noble').withBindings('hci', {}),
  },
];

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

const NO_SOCKETS =
  'this system has no Bluetooth sockets (a container or a kernel without AF_BLUETOOTH); run the bridge on the host, or in a container with --network host --cap-add NET_RAW --cap-add NET_ADMIN';

const HINTS: Readonly<Record<RadioState['name'], string>> = {
  starting: '',
  ready: '',
  closed: '',
  off: 'the Bluetooth adapter is off; switch it on: sudo hciconfig hci0 up (or: bluetoothctl power on)',
  unauthorized: `this process may not use the Bluetooth adapter; allow it once: sudo setcap cap_net_raw,cap_net_admin+eip ${process.execPath}`,
  unsupported:
    'no Bluetooth Low Energy adapter was found; plug one in (version 4.2 or newer), or in a container use --network host --cap-add NET_RAW --cap-add NET_ADMIN; then start the bridge again',
};

/** What the libraries' own state names mean. */
const STATES: Readonly<Record<string, RadioState['name']>> = {
  poweredOn: 'ready',
  poweredOff: 'off',
  unauthorized: 'unauthorized',
  unsupported: 'unsupported',
};

export function createRadio({
  log,
  clock,
  load = loadNoble,
  limits: given = {},
}: {
  log: Logger;
  clock: Clock;
  load?: LoadNoble;
  limits?: Partial<RadioLimits>;
}): Radio {
  const limits = { ...LIMITS, ...given };
  const watchers = new Set<Queue<RadioState>>();
  const scans = new Set<Queue<Advertisement>>();
  const peripherals = new Map<string, Peripheral>();
  const links = new Set<Link>();
  let state: RadioState = { name: 'starting', hint: '' };
  let adapter: Adapter | null = null;
  let lost = Promise.withResolvers<string>();
  let turn: Promise<unknown> = Promise.resolve();
  let connecting = false;
  let lastSightingAt = 0;
  let failures = 0;

  function become(name: RadioState['name'], hint = HINTS[name]): void {
    if (state.name === 'closed' || (state.name === name && state.hint === hint)) return;
    const was = state.name;
    state = { name, hint };
    if (was === 'ready')
      lose(name === 'off' ? 'the Bluetooth adapter was switched off' : 'the radio is gone');
    for (const watcher of watchers) watcher.push(state);
    if (name === 'ready') void updateScan();
  }

  /** Not every library says so itself when the adapter goes: all links are over, and all that it knew of devices. */
  function lose(reason: string): void {
    lost.resolve(reason);
    lost = Promise.withResolvers();
    peripherals.clear();
    links.clear();
  }

  // ── the library ───────────────────────────────────────────────────────────────────────────────────────────────

  function open(): void {
    try {
      adapter = openAdapter(load(log), { onState, onSighting, onScanStop });
    } catch (error) {
      const reason = firstLine(error);
      become(
        'unsupported',
        /EAFNOSUPPORT|family not supported/i.test(reason) ? NO_SOCKETS : `${HINTS.unsupported} (${reason})`,
      );
    }
  }

  function onState(raw: string): void {
    const name = STATES[raw];
    if (!name) return;
    const isBack = name === 'ready' && state.name === 'off';
    // The library still holds what was before, among it calls that never end: a fresh one knows nothing of that.
    if (isBack) reopen();
    else become(name);
  }

  function reopen(): void {
    adapter?.dispose();
    adapter = null;
    become('starting');
    open();
  }

  function onSighting(peripheral: Peripheral): void {
    lastSightingAt = clock.now();
    peripherals.set(peripheral.id, peripheral);
    const { localName, serviceUuids } = peripheral.advertisement;
    for (const scan of scans)
      scan.push({
        id: peripheral.id,
        address: peripheral.address.toLowerCase(),
        name: localName ?? '',
        serviceUuids: serviceUuids ?? [],
        rssi: peripheral.rssi,
      });
  }

  // ── scanning ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Somebody else, or the adapter itself, ended it. */
  function onScanStop(): void {
    void updateScan();
  }

  async function updateScan(): Promise<void> {
    const wanted = scans.size > 0 && !connecting && state.name === 'ready';
    await adapter?.setScanning(wanted, limits.attMs).catch(scanFailed);
  }

  function scanFailed(error: unknown): void {
    log.warn({ err: error }, 'the adapter does not scan as it should');
    if (links.size === 0 && state.name === 'ready') reopen();
  }

  const watchdog = setInterval(() => {
    if (scans.size === 0 || connecting || clock.now() - lastSightingAt < limits.rescanMs) return;
    lastSightingAt = clock.now();
    void adapter?.setScanning(false, limits.attMs).then(updateScan).catch(scanFailed);
  }, limits.rescanMs / 2);
  watchdog.unref();

  // ── connecting ────────────────────────────────────────────────────────────────────────────────────────────────

  async function connectNow(id: string, signal: AbortSignal): Promise<Link> {
    signal.throwIfAborted();
    const peripheral = peripherals.get(id);
    if (!peripheral || state.name !== 'ready') throw new Error(`the device ${id} is not in sight`);
    const gone = lost.promise;
    connecting = true;
    try {
      await updateScan(); // many adapters cannot scan and connect at once
      await guard('connecting', request(peripheral, signal), { limitMs: limits.connectMs, lost: gone });
      const link = createLink(peripheral, { limits, lost: gone });
      links.add(link);
      failures = 0;
      void link.closed.then(() => links.delete(link));
      return link;
    } catch (error) {
      if (gone === lost.promise) adapter?.cancel(peripheral);
      if (error instanceof TimeLimitError) failures += 1;
      throw error;
    } finally {
      connecting = false;
      lastSightingAt = clock.now();
      if (failures >= MAX_CONNECT_TIMEOUTS && links.size === 0) renew();
      else void updateScan();
    }
  }

  /** Connection requests that all time out may mean that one of them hangs in the library. */
  function renew(): void {
    failures = 0;
    log.warn('several connections timed out in a row: the Bluetooth library is started again');
    reopen();
  }

  function request(peripheral: Peripheral, signal: AbortSignal): Promise<void> {
    if (peripheral.state === 'connected') peripheral.state = 'disconnected'; // left over; we hold no link to it
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      peripheral.connect(CONNECT, error => {
        if (error) reject(error instanceof Error ? error : new Error(String(error)));
        else resolve();
      });
    });
  }

  open();
  return {
    get state() {
      return state;
    },
    async *states() {
      const queue = createQueue<RadioState>(16);
      queue.push(state);
      watchers.add(queue);
      if (state.name === 'closed') queue.end();
      try {
        yield* queue;
      } finally {
        watchers.delete(queue);
      }
    },
    async *scan(signal) {
      const queue = createQueue<Advertisement>(MAX_WAITING_SIGHTINGS);
      const end = () => queue.end();
      signal.addEventListener('abort', end);
      if (signal.aborted || state.name === 'closed') end();
      scans.add(queue);
      void updateScan();
      try {
        yield* queue;
      } finally {
        signal.removeEventListener('abort', end);
        scans.delete(queue);
        void updateScan();
      }
    },
    connect(id, { signal }) {
      const mine = turn.then(() => connectNow(id, signal));
      turn = mine.catch(() => {});
      return mine;
    },
    async close() {
      clearInterval(watchdog);
      for (const scan of scans) scan.end();
      scans.clear();
      await updateScan();
      await Promise.all([...links].map(link => link.disconnect()));
      become('closed');
      adapter?.dispose();
      for (const watcher of watchers) watcher.end();
    },
  };
}

function firstLine(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.split('\n')[0] ?? message;
}
