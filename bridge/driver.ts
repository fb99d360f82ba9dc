/**
 * The contract of a wearable's driver: knowledge about one family of devices, as data and a pure decoder. Types only.
 * UUIDs are written as in the vendor's documents, with dashes; the radio normalises them.
 */

export interface Driver {
  /** Unique, kebab-case. */
  name: string;
  /** For people. */
  title: string;
  /** What core is told the audio comes from; absent: `name`. Core stores a source that it does not know as `unknown`. */
  source?: string;
  /** How a scan recognises it: any of these. `confirm`: a characteristic that must exist after connecting. */
  match: {
    serviceUuids?: string[];
    namePrefixes?: string[];
    confirm: { service: string; characteristic: string };
  };
  audio: {
    service: string;
    characteristic: string;
    /** Where the device says its codec, and what each value means; an unknown value is refused by name. */
    codec: { service: string; characteristic: string; values: Readonly<Record<number, WireFormat>> };
    /** The smallest ATT MTU with which the device sends audio at all. */
    minMtu: number;
  };
  /** Standard battery service, where the device has it. */
  battery?: { service: string; characteristic: string };
  /** One per connection; `mtu`: the ATT MTU of that connection. */
  createDecoder(format: WireFormat, link: { mtu: number }): PacketDecoder;
}

/** What `/v4/listen` is told about the audio. */
export interface WireFormat {
  codec: string;
  sampleRate: number;
  /** Duration of one frame: how long a lost one was. */
  frameMs: number;
}

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
