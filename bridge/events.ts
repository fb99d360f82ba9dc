import type { ServerEvent, WireSegment } from '../core/listen/protocol.ts';

/** What the bridge tells: one JSON object a line with `--json`. */
export type BridgeEvent =
  | { event: 'radio'; state: string; hint: string }
  | {
      event: 'device';
      name: string;
      address: string;
      state: 'streaming' | 'disconnected' | 'unfit';
      codec: string | null;
      /** Percent; null where the device does not tell. */
      battery: number | null;
      /** Why it is in this state, where that needs a word. */
      reason: string | null;
    }
  | { event: 'connected'; device: string; stream: string; received: number }
  | { event: 'disconnected'; device: string; code: number; reason: string; retryInMs: number }
  /** From core: transcript segments, and its other messages, whose `type` is then the event's name. */
  | { event: 'segments'; device: string; segments: WireSegment[] }
  | FromCore<ServerEvent>
  | {
      event: 'counts';
      /** `oldestMs`: age of the oldest audio that core has not confirmed; null: it has all. */
      spool: { bytes: number; oldestMs: number | null; dropped: number; droppedMs: number; damaged: number };
      /** Connections to core that were made, and those that failed: refused, or broken before their end. */
      core: { connections: number; failures: number };
      devices: DeviceCounts[];
    };

type FromCore<Message extends { type: string }> = Message extends { type: infer Type }
  ? { event: Type; device: string } & Omit<Message, 'type'>
  : never;

/** Packets of one wearable since it was first seen. */
export interface DeviceCounts {
  name: string;
  /** Now. */
  streaming: boolean;
  /** Times that it began to stream. */
  connections: number;
  packets: number;
  frames: number;
  lost: number;
  duplicates: number;
  malformed: number;
  resets: number;
}

export type OnEvent = (event: BridgeEvent) => void;
