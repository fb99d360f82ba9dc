import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import { type Adapter, openAdapter } from './adapter.ts';
import type { Clock } from './clock.ts';
import { guard, LinkLostError, TimeLimitError } from './guard.ts';
import { createLink, type Link, type LinkLimits } from './link.ts';
import type { Noble, Peripheral } from './noble.ts';
import { createQueue, type Queue } from './queue.ts';
import { type RadioState, stateFromFailure, stateFromLibrary, stateOf } from './radio-state.ts';

export interface Advertisement {
  id: string;
  /** Lower case, with colons; on systems that hide it, what they give instead. */
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

const MAX_WAITING_SIGHTINGS = 256;
const MAX_CONNECT_TIMEOUTS = 3;
const SETTLE_MS = 1500;

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
const loadNoble: LoadNoble = log => firstThatLoads('native', log, LIBRARIES);

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
  /** Open links, with how to tell one that it is gone. */
  const links = new Map<Link, (reason: string) => void>();
  let state = stateOf('starting');
  let adapter: Adapter | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  /** The attempt under way, and how to tell it that the adapter is gone. */
  let connecting: { lose(reason: string): void } | null = null;
  let offTimer: NodeJS.Timeout | null = null;
  let lastSightingAt = 0;
  let failures = 0;

  function become(next: RadioState): void {
    if (offTimer) clearTimeout(offTimer);
    offTimer = null;
    if (state.name === 'closed' || (state.name === next.name && state.hint === next.hint)) return;
    const was = state.name;
    state = next;
    if (was === 'ready')
      lose(next.name === 'off' ? 'the Bluetooth adapter was switched off' : 'the radio was closed');
    for (const watcher of watchers) watcher.push(state);
    if (next.name === 'ready') void updateScan();
  }

  /** Not every library says so itself when the adapter goes: all links are over, and all that it knew of devices. */
  function lose(reason: string): void {
    connecting?.lose(reason);
    for (const tell of links.values()) tell(reason);
    links.clear();
    peripherals.clear();
  }

  // ── the library ───────────────────────────────────────────────────────────────────────────────────────────────

  function open(): void {
    try {
      adapter = openAdapter(load(log), { onState, onSighting, onScanStop });
    } catch (error) {
      become(stateFromFailure(firstLine(error)));
    }
  }

  function onState(word: string): void {
    const next = stateFromLibrary(word);
    if (!next) return;
    // The library still holds what was before, among it calls that never end: a fresh one knows nothing of that.
    if (next.name === 'ready' && state.name === 'off') reopen();
    // At the start "off" may only mean that the library has not found out yet why it cannot use the adapter.
    else if (next.name === 'off' && state.name === 'starting')
      offTimer = setTimeout(() => become(next), SETTLE_MS).unref();
    else become(next);
  }

  function reopen(): void {
    adapter?.dispose();
    adapter = null;
    become(stateOf('starting'));
    open();
  }

  function onSighting(peripheral: Peripheral): void {
    lastSightingAt = clock.now();
    peripherals.set(peripheral.id, peripheral);
    const { localName, serviceUuids } = peripheral.advertisement;
    for (const scan of scans)
      scan.push({
        id: peripheral.id,
        address: (peripheral.address || peripheral.id).toLowerCase(),
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
    const through = adapter;
    if (!peripheral || !through || state.name !== 'ready')
      throw new Error(`the device ${id} is not in sight`);
    const lost = Promise.withResolvers<string>();
    const mine = { lose: lost.resolve };
    connecting = mine;
    try {
      await updateScan(); // many adapters cannot scan and connect at once
      await guard('connecting', request(through, peripheral, signal), {
        limitMs: limits.connectMs,
        lost: lost.promise,
      });
      failures = 0;
      return keep(createLink(peripheral, limits));
    } catch (error) {
      if (error instanceof TimeLimitError) failures += 1;
      if (!(error instanceof LinkLostError)) through.cancel(peripheral);
      throw error;
    } finally {
      connecting = null;
      lastSightingAt = clock.now();
      if (failures >= MAX_CONNECT_TIMEOUTS && links.size === 0) renew();
      else void updateScan();
    }
  }

  function keep({ link, lose }: ReturnType<typeof createLink>): Link {
    links.set(link, lose);
    void link.closed.then(() => links.delete(link));
    return link;
  }

  /** Connection requests that all time out may mean that one of them hangs in the library. */
  function renew(): void {
    failures = 0;
    log.warn('several connections timed out in a row: the Bluetooth library is started again');
    reopen();
  }

  function request(through: Adapter, peripheral: Peripheral, signal: AbortSignal): Promise<void> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    return Promise.race([through.connect(peripheral), aborted]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    );
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
      if (state.name === 'closed') return;
      clearInterval(watchdog);
      for (const scan of scans) scan.end();
      scans.clear();
      await updateScan();
      await Promise.all([...links.keys()].map(link => link.disconnect()));
      become(stateOf('closed'));
      adapter?.dispose();
      for (const watcher of watchers) watcher.end();
    },
  };
}

function firstLine(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message.split('\n')[0] ?? message;
}
