import type { Logger } from 'pino';
import { onOneLine } from '../../../core/runtime/terminal.ts';
import { createBackoff } from '../../backoff.ts';
import type { Clock } from '../../clock.ts';
import type { Advertisement } from '../../radio.ts';
import { createScans } from '../scans.ts';
import { type Adapter, ScanRefusedError } from './adapter.ts';
import { firstLine } from './library.ts';
import type { Peripheral } from './noble.ts';

/** Reports devices in range while at least one scan runs and the adapter can scan. */
export interface Scanner {
  /** Until aborted, or until `end`. */
  scan(signal: AbortSignal): AsyncIterable<Advertisement>;
  onSighting(peripheral: Peripheral): void;
  /** A device in range. */
  find(id: string): Peripheral | undefined;
  /** Ids of the devices in range. */
  ids(): Iterable<string>;
  /** Starts or stops scanning to match the present state. */
  update(): Promise<void>;
  /** Restarts the timer of the silence watchdog, after a time in which the adapter could not scan. */
  resetSilence(): void;
  /** Forgets all devices. */
  forget(): void;
  /** Ends all scans. */
  end(): Promise<void>;
}

/** Limits of the scanner; see `RadioLimits`. */
export interface ScannerLimits {
  attMs: number;
  /** A scan without any report for this long is restarted: some adapters stop reporting. */
  rescanMs: number;
  /** First pause before a refused scan is tried again; doubles. */
  scanRetryMs: number;
}

/** The radio, as far as scanning needs it. */
export interface ScannerHost {
  adapter(): Adapter | null;
  isReady(): boolean;
  isConnecting(): boolean;
  /** Why the adapter does not scan; null: it does. */
  onRefusal(reason: string | null): void;
  /** Restarts the library unless that would break a connection. @returns whether it did */
  restart(): boolean;
}

const MAX_REFUSALS = 3;
const MAX_RETRY_MS = 30_000;
/** Devices in range that can be connected to; the one seen longest ago is dropped first. */
const MAX_SIGHTED = 256;

export function createScanner(
  host: ScannerHost,
  { log, clock, limits }: { log: Logger; clock: Clock; limits: ScannerLimits },
): Scanner {
  const scans = createScans();
  /** Devices in range, most recently seen last. */
  const peripherals = new Map<string, Peripheral>();
  const retries = createBackoff({ firstMs: limits.scanRetryMs, maxMs: MAX_RETRY_MS });
  let retryTimer: NodeJS.Timeout | null = null;
  let lastSightingAt = 0;
  let refusals = 0;

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
    log.warn({ reason: firstLine(error) }, 'the adapter does not scan');
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
    scan: signal => scans.open(signal, () => void update()),
    onSighting(peripheral) {
      lastSightingAt = clock.now();
      peripherals.delete(peripheral.id);
      peripherals.set(peripheral.id, peripheral);
      if (peripherals.size > MAX_SIGHTED) peripherals.delete(peripherals.keys().next().value ?? '');
      scans.push(advertisementOf(peripheral));
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
      clearInterval(watchdog);
      scans.end();
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

/** Reads the advertised name without control characters, since it is shown in terminals. Empty: none. */
export function advertisedName({ advertisement }: Peripheral): string {
  return onOneLine(advertisement.localName ?? '').trim();
}
