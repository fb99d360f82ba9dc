import type { Decoded, Endian, PacketDecoder } from '../driver.ts';
import { noCounts } from './packets.ts';

/** Extracts frames from one notification, or from the bytes of all of them. */
export interface Cutter {
  /** `rest`: bytes to keep for the next notification. `bad`: number of invalid places. */
  cut(bytes: Uint8Array): { frames: Uint8Array[]; rest: Uint8Array; bad: number };
  /** Whether a frame may continue in the next notification. */
  across: boolean;
}

const NOTHING = new Uint8Array();
/** Maximum bytes that wait for the rest of their frame. */
const MAX_WAITING_BYTES = 16 * 1024;

/** Creates a decoder for a device without sequence numbers, whose losses are not noticed. */
export function createPieces({ cut, across }: Cutter): PacketDecoder {
  const counts = noCounts();
  let waiting: Uint8Array = NOTHING;
  return {
    push(packet): Decoded {
      counts.packets += 1;
      const bytes = waiting.length === 0 ? packet : Buffer.concat([waiting, packet]);
      const { frames, rest, bad } = cut(bytes);
      const isKept = across && rest.length <= MAX_WAITING_BYTES;
      waiting = isKept ? new Uint8Array(rest) : NOTHING;
      counts.malformed += bad + (isKept || rest.length === 0 ? 0 : 1);
      counts.frames += frames.length;
      return { frames: frames.map(frame => ({ bytes: new Uint8Array(frame), lostBefore: 0 })) };
    },
    flush: () => ({ frames: [] }),
    counts,
  };
}

/** Frames of `frameBytes` bytes. */
export function fixedFrames(frameBytes: number, across: boolean): Cutter {
  return {
    across,
    cut(bytes) {
      const frames: Uint8Array[] = [];
      let at = 0;
      for (; at + frameBytes <= bytes.length; at += frameBytes)
        frames.push(bytes.subarray(at, at + frameBytes));
      return { frames, rest: bytes.subarray(at), bad: 0 };
    },
  };
}

/** Frames after their length in one or two bytes. A length beyond the end of the notification is malformed. */
export function prefixedFrames(lengthBytes: 1 | 2, endian: Endian): Cutter {
  const lengthAt = (bytes: Uint8Array, at: number) => {
    const [first = 0, second = 0] = bytes.subarray(at, at + lengthBytes);
    if (lengthBytes === 1) return first;
    return endian === 'le' ? first | (second << 8) : (first << 8) | second;
  };
  return {
    across: false,
    cut(bytes) {
      const frames: Uint8Array[] = [];
      let at = 0;
      while (at + lengthBytes <= bytes.length) {
        const from = at + lengthBytes;
        const to = from + lengthAt(bytes, at);
        if (to > bytes.length || to === from) break;
        frames.push(bytes.subarray(from, to));
        at = to;
      }
      return { frames, rest: bytes.subarray(at), bad: 0 };
    },
  };
}

const ADTS_HEADER_BYTES = 7;

/** AAC frames, by the length in their headers; bytes between them are skipped. */
export function adtsFrames(): Cutter {
  return {
    across: true,
    cut(bytes) {
      const frames: Uint8Array[] = [];
      let at = 0;
      let bad = 0;
      while (at < bytes.length) {
        const start = syncFrom(bytes, at);
        if (start > at) bad += 1;
        at = start;
        if (at + ADTS_HEADER_BYTES > bytes.length) break;
        const length = adtsLength(bytes, at);
        if (length < ADTS_HEADER_BYTES) {
          at += 1;
          continue;
        }
        if (at + length > bytes.length) break;
        frames.push(bytes.subarray(at, at + length));
        at += length;
      }
      return { frames, rest: bytes.subarray(at), bad };
    },
  };
}

/** Finds the sync word: twelve bits set, and layer 0. The last byte may be its beginning. */
function syncFrom(bytes: Uint8Array, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    if (bytes[at] !== 0xff) continue;
    const next = bytes[at + 1];
    if (next === undefined || (next & 0xf6) === 0xf0) return at;
  }
  return bytes.length;
}

function adtsLength(bytes: Uint8Array, at: number): number {
  const [high = 0, middle = 0, low = 0] = bytes.subarray(at + 3, at + 6);
  return ((high & 0x03) << 11) | (middle << 3) | (low >> 5);
}
