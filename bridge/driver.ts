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
  /** Shown to people. */
  title: string;
  /** Source that core stores; absent: `name`. An unknown source becomes `unknown` in core. */
  source?: string;
  /** Assumptions that were not confirmed on a device; shown to people with each such device. */
  inferred?: readonly string[];
  match: Match;
  /**
   * Characteristics that `run` may write; the link refuses all others. Those written by the steps, the time and the
   * keep-alive of a stream count as declared. A characteristic that updates firmware or wipes the device is refused at
   * the start.
   */
  writes?: readonly Writable[];
  /** Settings and actions of the device for people; their writes count as declared. */
  controls?: readonly Control[];
  needs?: {
    /** The device only answers a bonded host. People are told so when it refuses. */
    bonding?: 'required';
  };
  /** Stream of a device that sends audio once it is subscribed to. Absent: `run` does everything. */
  stream?: Stream;
  /**
   * For packets that no `framing` describes: creates a decoder for each connection, in place of `stream.framing`.
   * @param link `mtu`: the ATT MTU of that connection
   */
  createDecoder?(format: WireFormat, link: { mtu: number }): PacketDecoder;
  /**
   * The conversation with the device, from its connection on. The connection ends when it resolves. It rejects with
   * `session.unfit(…)` if the device is unsuitable. Absent: `session.listen(stream)`.
   */
  run?(session: Session): Promise<void>;
}

// ── recognising ─────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Match {
  /** Any of these, as far as an advertisement shows. */
  advertised: readonly Advertised[];
  /** All of these, which are checked after connecting. */
  confirm: readonly Confirmed[];
  /**
   * The highest rank wins where several drivers match. Absent: 0, and 100 for a driver that the configuration names.
   */
  rank?: number;
}

/** Every given field must match. */
export interface Advertised {
  serviceUuid?: string;
  /** The whole name, case-insensitive. */
  name?: string;
  namePrefix?: string;
  /** Bluetooth SIG company number, and the first bytes of its data in hex. */
  manufacturer?: { id: number; prefix?: string };
}

export interface Confirmed extends Ref {
  /** All of these. */
  properties?: readonly Property[];
  /** This must be absent. */
  absent?: true;
}

/** A characteristic. */
export interface Ref {
  service: string;
  characteristic: string;
}

export type Property = 'read' | 'write' | 'writeWithoutResponse' | 'notify' | 'indicate';

export interface Writable extends Ref {
  /** Allowed first bytes; absent: any. */
  first?: readonly number[];
  /** The write allows the device to delete audio: the link delays it until all stored audio is on disk. */
  releases?(bytes: Uint8Array): boolean;
}

/** A byte that people can have written, where the device has the characteristic. */
export interface Control extends Ref {
  /** Unique in the driver, kebab-case: `led`. */
  name: string;
  /** Shown to people. */
  title: string;
  /** `setting`: stored, and written again after each connection; `action`: done once. */
  kind: 'setting' | 'action';
  /** Allowed bytes: a range, or names and the bytes that they stand for. */
  values: { min: number; max: number } | Readonly<Record<string, number>>;
  /** Bit of a little-endian feature mask: if the mask can be read and the bit is 0, the device does not have this. */
  feature?: Ref & { bit: number };
}

// ── level 1: a declaration ──────────────────────────────────────────────────────────────────────────────────────────

export interface Stream {
  /** Characteristic whose notifications carry audio. */
  audio: Ref;
  /**
   * A fixed format, or a byte that the device provides (`at`; default 0) and the formats that its values mean; other
   * values are refused by name.
   */
  format: WireFormat | ReadFormat;
  /** Absent only where the driver has `createDecoder`. */
  framing?: Framing;
  /** Minimum ATT MTU with which the device sends audio. */
  minMtu?: number;
  /** Steps after subscribing, in order. */
  start?: readonly Step[];
  /** Steps before the bridge ends the connection; skipped when the link is lost. */
  stop?: readonly Step[];
  keepAlive?: { everyMs: number; step: WriteStep };
  /** Battery level in percent, read and subscribed to; a device may refuse it. */
  battery?: Ref & { at?: number };
  /** Current time, written right after connecting, where the device has the characteristic. */
  time?: Ref & { unit: 's' | 'ms'; bytes: 4 | 8; endian?: Endian };
  buttons?: readonly ButtonSource[];
}

export interface ReadFormat {
  from: Ref;
  at?: number;
  values: Readonly<Record<number, WireFormat>>;
}

