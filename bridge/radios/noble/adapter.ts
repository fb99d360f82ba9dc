import { guard } from '../../guard.ts';
import { oneAtATime } from '../../one-at-a-time.ts';
import { forgetServices, forgetStrangers, joinServices } from './device-memory.ts';
import { guardInput, type InputEvents } from './hci-guard.ts';
import { REQUESTED_MTU } from './library.ts';
import type { ConnectParameters, Noble, Peripheral } from './noble.ts';

/** One loaded Bluetooth library with its adapter open. */
export interface Adapter {
  /** Idempotent. Rejects when the adapter does not answer in time. */
  setScanning(on: boolean, limitMs: number): Promise<void>;
  /** May never settle, because the library may not: put a time limit on it, and call `cancel` after that. */
  connect(peripheral: Peripheral): Promise<void>;
  /** Cancels a connection attempt. If the device connects all the same, that connection is closed at once. */
  cancel(peripheral: Peripheral): void;
  /** Closes connections that were requested here and are not in use. */
  closeStrays(inUse: ReadonlySet<string>): void;
  /** Can it send packets of more than 27 bytes? Bluetooth 4.2 brought that. Null: not known. */
  readonly hasDataLength: boolean | null;
  /** Closes all connections and releases everything that would keep the process alive. */
  dispose(): void;
}

export interface AdapterEvents
  extends Pick<InputEvents, 'onFault' | 'onBroken' | 'onBrokenLink' | 'onRefusal'> {
  /** State as the library names it, such as `poweredOn`. Also called with the state at the start. */
  onState(state: string): void;
  onSighting(peripheral: Peripheral): void;
  /** Scanning ended although nobody here stopped it. */
  onScanStop(): void;
  /** Ids of devices that must not be forgotten. */
  needed(): ReadonlySet<string>;
}

/** The adapter refused the command to scan. */
export class ScanRefusedError extends Error {}

/** Interval 15 to 30 ms, no latency, supervision timeout 4 s. The libraries' default timeout, 0.42 s, loses links. */
const CONNECT: ConnectParameters = {
  mtu: REQUESTED_MTU,
  minInterval: 12,
  maxInterval: 24,
  latency: 0,
  timeout: 400,
};
/** Pause before scanning is restarted after it ended by itself. */
const SCAN_PAUSE_MS = 1000;

/** After this many advertisements, the list of devices that the library keeps is trimmed. */
const FORGET_EVERY = 256;
const MAX_ATTEMPTED = 256;
const COMMAND_DISALLOWED = 0x0c;
/** HCI version of Bluetooth 4.2. */
const FIRST_WITH_DATA_LENGTH = 8;

function refused(status: number): ScanRefusedError {
  const why = status === COMMAND_DISALLOWED ? 'another program may be scanning' : 'HCI status';
  return new ScanRefusedError(
    `the adapter refuses to scan (${why}, 0x${status.toString(16).padStart(2, '0')})`,
  );
}

