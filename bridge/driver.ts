/**
 * The contract of a wearable's driver, version 1. Types only.
 *
 * A driver is one value that says how a device is recognised, and how its audio arrives. What the tables of `stream`
 * can say, a YAML file can say, too. A device that needs a conversation has `run`: one async function over a narrow
 * link. Both are tested with recorded traces, see `earshot/conformance/driver`. Neither sees the Bluetooth library,
 * files, or the machine's clock.
 *
 * UUIDs are written as in the vendor's documents, with dashes. Times are UTC epoch milliseconds.
 */

export interface Driver {
  api: 1;
  /** Unique, kebab-case. */
  name: string;
  /** For people. */
  title: string;
  /** Source that core stores; absent: `name`. Core stores a source that it does not know as `unknown`. */
  source?: string;
  /** Assumptions that nobody has confirmed on a device; shown to people with each such device. */
  inferred?: readonly string[];
  match: Match;
  /**
   * Characteristics that `run` may write; the link refuses all others. Those written by the steps, the time and the
   * keep-alive of a stream count as declared. A characteristic that updates firmware or wipes the device is refused at
   * the start.
   */
  writes?: readonly Writable[];
  needs?: {
    /** The device answers a bonded host only. It is told to people when the device refuses. */
    bonding?: 'required';
  };
  /** Stream of a device that sends audio once it is subscribed to. Absent: `run` does everything. */
  stream?: Stream;
  /**
   * For packets that no `framing` describes: one decoder per connection. It takes the place of `stream.framing`.
   * @param link `mtu`: the ATT MTU of that connection
   */
  createDecoder?(format: WireFormat, link: { mtu: number }): PacketDecoder;
  /**
   * The conversation with the device, from its connection on. The connection ends when it resolves. It rejects with
   * `session.unfit(…)` when the device will not do. Absent: `session.listen(stream)`.
   */
  run?(session: Session): Promise<void>;
}

// ── recognising ─────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Match {
  /** Any of these, as far as an advertisement tells. */
  advertised: readonly Advertised[];
  /** All of these are looked for after connecting. */
  confirm: readonly Confirmed[];
  /** The highest wins where several drivers match. Absent: 0, and 100 for a driver that the configuration names. */
  rank?: number;
}

/** All that is given must fit. */
export interface Advertised {
  serviceUuid?: string;
  /** The whole name; upper and lower case are the same. */
  name?: string;
  namePrefix?: string;
  /** Bluetooth SIG company number, and the first bytes of its data in hex. */
  manufacturer?: { id: number; prefix?: string };
}

export interface Confirmed extends Ref {
  /** All of these. */
  properties?: readonly Property[];
  /** It must not be there. */
  absent?: true;
}

/** A characteristic. */
export interface Ref {
  service: string;
  characteristic: string;
}

export type Property = 'read' | 'write' | 'writeWithoutResponse' | 'notify' | 'indicate';

export interface Writable extends Ref {
  /** The first byte is one of these; absent: any. */
  first?: readonly number[];
  /** Such a write lets the device delete audio: the link keeps it back until all stored audio is on disk. */
  releases?(bytes: Uint8Array): boolean;
}

// ── level 1: a declaration ──────────────────────────────────────────────────────────────────────────────────────────

export interface Stream {
  /** Notifies of audio. */
  audio: Ref;
  /** One format, or a byte of the device (`at`; default 0) and what its values mean; another value is refused by name. */
  format: WireFormat | ReadFormat;
  /** Absent only where the driver has `createDecoder`. */
  framing?: Framing;
  /** The smallest ATT MTU with which the device sends audio at all. */
  minMtu?: number;
  /** After subscribing, in order. */
  start?: readonly Step[];
  /** Before the bridge ends the connection; without effect when the link is lost. */
  stop?: readonly Step[];
  keepAlive?: { everyMs: number; step: WriteStep };
  /** Percent, read and subscribed to; a device that refuses costs nothing. */
  battery?: Ref & { at?: number };
  /** Written right after connecting, where the device has it. */
  time?: Ref & { unit: 's' | 'ms'; bytes: 4 | 8; endian?: Endian };
  buttons?: readonly ButtonSource[];
}

