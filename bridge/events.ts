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
  /** A packet that breaks the format of Bluetooth came in and was ignored; at most one a minute of each kind. */
  | ({ event: 'malformed' } & ToldFault)
  | { event: 'connected'; device: string; stream: string; received: number }
  | { event: 'disconnected'; device: string; code: number; reason: string; retryInMs: number }
  /** From core: transcript segments, and its other messages, whose `type` is then the event's name. */
  | { event: 'segments'; device: string; segments: WireSegment[] }
  | FromCore<ServerEvent>
  /** At most once a minute, when something has changed; and at the end. */
  | ({ event: 'counts' } & Counts);

export interface Counts {
  /** `oldestMs`: age of the oldest audio that core has not confirmed; null: it has all. */
  spool: { bytes: number; oldestMs: number | null; dropped: number; droppedMs: number; damaged: number };
  photos: PhotoCounts;
  /** Connections to core that were made, and those that failed: refused, or broken before their end. */
  core: { connections: number; failures: number };
  /** Malformed packets by kind, and how often the Bluetooth library had to be started again. */
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
  /** Percent; null where the device does not tell. */
  battery: number | null;
  /** Why it is in this state, where that needs a word. */
  reason: string | null;
  /** Where it is connected again: how long it was not. */
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
  /** Now: connected, and listened to. */
  streaming: boolean;
  /** And it sends nothing. */
  quiet: boolean;
  /** Times that it was connected. */
  connections: number;
  /** Time between connections, up to now: nothing of that is a lost packet. */
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
