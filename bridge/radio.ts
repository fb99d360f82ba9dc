import type { Link } from './link.ts';

/**
 * A way to reach wearables, with a time limit on everything. Drivers know it only as the `Link` to their device. What
 * implements it is in `radios/`.
 */
export interface Radio {
  readonly state: RadioState;
  readonly counts: Readonly<RadioCounts>;
  /** The present state, then every change, until `close`. */
  states(): AsyncIterable<RadioState>;
  /** Sightings of devices, again and again, until aborted. Pauses by itself while a connection is being made. */
  scan(signal: AbortSignal): AsyncIterable<Advertisement>;
  /** Connects to a device seen by `scan`. One at a time; others wait. Rejects when it does not answer in time. */
  connect(id: string, options: { signal: AbortSignal }): Promise<Link>;
  /** Its library threw where nobody could catch it: it is started again. */
  failed(error: unknown): void;
  /** Ends every link and lets go of the adapter. */
  close(): Promise<void>;
}

export interface Advertisement {
  id: string;
  /** Lower case, with colons; on systems that hide it, what they give instead. */
  address: string;
  /** On one line, without control characters; empty where the device does not tell. */
  name: string;
  /** With or without dashes. */
  serviceUuids: string[];
  /** The company's number (little-endian), and its data; null: none. */
  manufacturerData: Uint8Array | null;
  /** dBm. */
  rssi: number;
  /** It has proved that it belongs to this bridge: no list of wearables needs to name it. */
  isAdmitted?: boolean;
}

/** Whether the radio can be used; anything but `ready` comes with the way out, in words. */
export interface RadioState {
  name: 'starting' | 'ready' | 'off' | 'unauthorized' | 'unsupported' | 'closed';
  /** For people; empty where there is nothing to do. */
  hint: string;
}

/** A malformed packet that was told of; `count`: how many of its kind there were by then. */
export interface ToldFault {
  kind: string;
  problem: string;
  /** Address of a stranger, or name of a connected device; null: it cannot be told. */
  from: string | null;
  count: number;
}
export type OnFault = (fault: ToldFault) => void;

export interface RadioCounts {
  /** Packets that the library was not given, by kind. */
  malformed: Partial<Record<string, number>>;
  /** Times that the library was started again after a failure. */
  restarts: number;
}
