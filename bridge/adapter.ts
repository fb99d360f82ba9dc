import { guard } from './guard.ts';
import type { ConnectParameters, Noble, Peripheral } from './noble.ts';

/** One loaded Bluetooth library with its adapter open. */
export interface Adapter {
  /** Idempotent. Rejects when the adapter does not obey in time. */
  setScanning(on: boolean, limitMs: number): Promise<void>;
  /** Settles as the library does, which may be never: guard it, and `cancel` when it takes too long. */
  connect(peripheral: Peripheral): Promise<void>;
  /** Takes a connection attempt back; a link that comes about all the same is closed at once. */
  cancel(peripheral: Peripheral): void;
  /** Lets go of everything that would keep the process alive. */
  dispose(): void;
}

export interface AdapterEvents {
  /** The library's own word: `poweredOn` and so on. Also called for the state found at the start. */
  onState(state: string): void;
  onSighting(peripheral: Peripheral): void;
  /** Scanning ended without our doing. */
  onScanStop(): void;
}

/** 15 to 30 ms, no skipped events, link lost after 4 s. The libraries' own default is 0.42 s. */
const CONNECT: ConnectParameters = { minInterval: 12, maxInterval: 24, latency: 0, timeout: 400 };
const NEVER = new Promise<string>(() => {});
/** Before scanning that ended by itself is begun again. */
const SCAN_PAUSE_MS = 1000;

/** Opens the adapter through a library. Throws what the library throws: no adapter, no permission, no Bluetooth. */
export function openAdapter(noble: Noble, { onState, onSighting, onScanStop }: AdapterEvents): Adapter {
  const before = processListeners();
  let scanning = false;
  let disposed = false;
  /** Who waits for a link that comes about after its attempt was taken back. */
  const strays = new WeakMap<Peripheral, (error: unknown) => void>();
  let last: Promise<void> = Promise.resolve();

  try {
    void noble.state; // opens it now, where an error can still be caught
  } catch (error) {
    removeListeners(listenersSince(before)); // they would fail when the process ends
    throw error;
  }
  const added = listenersSince(before);
  // The library ends the process on SIGINT when it was the last to listen; that is for the main file to decide.
  removeListeners({ SIGINT: added.SIGINT, exit: [] });

  noble.on('stateChange', onState);
  noble.on('discover', onSighting);
  noble.on('warning', ignore); // else they are printed
  noble.on('scanStop', () => {
    if (!scanning || disposed) return;
    scanning = false;
    setTimeout(onScanStop, SCAN_PAUSE_MS).unref();
  });
  if (noble.state !== 'unknown') onState(noble.state);

  async function start(limitMs: number): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      // With duplicates: the library hides known devices otherwise, and a lost one would never be seen again.
      noble.startScanning([], true, error => (error ? reject(error) : resolve()));
    });
    await guard('starting to scan', started, { limitMs, lost: NEVER });
    scanning = true;
  }

  async function stop(limitMs: number): Promise<void> {
    scanning = false;
    const stopped = new Promise<void>(resolve => noble.stopScanning(resolve));
    await guard('ending the scan', stopped, { limitMs, lost: NEVER });
  }

  return {
    setScanning(on, limitMs) {
      const next = last.then(async () => {
        if (on === scanning || disposed) return;
        await (on ? start(limitMs) : stop(limitMs));
      });
      last = next.catch(ignore);
      return next;
    },
    connect(peripheral) {
      const unwanted = strays.get(peripheral);
      if (unwanted) peripheral.removeListener('connect', unwanted);
      return new Promise((resolve, reject) => {
        peripheral.connect(CONNECT, error => (error ? reject(asError(error)) : resolve()));
      });
    },
    cancel(peripheral) {
      if (peripheral.state !== 'connecting') return;
      peripheral.cancelConnect();
      const unwanted = (error: unknown) => {
        if (!error) peripheral.disconnect();
      };
      strays.set(peripheral, unwanted);
      peripheral.once('connect', unwanted);
    },
    dispose() {
      disposed = true;
      noble.removeAllListeners();
      const bindings = noble._bindings;
      const hci = bindings?._hci;
      if (noble.stop) noble.stop();
      else if (hci) {
        hci.pollIsDevUp = ignore; // its timer sets itself again for ever; this is the only way to end it
        hci._socket?.stop?.();
      }
      removeListeners(added);
    },
  };
}

type Listener = (...args: unknown[]) => void;
interface ProcessListeners {
  SIGINT: Listener[];
  exit: Listener[];
}

function processListeners(): ProcessListeners {
  return {
    SIGINT: process.listeners('SIGINT') as Listener[],
    exit: process.listeners('exit') as Listener[],
  };
}

function listenersSince(before: ProcessListeners): ProcessListeners {
  const now = processListeners();
  return {
    SIGINT: now.SIGINT.filter(listener => !before.SIGINT.includes(listener)),
    exit: now.exit.filter(listener => !before.exit.includes(listener)),
  };
}

function removeListeners({ SIGINT, exit }: ProcessListeners): void {
  for (const listener of SIGINT) process.removeListener('SIGINT', listener);
  for (const listener of exit) process.removeListener('exit', listener);
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function ignore(): void {}
