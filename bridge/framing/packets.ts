import type { Decoded, PacketCounts, PacketDecoder } from '../driver.ts';
import { createNumbering, type Packet } from './numbering.ts';

export interface AssemblerOptions {
  /** Takes a notification apart; null: malformed. */
  parse: (packet: Uint8Array) => Packet | null;
  /** May a frame be handed on as soon as its first packet is there? Else it waits for the packet after it. */
  atOnce: boolean;
  /** Longest frame in bytes; what grows past it is malformed. */
  maxFrameBytes: number;
  /** How many running numbers there are; default 65,536. */
  ids?: number | undefined;
}

type Frames = Decoded['frames'];

/** A frame under way: its pieces, and its number. */
interface Partial {
  pieces: Uint8Array[];
  bytes: number;
  frame: number;
}

export const noCounts = (): PacketCounts => ({
  packets: 0,
  frames: 0,
  lost: 0,
  duplicates: 0,
  malformed: 0,
  resets: 0,
});

/**
 * Frames out of numbered packets with fragments, for codecs that need a frame whole: the loss of a fragment costs its
 * frame. There is no mark on a frame's last fragment, so a frame is known to be whole when the next one begins; `atOnce`
 * hands on single packets without that wait, until the device is seen to use fragments after all.
 */
export function createAssembler({ parse, atOnce, maxFrameBytes, ids }: AssemblerOptions): PacketDecoder {
  const counts = noCounts();
  const numbering = createNumbering(counts, { ids });
  let partial: Partial | null = null;
  let lastFrame: number | null = null; // handed on last
  let broken = false; // something was lost since then
  let uncounted = 0; // frames lost that numbers cannot tell, because the counting began anew
  let forwarded = false; // the frame begun last was handed on at once
  let holds = !atOnce;

  function push(bytes: Uint8Array): Decoded {
    counts.packets += 1;
    const packet = parse(bytes);
    if (!packet) return malformed();
    const frames: Frames = [];
    const step = numbering.next(packet, bytes);
    if (!step) return { frames };
    if (step.restarted) restart();
    else if (!step.follows) drop();
    if (packet.fragment === 0) begin(packet, step.frame, frames);
    else extend(packet);
    return { frames };
  }

  function restart(): void {
    if (partial) uncounted += 1;
    partial = null;
    lastFrame = null;
    broken = false;
    forwarded = false;
  }

  function drop(): void {
    partial = null;
    broken = true;
    forwarded = false;
  }

  function begin({ payload }: Packet, frame: number, frames: Frames): void {
    if (partial) complete(partial, frames);
    partial = null;
    forwarded = false;
    if (payload.length === 0 || payload.length > maxFrameBytes) {
      counts.malformed += 1;
      broken = true;
      return;
    }
    const next = { pieces: [new Uint8Array(payload)], bytes: payload.length, frame };
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
      if (!broken && lastFrame !== null) counts.malformed += 1; // not so when we came in the middle of a frame
      broken = true;
      return;
    }
    if (fragment !== partial.pieces.length || partial.bytes + payload.length > maxFrameBytes) {
      counts.malformed += 1;
      drop();
      return;
    }
    partial.pieces.push(new Uint8Array(payload));
    partial.bytes += payload.length;
  }

  function complete({ pieces, frame }: Partial, frames: Frames): void {
    // Before the first frame nothing was promised.
    const lostBefore = uncounted + (lastFrame === null ? 0 : Math.max(0, frame - lastFrame - 1));
    counts.lost += lostBefore;
    counts.frames += 1;
    lastFrame = frame;
    broken = false;
    uncounted = 0;
    frames.push({
      bytes: pieces.length === 1 ? (pieces[0] ?? new Uint8Array()) : Buffer.concat(pieces),
      lostBefore,
    });
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
