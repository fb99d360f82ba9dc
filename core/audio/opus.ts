import { Decoder as Opus } from '@evan/opus/wasm/index.mjs';
import type { Decoder } from './codecs.ts';
import { concatSamples, SAMPLE_RATE } from './pcm.ts';

const MAX_PACKET_MS = 120;
/** Bits of a packet's first byte that give the number of frames; 0: one frame. */
const FRAME_COUNT_CODE = 3;

/**
 * Decodes one Opus packet per message; stereo packets are mixed to mono. Uses WebAssembly rather than the
 * package's native build, so that no input can crash the process.
 * @param frameMs expected duration of a packet of this stream
 */
export function createOpusDecoder(frameMs: number): Decoder {
  const opus = new Opus({ channels: 1, sample_rate: SAMPLE_RATE });
  let usualMs = frameMs;
  let lastMs = frameMs;
  /**
   * A packet of the same kind as the last one with a single empty frame: the codec conceals one frame of that
   * length.
   */
  let lostFrame: Uint8Array | null = null;
  let open = true;

  function concealFrame(): Int16Array | null {
    return lostFrame && tryDecode(opus, lostFrame);
  }

  /**
   * Returns the duration of a broken packet: what its header says if the stream has packets of that duration,
   * else the usual one.
   */
  function lostMs(packet: Uint8Array): number {
    const said = packetMs(packet);
    return said === frameMs ? said : usualMs;
  }

  return {
    decode(packet) {
      if (!open) throw new Error('The decoder is closed'); // copied, because the codec reuses its memory
      // The codec takes an empty packet for a loss, and would make up to 360 ms of sound for it.
      if (packet.length === 0) return { pcm: new Int16Array(0), bad: 1 };
      const pcm = tryDecode(opus, packet);
      if (!pcm) return { pcm: new Int16Array((lostMs(packet) * SAMPLE_RATE) / 1000), bad: 1 };
      const ms = toMs(pcm);
      if (ms === lastMs) usualMs = ms; // noise that happens to decode does not do so twice in a row
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

/** Returns null where it is no packet, or its length contradicts its header. */
function tryDecode(opus: Opus, packet: Uint8Array): Int16Array | null {
  try {
    const pcm = new Int16Array(opus.decode(packet).buffer);
    return toMs(pcm) === packetMs(packet) ? pcm : null;
  } catch {
    return null; // the caller counts it; the codec tells nothing more
  }
}

/** Frame lengths of SILK (configurations 0 to 11), hybrid (12 to 15) and CELT (16 to 31), RFC 6716 section 3.1. */
const SILK_MS = [10, 20, 40, 60];
const HYBRID_MS = [10, 20];
const CELT_MS = [2.5, 5, 10, 20];

/** Returns the duration that a packet's header gives; null where that is impossible. */
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
