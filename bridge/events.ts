import type { ServerEvent, WireSegment } from '../core/listen/protocol.ts';
import type { Button, Sink } from './driver.ts';
import type { RadioCounts, ToldFault } from './radio.ts';
import type { PhotoCounts } from './spool/photos.ts';

/** Events of the bridge: one JSON object per line with `--json`. */
export type BridgeEvent =
  | { event: 'radio'; state: string; hint: string }
  | DeviceEvent
  | { event: 'button'; device: string; button: Button }
  /** Progress of fetching audio that a wearable recorded out of reach. */
  | { event: 'stored_audio'; device: string; bytes: number; ofBytes: number }
  /** A wearable sent a photo, which is on disk now. */
  | { event: 'photo'; device: string; bytes: number }
  /** Facts that a wearable reports about itself; unknown ones are absent. */
  | ({ event: 'about'; device: string } & Parameters<Sink['about']>[0])
  /** A malformed Bluetooth packet was ignored; at most one event a minute of each kind. */
  | ({ event: 'malformed' } & ToldFault)
  | { event: 'connected'; device: string; stream: string; received: number }
  | { event: 'disconnected'; device: string; code: number; reason: string; retryInMs: number }
  /** Messages of core: transcript segments and others. Their `type` is the name of the event. */
  | { event: 'segments'; device: string; segments: WireSegment[] }
  | FromCore<ServerEvent>
  /** Counts, at most once a minute, if something has changed, and at the end. */
  | ({ event: 'counts' } & Counts);

export interface Counts {
  /** `oldestMs`: age of the oldest audio that core has not confirmed; null: none. */
  spool: { bytes: number; oldestMs: number | null; dropped: number; droppedMs: number; damaged: number };
  photos: PhotoCounts;
  /** Connections to core, and failed ones: refused or lost. */
  core: { connections: number; failures: number };
  /** Malformed packets by kind, and restarts of the Bluetooth library. */
  radio: RadioCounts;
  devices: DeviceCounts[];
}

export interface DeviceEvent {
  event: 'device';
  name: string;
  address: string;
  /** `quiet`: connected, and it sends nothing. */
  state: 'streaming' | 'quiet' | 'disconnected' | 'unfit';
  codec: string | null;
  /** Percent; null: not reported. */
  battery: number | null;
  /** Reason for its state, if it needs an explanation. */
  reason: string | null;
  /** After a reconnection: the time without connection. */
  awayMs: number | null;
}

type FromCore<Message extends { type: string }> = Message extends { type: infer Type }
  ? NamedBy<Type, Message>
  : never;
/** One event for each name that a message may have. */
type NamedBy<Type, Message> = Type extends string
  ? { event: Type; device: string } & Omit<Message, 'type'>
  : never;

/** Packets of one wearable since it was first seen. */
export interface DeviceCounts {
  name: string;
  /** Whether it is connected and subscribed. */
  streaming: boolean;
  /** Whether it sends nothing. */
  quiet: boolean;
  /** Number of connections. */
  connections: number;
  /** Time between connections, up to now; `lost` does not include it. */
  notConnectedMs: number;
  packets: number;
  frames: number;
  /** Frames missing within connections. */
  lost: number;
  duplicates: number;
  malformed: number;
  resets: number;
}

export type OnEvent = (event: BridgeEvent) => void;

/** Returns a function that passes counts on to `report`, unless only the time without connection has changed. */
export function changedCounts(before: Counts, report: (counts: Counts) => void): (counts: Counts) => void {
  const comparable = ({ devices, ...counts }: Counts) =>
    JSON.stringify({ ...counts, devices: devices.map(device => ({ ...device, notConnectedMs: 0 })) });
  let reported = comparable(before);
  return counts => {
    const now = comparable(counts);
    if (now === reported) return;
    reported = now;
    report(counts);
  };
}
