import type { PacketCounts } from '../driver.ts';

/** One notification, taken apart by a driver. */
export interface Packet {
  /** Running number of the notification. */
  id: number;
  /** Position within its frame; 0 begins one. */
  fragment: number;
  payload: Uint8Array;
}

export interface Step {
  /** Counted on over wraps and losses. Exact where all frames have equally many packets. */
  frame: number;
  /** Nothing was lost just before it. */
  follows: boolean;
  /** The device's counter began again: how much is missing before it cannot be known. */
  restarted: boolean;
}

export interface Numbering {
  /** Where the packet stands behind the last one. Null: it is that one again. */
  next(packet: Packet, bytes: Uint8Array): Step | null;
  /** Old firmware gives all fragments of a frame the same number: the loss of its last ones does not show in it. */
  readonly numbersFrames: boolean;
}

/** How many numbers there are before they begin again. */
const USUAL_IDS = 0x10000;
/** With fewer numbers, a loss of half of them is likelier than a device that began anew. */
const MIN_IDS_FOR_RESET = 0x10000;

/**
 * Follows the running numbers of one connection, modulo `ids`. Counts duplicates and resets.
 * @param packetsPerFrame absent: as many as the last frame had
 */
export function createNumbering(
  counts: PacketCounts,
  { packetsPerFrame, ids = USUAL_IDS }: { packetsPerFrame?: () => number; ids?: number | undefined } = {},
): Numbering {
  const isBehind = (ahead: number) => ids >= MIN_IDS_FOR_RESET && ahead >= ids / 2;
  let last: { bytes: Uint8Array; id: number; fragment: number } | null = null;
  let frame = 0;
  let lastFramePackets = 1;
  let numbersFrames = false;

  /** Frames from the last packet to this one, which is `ahead` numbers behind it. */
  function framesAhead(ahead: number, fragment: number, lastFragment: number): number {
    if (numbersFrames) return ahead;
    const least = fragment > lastFragment ? 0 : 1;
    const perFrame = packetsPerFrame?.() ?? lastFramePackets;
    if (ahead > 1) return Math.max(least, Math.round((ahead - fragment + lastFragment) / perFrame));
    if (fragment === 0) lastFramePackets = lastFragment + 1;
    return least;
  }

  function isNext(ahead: number, fragment: number, lastFragment: number): boolean {
    if (!numbersFrames) return ahead === 1;
    return ahead === 0 ? fragment === lastFragment + 1 : ahead === 1 && fragment === 0;
  }

  return {
    next({ id, fragment }, bytes) {
      const before = last;
      const ahead = before ? (id - before.id + ids) % ids : 1;
      if (before && ahead === 0 && same(before.bytes, bytes)) {
        counts.duplicates += 1;
        return null;
      }
      last = { bytes: new Uint8Array(bytes), id, fragment };
      if (!before) return { frame, follows: true, restarted: false };
      const sharesNumber = ahead === 0 && fragment > before.fragment;
      if (!sharesNumber && (ahead === 0 || isBehind(ahead))) {
        counts.resets += 1;
        frame += 1;
        return { frame, follows: false, restarted: true };
      }
      numbersFrames ||= sharesNumber;
      frame += framesAhead(ahead, fragment, before.fragment);
      const follows = isNext(ahead, fragment, before.fragment);
      return { frame, follows, restarted: false };
    },
    get numbersFrames() {
      return numbersFrames;
    },
  };
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
