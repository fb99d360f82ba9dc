import type { Decoded, PacketDecoder } from '../driver.ts';
import { noCounts } from './packets.ts';

/** Minimum range of numbers for which a large jump counts as a restart; in a smaller range it is more likely a loss. */
const IDS_THAT_SHOW_RESETS = 0x10000;

/** A notification that contains the number of notifications of its frame. */
export interface CountedPart {
  /** Sequence number of the frame. */
  id: number;
  /** Position within the frame, from 0, and the number of its notifications. */
  part: number;
  parts: number;
  payload: Uint8Array;
}

/**
 * Assembles frames from notifications with the number of their frame, their position in it and their number. In a small range
 * of numbers, such as 16, a loss of so many frames is not noticed.
 */
export function createCountedFrames({
  parse,
  ids,
  maxFrameBytes,
}: {
  parse(packet: Uint8Array): CountedPart | null;
  ids: number;
  maxFrameBytes: number;
}): PacketDecoder {
  const counts = noCounts();
  /** The latest frame; `done`: it was passed on. */
  let current: { id: number; pieces: Uint8Array[]; parts: number; done: boolean } | null = null;
  let lastWhole: number | null = null;
  let last: Uint8Array | null = null;

  function push(packet: Uint8Array): Decoded {
    counts.packets += 1;
    const parsed = parse(packet);
    if (!parsed) return malformed();
    const { id, part, parts, payload } = parsed;
    if (last && Buffer.compare(last, packet) === 0) {
      counts.duplicates += 1;
      return { frames: [] };
    }
    last = new Uint8Array(packet);
    if (parts === 0 || part >= parts || payload.length === 0) return malformed();
    if (part === 0) current = { id, pieces: [], parts, done: false };
    if (!current || current.id !== id || current.pieces.length !== part || current.done) {
      current = null; // its beginning was lost
      return { frames: [] };
    }
    current.pieces.push(new Uint8Array(payload));
    return part === parts - 1 ? complete(current) : { frames: [] };
  }

  function complete(frame: NonNullable<typeof current>): Decoded {
    frame.done = true;
    const bytes = Buffer.concat(frame.pieces);
    if (bytes.length > maxFrameBytes) return malformed();
    const lostBefore = lostUpTo(frame.id);
    lastWhole = frame.id;
    counts.lost += lostBefore;
    counts.frames += 1;
    return { frames: [{ bytes, lostBefore }] };
  }

  function lostUpTo(id: number): number {
    if (lastWhole === null) return 0;
    const lost = (id - lastWhole - 1 + 2 * ids) % ids;
    if (ids < IDS_THAT_SHOW_RESETS || lost < ids / 2) return lost;
    counts.resets += 1;
    return 0;
  }

  function malformed(): Decoded {
    counts.malformed += 1;
    return { frames: [] };
  }

  return { push, flush: () => ({ frames: [] }), counts };
}