/** Coding of frames. The bridge converts `mulaw` and `ima-adpcm` to `pcm16`; other codecs reach core unchanged. */
export interface WireFormat {
  /** `pcm16` `pcm8` `mulaw` `ima-adpcm` `opus` `opus_fs320` `aac` `lc3_fs1030` */
  codec: string;
  /** Sample rate in Hz. */
  sampleRate: number;
  /** Duration of one frame, also of a lost one. */
  frameMs: number;
  /**
   * Variant of `ima-adpcm`. `state`: the predictor continues from the last frame, or starts from the frame's first 4
   * bytes.
   */
  adpcm?: { state?: 'kept' | 'in-frame'; nibbles?: 'low-first' | 'high-first' };
}

/** Arrangement of frames in notifications. `header` and `trailer`: bytes to drop from each notification. */
export type Framing = (
  | CountedFraming
  /** Frames of one length, several in a notification. `across`: frames may continue in the next notification. */
  | { kind: 'fixed'; frameBytes: number; across?: boolean }
  /** The length precedes each frame. */
  | { kind: 'length-prefixed'; bytes: 1 | 2; endian?: Endian }
  /** AAC with ADTS headers, anywhere in the notifications. */
  | { kind: 'adts' }
  /** Samples without frames, passed on in pieces of `frameBytes`. */
  | { kind: 'raw'; frameBytes: number }
) & {
  header?: number;
  trailer?: number;
  /** First bytes of a frame; a frame with others is malformed. */
  first?: readonly number[];
};

/** Every notification has a sequence number, so that losses are known exactly. */
export interface CountedFraming {
  kind: 'counted';
  counter: {
    at: number;
    bits: 4 | 8 | 16 | 32;
    /** Shift of a field of 4 bits within its byte. */
    shift?: number;
    endian?: Endian;
    /** Unit of the sequence number. */
    per: 'packet' | 'frame';
  };
  /** Position of a notification within its frame, from 0. Absent: each notification holds whole frames. */
  fragment?: Field;
  /** Number of notifications in a frame. Absent: a frame ends where the next one begins. */
  fragments?: Field;
  /** A notification holds several frames of this many bytes. */
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
/** `response`: whether the device confirms the write; default: if it can. `optional`: the device may lack it. */
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
  /** Returns the incomplete frame at the end of the connection. */
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
  /** The device's counter has restarted. */
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
  /** Persistent small values of this device: the progress of a download, the position in a ring. */
  memory: DriverMemory;
  /** Runs the declared `stream` until the link is gone, and then resolves. */
  listen(stream: Stream): Promise<void>;
  /** Error to throw where the device is not usable, and trying again soon would not help. */
  unfit(reason: string): Error;
}

/** Must not contain audio, text or keys. */
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
 * One connection. Every call has a time limit; a call that the device does not answer ends the connection, unless it
 * is `optional`: then the result is undefined.
 */
export interface DeviceLink {
  /** Agreed ATT MTU; a notification or a write holds three bytes less. */
  readonly mtu: number;
  /** Empty: the device does not have it. */
  properties(ref: Ref): Promise<ReadonlySet<Property>>;
  read(ref: Ref, options?: { optional?: false }): Promise<Uint8Array>;
  read(ref: Ref, options: { optional: boolean }): Promise<Uint8Array | undefined>;
  /** Rejects with the reason when `writes` does not declare it. `response`: default, if the device can. */
  write(ref: Ref, bytes: Uint8Array, options?: { response?: boolean }): Promise<void>;
  /**
   * Yields every notification from the subscription on, and ends with the link. Undefined: it is `optional`, and the
   * device lacks it.
   */
  notifications(ref: Ref, options?: { optional?: false }): Promise<AsyncIterable<Notification>>;
  notifications(ref: Ref, options: { optional: boolean }): Promise<AsyncIterable<Notification> | undefined>;
  /**
   * Writes, and resolves with the first matching notification of `on`, which may arrive before the write is
   * confirmed.
   */
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
  /** `quiet`: the microphone is asleep; `muted`: it is switched off. Neither counts as a fault. */
  state(state: 'listening' | 'quiet' | 'muted'): void;
  /** Resolves when it is on disk. `quarterTurns`: clockwise rotations that make it upright. */
  photo(jpeg: Uint8Array, about: { atMs: number; quarterTurns: 0 | 1 | 2 | 3 }): Promise<void>;
  /** Progress of a download of stored audio, as far as the device reports it. */
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
