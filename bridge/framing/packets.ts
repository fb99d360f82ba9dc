import type { Decoded, PacketCounts, PacketDecoder } from '../driver.ts';
import { createNumbering, type Packet } from './numbering.ts';

export interface AssemblerOptions {
  /** Parses a notification; null: malformed. */
  parse: (packet: Uint8Array) => Packet | null;
  /** Whether a frame may be passed on with its first packet; otherwise it waits for the packet after it. */
  atOnce: boolean;
  /** Maximum bytes of a frame; a longer one is malformed. */
  maxFrameBytes: number;
  /** Range of the sequence numbers; default 65,536. */
  ids?: number | undefined;
}

type Frames = Decoded['frames'];

/** An incomplete frame: its pieces, and its number. */
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
 * Assembles frames from numbered packets with fragments, for codecs that need complete frames: if a fragment is lost, its frame
 * is. The last fragment of a frame has no mark, so a frame is complete when the next one starts. `atOnce` passes on single
 * packets without that wait, until the device uses fragments.
 */
export function createAssembler({ parse, atOnce, maxFrameBytes, ids }: AssemblerOptions): PacketDecoder {
  const counts = noCounts();
  const numbering = createNumbering(counts, { ids });
  let partial: Partial | null = null;
  let lastFrame: number | null = null; // passed on last
  let broken = false; // something was lost since then
  let uncounted = 0; // lost frames that numbers do not show, because the counter was restarted
  let forwarded = false; // the latest frame was passed on at once
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
      // The first fragment was passed on as a frame: from now on frames wait until they are complete.
      holds = true;
      forwarded = false;
      counts.malformed += 1;
      return;
    }
    if (!partial) {
      if (!broken && lastFrame !== null) counts.malformed += 1; // unless the connection started in the middle of a frame
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
    // Losses before the first frame do not count.
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