/** Opens the adapter through a library. Throws what the library throws: no adapter, no permission, no Bluetooth. */
export function openAdapter(noble: Noble, events: AdapterEvents): Adapter {
  const { onState, onSighting, onScanStop } = events;
  const before = processListeners();
  let scanning = false;
  let disposed = false;
  let scanAnswered: (status: number) => void = ignore;
  let connecting: Peripheral | null = null;
  let hasDataLength: boolean | null = null;
  let advertisements = 0;
  /** Devices that were connected from here. The library may see connections of other programs, too. */
  const attempted = new Set<string>();
  /** Handlers that close a connection which is established after its attempt was cancelled. */
  const strays = new WeakMap<Peripheral, (error: unknown) => void>();
  const inTurn = oneAtATime();

  try {
    void noble.state; // opens it now, where an error can still be caught
  } catch (error) {
    removeListeners(listenersSince(before)); // they would throw when the process exits
    throw error;
  }
  const added = listenersSince(before);
  // The library exits the process on SIGINT if it added the last listener. Only the main file may decide that.
  removeListeners({ SIGINT: added.SIGINT, exit: [] });

  const isGuarded = guardInput(noble, {
    ...events,
    connecting: () => connecting,
    onAdvertisement() {
      advertisements += 1;
      if (advertisements % FORGET_EVERY === 0) forgetStrangers(noble, events.needed);
    },
    onScanAnswer: status => scanAnswered(status),
    onVersion(version) {
      if (version.hasDataLength !== undefined) hasDataLength = version.hasDataLength;
      else if ((version.hci ?? FIRST_WITH_DATA_LENGTH) < FIRST_WITH_DATA_LENGTH) hasDataLength = false;
    },
  });
  joinServices(noble);
  forgetServices(noble);

  noble.on('stateChange', onState);
  noble.on('discover', onSighting);
  noble.removeAllListeners('warning'); // the library's own listener prints to the console
  noble.on('warning', ignore);
  noble.on('scanStop', () => {
    if (!scanning || disposed) return;
    scanning = false;
    setTimeout(onScanStop, SCAN_PAUSE_MS).unref();
  });
  if (noble.state !== 'unknown') onState(noble.state);

  async function start(limitMs: number): Promise<void> {
    const started = new Promise<void>((resolve, reject) => {
      scanAnswered = status => (status === 0 ? resolve() : reject(refused(status)));
      // `true` allows duplicates: otherwise the library hides known devices, and a lost one is never reported again.
      noble.startScanning([], true, error => {
        if (error) reject(error);
        else if (!isGuarded) resolve(); // else `scanAnswered` gets the adapter's answer, which the library ignores
      });
    });
    try {
      await guard('starting to scan', started, { limitMs });
      scanning = true;
    } catch (error) {
      // Otherwise the library believes that it scans already, and ignores the next request.
      Object.assign(noble._bindings ?? {}, { _isScanning: false, _isScanningStarted: false });
      throw error;
    }
  }

  async function stop(limitMs: number): Promise<void> {
    scanning = false;
    const stopped = new Promise<void>(resolve => noble.stopScanning(resolve));
    await guard('ending the scan', stopped, { limitMs });
  }

  return {
    setScanning(on, limitMs) {
      return inTurn(async () => {
        if (on === scanning || disposed) return;
        await (on ? start(limitMs) : stop(limitMs));
      });
    },
    async connect(peripheral) {
      const unwanted = strays.get(peripheral);
      if (unwanted) peripheral.removeListener('connect', unwanted);
      connecting = peripheral;
      attempted.add(peripheral.id);
      if (attempted.size > MAX_ATTEMPTED) attempted.delete(attempted.values().next().value ?? '');
      try {
        await new Promise<void>((resolve, reject) => {
          peripheral.connect(CONNECT, error => (error ? reject(asError(error)) : resolve()));
        });
      } finally {
        connecting = null;
      }
    },
    cancel(peripheral) {
      connecting = null;
      if (peripheral.state !== 'connecting') return;
      peripheral.cancelConnect();
      const unwanted = (error: unknown) => {
        if (!error) peripheral.disconnect();
      };
      strays.set(peripheral, unwanted);
      peripheral.once('connect', unwanted);
    },
    closeStrays(inUse) {
      const { _aclStreams = {}, _handles = {}, _hci } = noble._bindings ?? {};
      for (const handle of Object.keys(_aclStreams)) {
        const id = String(_handles[handle]);
        if (attempted.has(id) && !inUse.has(id)) _hci?.disconnect(Number(handle));
      }
    },
    get hasDataLength() {
      return hasDataLength;
    },
    dispose() {
      disposed = true;
      noble.removeAllListeners();
      noble.on('warning', ignore);
      try {
        release(noble);
      } catch {
        // An adapter that is gone takes no commands.
      }
      removeListeners(added);
    },
  };
}

function release(noble: Noble): void {
  const bindings = noble._bindings;
  const hci = bindings?._hci;
  // A connected device does not advertise: one that was left connected would never be seen again.
  for (const handle of Object.keys(bindings?._aclStreams ?? {})) hci?.disconnect(Number(handle));
  if (noble.stop) noble.stop();
  else if (hci) {
    hci.pollIsDevUp = ignore; // its timer sets itself again for ever; this is the only way to end it
    hci._socket?.stop?.();
  }
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
