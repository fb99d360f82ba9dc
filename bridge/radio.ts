import type { Link } from './link.ts';

/**
 * A way to reach wearables. Every operation has a time limit. Drivers only see the `Link` to their device. `radios/` contains
 * the implementations.
 */
export interface Radio {
  readonly state: RadioState;
  readonly counts: Readonly<RadioCounts>;
  /** Yields the current state, then every change, until `close`. */
  states(): AsyncIterable<RadioState>;
  /** Yields sightings of devices repeatedly until aborted. Pauses while a connection is being made. */
  scan(signal: AbortSignal): AsyncIterable<Advertisement>;
  /** Connects to a device seen by `scan`; one connection is made at a time. Rejects if the device does not answer in time. */
  connect(id: string, options: { signal: AbortSignal }): Promise<Link>;
  /** Called for an uncaught error of its library, which is then restarted. */
  failed(error: unknown): void;
  /** Ends every link and releases the adapter. */
  close(): Promise<void>;
}

export interface Advertisement {
  id: string;
  /** Lower case, with colons; on systems that hide it, their substitute. */
  address: string;
  /** On one line, without control characters; empty: unknown. */
  name: string;
  /** With or without dashes. */
  serviceUuids: string[];
  /** Company number (little-endian) and its data; null: none. */
  manufacturerData: Uint8Array | null;
  /** dBm. */
  rssi: number;
  /** Whether it has authenticated to this bridge, and need not be paired. */
  isAdmitted?: boolean;
}

/** Whether the radio can be used. Any state but `ready` has a hint. */
export interface RadioState {
  name: 'starting' | 'ready' | 'off' | 'unauthorized' | 'unsupported' | 'closed';
  /** Remedy for people; empty: none is needed. */
  hint: string;
}

/** Report of a malformed packet. `count`: number of its kind so far. */
export interface ToldFault {
  kind: string;
  problem: string;
  /** Address of an unknown device, or name of a connected one; null: unknown. */
  from: string | null;
  count: number;
}
export type OnFault = (fault: ToldFault) => void;

export interface RadioCounts {
  /** Packets that were withheld from the library, by kind. */
  malformed: Partial<Record<string, number>>;
  /** Restarts of the library after failures. */
  restarts: number;
}