export interface ReadFormat {
  from: Ref;
  at?: number;
  values: Readonly<Record<number, WireFormat>>;
}

/** How frames are coded. The bridge turns `mulaw` and `ima-adpcm` into `pcm16`; the others reach core as they are. */
export interface WireFormat {
  /** `pcm16` `pcm8` `mulaw` `ima-adpcm` `opus` `opus_fs320` `aac` `lc3_fs1030` */
  codec: string;
  /** Hz. */
  sampleRate: number;
  /** Duration of one frame: how long a lost one was. */
  frameMs: number;
  /**
   * Variant of `ima-adpcm`. `state`: where the predictor starts, as the last frame left it or in the frame's first 4
   * bytes.
   */
  adpcm?: { state?: 'kept' | 'in-frame'; nibbles?: 'low-first' | 'high-first' };
}

/** How frames lie in notifications. `header` and `trailer`: bytes that are dropped from each notification. */
export type Framing = (
  | CountedFraming
  /**
   * Frames of one length, several in a notification. `across`: they go on in the next notification, as if there were no
   * borders.
   */
  | { kind: 'fixed'; frameBytes: number; across?: boolean }
  /** Before each frame its length. */
  | { kind: 'length-prefixed'; bytes: 1 | 2; endian?: Endian }
  /** AAC that says its own length, anywhere in the notifications. */
  | { kind: 'adts' }
  /** Samples without frames, handed on in pieces of `frameBytes`. */
  | { kind: 'raw'; frameBytes: number }
) & {
  header?: number;
  trailer?: number;
  /** With which a frame begins; another one is malformed. */
  first?: readonly number[];
};

/** Every notification has a running number: losses are exact. */
export interface CountedFraming {
  kind: 'counted';
  counter: {
    at: number;
    bits: 4 | 8 | 16 | 32;
    /** Position of a field of 4 bits: its shift within the byte. */
    shift?: number;
    endian?: Endian;
    /** Unit that the number counts. */
    per: 'packet' | 'frame';
  };
  /** Position of a notification within its frame, from 0. Absent: each holds whole frames. */
  fragment?: Field;
  /** Notifications that a frame has. Absent: a frame ends where the next one begins. */
  fragments?: Field;
  /** A notification holds several frames, each of so many bytes. */
  frameBytes?: number;
}

/** Bits of one byte. */
export interface Field {
  at: number;
  mask?: number;
  shift?: number;
}

export type Endian = 'le' | 'be';
export type Step = WriteStep | { waitMs: number };
/** `response`: whether the device confirms it; default: if it can. `optional`: a device that lacks it is fine. */
export interface WriteStep {
  write: Ref;
  hex: string;
  response?: boolean;
  optional?: boolean;
}

export interface ButtonSource extends Ref {
  /** Offset of the number in the notification; default 0. */
  at?: number;
  type: 'u8' | 'i32le';
  map: Readonly<Record<number, Button>>;
}

export type Button = 'single' | 'double' | 'triple' | 'long' | 'press' | 'release';

/** Pure: notification bytes in, codec frames out. Never throws, whatever the bytes. */
export interface PacketDecoder {
  push(packet: Uint8Array): Decoded;
  /** The frame still held back, at the end of the connection. */
  flush(): Decoded;
  readonly counts: PacketCounts;
}

export interface Decoded {
  /**
   * Complete frames, in order; of PCM, also parts of frames. `lostBefore`: frames missing just before it, of `frameMs`
   * each; a fraction where a part of one is.
   */
  frames: { bytes: Uint8Array; lostBefore: number }[];
}

export interface PacketCounts {
  packets: number;
  frames: number;
  /** Frames known to be missing: the sum of all `lostBefore`. */
  lost: number;
  duplicates: number;
  malformed: number;
  /** The device's counter began again. */
  resets: number;
}

// ── level 2: a program ──────────────────────────────────────────────────────────────────────────────────────────────

