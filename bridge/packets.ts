import type { Decoded, PacketCounts } from './driver.ts';

/** One notification, taken apart by a driver. */
export interface Packet {
  /** Running number of the notification, 16 bits. */
  id: number;
  /** Position within its frame; 0 begins one. */
  fragment: number;
  payload: Uint8Array;
}

export interface AssemblerOptions {
  /** Takes a notification apart; null: malformed. */
  parse: (packet: Uint8Array) => Packet | null;
  /** May a frame be handed on as soon as its first packet is there? Else it waits for the packet after it. */
  atOnce: boolean;
  /** Longest frame in bytes; what grows past it is malformed. */
  maxFrameBytes: number;
}

export interface Assembler {
  push(packet: Uint8Array): Decoded;
  flush(): Decoded;
  readonly counts: PacketCounts;
}

type Frames = Decoded['frames'];

/** A frame under way: its pieces, and the running position of its first packet. */
interface Partial {
  pieces: Uint8Array[];
  bytes: number;
  nextFragment: number;
  start: number;
}

const IDS = 0x10000;

/**
 * Frames out of numbered packets with fragments. There is no mark on a frame's last fragment, so a frame is known to be
 * whole when the next one begins; `atOnce` hands on single packets without that wait, until the device is seen to use
 * fragments after all. All counting is modulo 65536. Lost frames are told by position: packets since the last whole
 * frame over packets per frame, which is exact when all frames have equally many.
 */
export function createAssembler({ parse, atOnce, maxFrameBytes }: AssemblerOptions): Assembler {
  const counts: PacketCounts = { packets: 0, frames: 0, lost: 0, duplicates: 0, malformed: 0, resets: 0 };
  let last: { bytes: Uint8Array; id: number } | null = null;
  let position = 0; // of the packet, counted on over wraps
  let partial: Partial | null = null;
  let lastStart: number | null = null; // of the last frame handed on
  let packetsPerFrame = 1;
  let broken = false; // something was lost since then
  let uncounted = 0; // frames lost that positions cannot tell, because the counting began anew
  let forwarded = false; // the frame begun last was handed on at once
  let holds = !atOnce;

  function push(bytes: Uint8Array): Decoded {
    counts.packets += 1;
    const packet = parse(bytes);
    if (!packet) return malformed();
    const frames: Frames = [];
    if (!follow(packet, bytes)) return { frames };
    if (packet.fragment === 0) begin(packet, frames);
    else extend(packet);
    return { frames };
  }

  /** Where the packet stands after the last one. False: it is that one again. */
  function follow({ id, fragment }: Packet, bytes: Uint8Array): boolean {
    const step = last ? (id - last.id + IDS) % IDS : 1;
    if (last && step === 0 && same(last.bytes, bytes)) {
      counts.duplicates += 1;
      return false;
    }
    const isLegacyFragment = step === 0 && partial !== null && fragment === partial.nextFragment;
    if (!isLegacyFragment && (step === 0 || step >= IDS / 2)) restart();
    else if (step > 1) drop();
    const isFirst = last === null;
    if (!isFirst) position += isLegacyFragment || step >= IDS / 2 ? 1 : Math.max(1, step);
    last = { id, bytes: new Uint8Array(bytes) };
    return true;
  }

  /** The device's counter began again: nothing can be said about how much is missing. */
  function restart(): void {
    counts.resets += 1;
    if (partial) uncounted += 1;
    partial = null;
    lastStart = null;
    broken = false;
    forwarded = false;
  }

  function drop(): void {
    partial = null;
    broken = true;
    forwarded = false;
  }

  function begin({ payload }: Packet, frames: Frames): void {
    if (partial) complete(partial, frames);
    partial = null;
    forwarded = false;
    if (payload.length === 0 || payload.length > maxFrameBytes) {
      counts.malformed += 1;
      broken = true;
      return;
    }
    const next = {
      pieces: [new Uint8Array(payload)],
      bytes: payload.length,
      nextFragment: 1,
      start: position,
    };
    if (holds) {
      partial = next;
      return;
    }
    forwarded = true;
    complete(next, frames);
  }

  function extend({ fragment, payload }: Packet): void {
    if (forwarded) {
      // The first fragment went out as if it were a frame: from now on frames wait until they are whole.
      holds = true;
      forwarded = false;
      counts.malformed += 1;
      return;
    }
    if (!partial) {
      if (!broken && lastStart !== null) counts.malformed += 1; // not so when we came in the middle of a frame
      broken = true;
      return;
    }
    if (fragment !== partial.nextFragment || partial.bytes + payload.length > maxFrameBytes) {
      counts.malformed += 1;
      drop();
      return;
    }
    partial.pieces.push(new Uint8Array(payload));
    partial.bytes += payload.length;
    partial.nextFragment += 1;
  }

  function complete({ pieces, start, nextFragment }: Partial, frames: Frames): void {
    const lostBefore = uncounted + lostUntil(start);
    counts.lost += lostBefore;
    counts.frames += 1;
    packetsPerFrame = nextFragment;
    lastStart = start;
    broken = false;
    uncounted = 0;
    frames.push({
      bytes: pieces.length === 1 ? (pieces[0] ?? new Uint8Array()) : Buffer.concat(pieces),
      lostBefore,
    });
  }

  function lostUntil(start: number): number {
    if (!broken) return 0;
    if (lastStart === null) return 0; // before the first frame nothing was promised
    return Math.max(1, Math.round((start - lastStart) / packetsPerFrame) - 1);
  }

  function malformed(): Decoded {
    counts.malformed += 1;
    return { frames: [] };
  }

  return {
    push,
    flush() {
      const frames: Frames = [];
      if (partial) complete(partial, frames);
      partial = null;
      return { frames };
    },
    counts,
  };
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
