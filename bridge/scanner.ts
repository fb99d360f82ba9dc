import type { Logger } from 'pino';
import { onOneLine } from '../core/runtime/terminal.ts';
import { type Adapter, ScanRefusedError } from './adapter.ts';
import { createBackoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import { firstLine } from './library.ts';
import type { Peripheral } from './noble.ts';
import { createQueue, type Queue } from './queue.ts';

export interface Advertisement {
  id: string;
  /** Lower case, with colons; on systems that hide it, what they give instead. */
  address: string;
  /** On one line, without control characters; empty where the device does not tell. */
  name: string;
  /** As the library writes them: no dashes. */
  serviceUuids: string[];
  /** The company's number (little-endian), and its data; null: none. */
  manufacturerData: Uint8Array | null;
  rssi: number;
}

/** Reports devices in sight, while somebody wants to know and the adapter can scan. */
export interface Scanner {
  /** Until aborted, or until `end`. */
  scan(signal: AbortSignal): AsyncIterable<Advertisement>;
  onSighting(peripheral: Peripheral): void;
  /** A device in sight. */
  find(id: string): Peripheral | undefined;
  /** Ids of the devices in sight. */
  ids(): Iterable<string>;
  /** Begins or ends the scan, as the state now demands. */
  update(): Promise<void>;
  /** The adapter could not report anything until now. */
  resetSilence(): void;
  /** Nothing is in sight any more. */
  forget(): void;
  /** Ends all scans. */
  end(): Promise<void>;
}

/** Limits of the scanner; see `RadioLimits`. */
export interface ScannerLimits {
  attMs: number;
  /** A scan that was silent for so long is begun anew: some adapters stop reporting. */
  rescanMs: number;
  /** Before a refused scan is asked for again; doubles. */
  scanRetryMs: number;
}

/** The radio, as far as scanning needs it. */
export interface ScannerHost {
  adapter(): Adapter | null;
  isReady(): boolean;
  isConnecting(): boolean;
  /** Why the adapter does not scan; null: it does. */
  onRefusal(reason: string | null): void;
  /** Starts the library again, unless that would cost a connection. @returns whether it did */
  restart(): boolean;
}

const MAX_WAITING_SIGHTINGS = 256;
const MAX_REFUSALS = 3;
const MAX_RETRY_MS = 30_000;
/** Devices in sight that can be connected to; the one seen longest ago goes first. */
const MAX_SIGHTED = 256;

export function createScanner(
  host: ScannerHost,
  { log, clock, limits }: { log: Logger; clock: Clock; limits: ScannerLimits },
): Scanner {
  const scans = new Set<Queue<Advertisement>>();
  /** In sight; the one seen last is the last. */
  const peripherals = new Map<string, Peripheral>();
  const retries = createBackoff({ firstMs: limits.scanRetryMs, maxMs: MAX_RETRY_MS });
  let retryTimer: NodeJS.Timeout | null = null;
  let lastSightingAt = 0;
  let refusals = 0;
  let ended = false;

  async function update(): Promise<void> {
    const through = host.adapter();
    const wanted = scans.size > 0 && !host.isConnecting() && host.isReady();
    try {
      await through?.setScanning(wanted, limits.attMs);
      if (wanted && through === host.adapter()) succeeded();
    } catch (error) {
      if (through === host.adapter()) failed(error);
    }
  }

  function succeeded(): void {
    refusals = 0;
    retries.reset();
    if (host.isReady()) host.onRefusal(null);
  }

  function failed(error: unknown): void {
    if (!host.isReady()) return;
    log.warn({ reason: firstLine(error) }, 'the adapter does not scan as it should');
    if (error instanceof ScanRefusedError) {
      refusals += 1;
      host.onRefusal(error.message);
    }
    const isTransient = error instanceof ScanRefusedError && refusals % MAX_REFUSALS !== 0;
    if (!isTransient && host.restart()) return;
    cancelRetry();
    retryTimer = setTimeout(update, retries.next());
  }

  function cancelRetry(): void {
    if (retryTimer) clearTimeout(retryTimer);
    retryTimer = null;
  }

  const watchdog = setInterval(() => {
    if (scans.size === 0 || host.isConnecting() || clock.now() - lastSightingAt < limits.rescanMs) return;
    lastSightingAt = clock.now();
    void host.adapter()?.setScanning(false, limits.attMs).then(update, failed);
  }, limits.rescanMs / 2);
  watchdog.unref();

  return {
    async *scan(signal) {
      const queue = createQueue<Advertisement>(MAX_WAITING_SIGHTINGS);
      const end = () => queue.end();
      signal.addEventListener('abort', end);
      if (signal.aborted || ended) end();
      scans.add(queue);
      void update();
      try {
        yield* queue;
      } finally {
        signal.removeEventListener('abort', end);
        scans.delete(queue);
        void update();
      }
    },
    onSighting(peripheral) {
      lastSightingAt = clock.now();
      peripherals.delete(peripheral.id);
      peripherals.set(peripheral.id, peripheral);
      if (peripherals.size > MAX_SIGHTED) peripherals.delete(peripherals.keys().next().value ?? '');
      for (const scan of scans) scan.push(advertisementOf(peripheral));
    },
    find: id => peripherals.get(id),
    ids: () => peripherals.keys(),
    update,
    resetSilence() {
      lastSightingAt = clock.now();
    },
    forget() {
      peripherals.clear();
      cancelRetry();
    },
    async end() {
      ended = true;
      clearInterval(watchdog);
      for (const scan of scans) scan.end();
      scans.clear();
      await update();
    },
  };
}

function advertisementOf(peripheral: Peripheral): Advertisement {
  const { id, address, rssi, advertisement } = peripheral;
  return {
    id,
    address: (address || id).toLowerCase(),
    name: advertisedName(peripheral),
    serviceUuids: advertisement.serviceUuids ?? [],
    manufacturerData: advertisement.manufacturerData ?? null,
    rssi,
  };
}

/** Anybody may advertise any name, and it goes to terminals. Empty where the device does not tell. */
export function advertisedName({ advertisement }: Peripheral): string {
  return onOneLine(advertisement.localName ?? '').trim();
}