export interface Session {
  link: DeviceLink;
  sink: Sink;
  /** `sleep` rejects when the connection ends. */
  clock: { now(): number; sleep(ms: number): Promise<void> };
  /** Aborted when the link is gone, or the bridge stops. */
  signal: AbortSignal;
  log: DriverLog;
  /** Small values of this one device, kept over restarts: where a download stands, the number of a ring. */
  memory: DriverMemory;
  /** Does what `stream` declares until the link is gone; resolves then. */
  listen(stream: Stream): Promise<void>;
  /** To be thrown: the device will not do, and trying again soon is no use. */
  unfit(reason: string): Error;
}

/** Never what was said, nor keys. */
export interface DriverLog {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

export interface DriverMemory {
  /** Undefined: never set. */
  get(key: string): unknown;
  /** JSON; all values of a device together stay below 64 kB. Resolves when it is on disk. */
  set(key: string, value: unknown): Promise<void>;
}

/**
 * One connection. Every call has a time limit; one that the device does not answer ends the connection, unless it is
 * `optional`: then a refusal or silence is undefined.
 */
export interface DeviceLink {
  /** Agreed ATT MTU; a notification or a write holds three bytes less. */
  readonly mtu: number;
  /** Empty: it is not there. */
  properties(ref: Ref): Promise<ReadonlySet<Property>>;
  read(ref: Ref, options?: { optional?: false }): Promise<Uint8Array>;
  read(ref: Ref, options: { optional: boolean }): Promise<Uint8Array | undefined>;
  /** Rejects with what is wrong when `writes` does not declare it. `response`: default, if the device can. */
  write(ref: Ref, bytes: Uint8Array, options?: { response?: boolean }): Promise<void>;
  /** From the subscription on, none lost in between. Ends with the link. Undefined: `optional`, and it is not there. */
  notifications(ref: Ref, options?: { optional?: false }): Promise<AsyncIterable<Notification>>;
  notifications(ref: Ref, options: { optional: boolean }): Promise<AsyncIterable<Notification> | undefined>;
  /** Writes, and resolves with the first notification of `on` that fits. It may come before the write is confirmed. */
  ask(
    ref: Ref,
    bytes: Uint8Array,
    answer: { on: Ref; accepts(bytes: Uint8Array): boolean; limitMs?: number; response?: boolean },
  ): Promise<Uint8Array>;
}

export interface Notification {
  bytes: Uint8Array;
  atMs: number;
}

export interface Sink {
  /** `live`: what is heard now. There is one at a time. */
  audio(format: WireFormat, kind: { live: true }): Track;
  /**
   * `live: false`: what the device recorded earlier. It reaches core beside the live audio, and never before it, as
   * conversations of the time at which it was spoken.
   */
  audio(format: WireFormat, kind: { live: false; startedAtMs: number }): Track;
  battery(percent: number | null): void;
  button(button: Button): void;
  /** `quiet`: the microphone sleeps; `muted`: it is switched off. Neither is a fault. */
  state(state: 'listening' | 'quiet' | 'muted'): void;
  /** Resolves when it is on disk. `quarterTurns`: clockwise, until it stands upright. */
  photo(jpeg: Uint8Array, about: { atMs: number; quarterTurns: 0 | 1 | 2 | 3 }): Promise<void>;
  /** How much of a download of stored audio is done, as far as the device tells. */
  progress(done: { bytes: number; ofBytes: number }): void;
  /** Reports facts about the device; null: not known. They are shown to people as they are. */
  about(facts: { firmware?: string | null; model?: string | null; storageFreeBytes?: number | null }): void;
  count(what: 'duplicate' | 'malformed' | 'reset', times?: number): void;
}

export interface Track {
  /** Never waits. `lostBefore`: frames known to be missing; `pauseMs`: time in which nothing was recorded. */
  frame(bytes: Uint8Array, about?: { lostBefore?: number; pauseMs?: number }): void;
  /**
   * Resolves when every frame so far is forced onto the disk: only then may the device be told to delete. It waits
   * while the spool is half full, and rejects when a frame could not be kept.
   */
  stored(): Promise<void>;
  end(): void;
}
