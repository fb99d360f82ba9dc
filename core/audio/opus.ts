import { Decoder as Opus } from '@evan/opus/wasm/index.mjs';
import type { Decoder } from './codecs.ts';
import { concatSamples, SAMPLE_RATE } from './pcm.ts';

const MAX_PACKET_MS = 120;
/** The bits of a packet's first byte that say how many frames follow; 0: one. */
const FRAME_COUNT_CODE = 3;

/**
 * One Opus packet per message. Stereo packets come out mixed to mono.
 * WASM, not the package's native build: whatever bytes arrive, they cannot take the process down.
 * @param frameMs what a packet of this stream should last
 */
export function createOpusDecoder(frameMs: number): Decoder {
  const opus = new Opus({ channels: 1, sample_rate: SAMPLE_RATE });
  let usualMs = frameMs;
  let lastMs = frameMs;
  /** A packet of the kind that came last, of one frame with nothing in it: the codec conceals one frame of that length. */
  let lostFrame: Uint8Array | null = null;
  let open = true;

  function concealFrame(): Int16Array | null {
    return lostFrame && tryDecode(opus, lostFrame);
  }

  /** How long a broken packet was meant to last: what it says if the stream has such packets, else what they last. */
  function lostMs(packet: Uint8Array): number {
    const said = packetMs(packet);
    return said === frameMs ? said : usualMs;
  }

  return {
    decode(packet) {
      if (!open) throw new Error('The decoder is closed'); // its memory may be another's by now
      // An empty one is a sign of loss to the codec, which would make up to 360 ms of sound for it.
      if (packet.length === 0) return { pcm: new Int16Array(0), bad: 1 };
      const pcm = tryDecode(opus, packet);
      if (!pcm) return { pcm: new Int16Array((lostMs(packet) * SAMPLE_RATE) / 1000), bad: 1 };
      const ms = toMs(pcm);
      if (ms === lastMs) usualMs = ms; // noise that happens to decode does not come twice
      lastMs = ms;
      lostFrame = Uint8Array.of((packet[0] ?? 0) & ~FRAME_COUNT_CODE);
      return { pcm, bad: 0 };
    },
    conceal(samples) {
      if (!open) throw new Error('The decoder is closed');
      const parts: Int16Array[] = [];
      for (let missing = samples; missing > 0; ) {
        const frame = concealFrame() ?? new Int16Array(missing);
        parts.push(frame.subarray(0, missing));
        missing -= frame.length;
      }
      return concatSamples(parts);
    },
    close() {
      open = false;
      opus.drop();
    },
  };
}

/** Null: it is no packet, or is one of a length that its first bytes do not say. */
function tryDecode(opus: Opus, packet: Uint8Array): Int16Array | null {
  try {
    const pcm = new Int16Array(opus.decode(packet).buffer);
    return toMs(pcm) === packetMs(packet) ? pcm : null;
  } catch {
    return null; // counted by the caller; there is nothing else to know about it
  }
}

/** Frame lengths of SILK (configurations 0 to 11), hybrid (12 to 15) and CELT (16 to 31), RFC 6716 section 3.1. */
const SILK_MS = [10, 20, 40, 60];
const HYBRID_MS = [10, 20];
const CELT_MS = [2.5, 5, 10, 20];

/** How long a packet says it is; null where it cannot be. */
export function packetMs(packet: Uint8Array): number | null {
  const [toc = 0, count = 0] = packet;
  const configuration = toc >> 3;
  const lengths = configuration < 12 ? SILK_MS : configuration < 16 ? HYBRID_MS : CELT_MS;
  const frameMs = lengths[configuration % lengths.length] ?? 0;
  const code = toc & FRAME_COUNT_CODE;
  const frames = code === 0 ? 1 : code < 3 ? 2 : count & 63;
  const ms = frames * frameMs;
  return ms > 0 && ms <= MAX_PACKET_MS ? ms : null;
}

function toMs(pcm: Int16Array): number {
  return (pcm.length * 1000) / SAMPLE_RATE;
}
