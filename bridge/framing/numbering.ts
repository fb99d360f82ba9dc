import type { PacketCounts } from '../driver.ts';

/** A notification, parsed by a driver. */
export interface Packet {
  /** Sequence number of the notification. */
  id: number;
  /** Position within its frame; 0 starts a frame. */
  fragment: number;
  payload: Uint8Array;
}

export interface Step {
  /** Number of the frame, continued over wraps and losses. Exact if all frames have the same number of packets. */
  frame: number;
  /** Whether nothing was lost just before it. */
  follows: boolean;
  /** Whether the device's counter was restarted, so that the loss before it is unknown. */
  restarted: boolean;
}

export interface Numbering {
  /** Places a packet relative to the previous one. Null: it is a duplicate. */
  next(packet: Packet, bytes: Uint8Array): Step | null;
  /** Old firmware gives all fragments of a frame the same number, which hides the loss of the last ones. */
  readonly numbersFrames: boolean;
}

/** Range of the numbers, after which they start again. */
const USUAL_IDS = 0x10000;
/** Minimum range of numbers for which a large jump counts as a restart; in a smaller range it is more likely a loss. */
const MIN_IDS_FOR_RESET = 0x10000;

/**
 * Tracks the sequence numbers of one connection, modulo `ids`. Counts duplicates and resets.
 * @param packetsPerFrame absent: as in the previous frame
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

  /** Returns the number of frames between the previous packet and this one, which is `ahead` numbers later. */
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
