import type { CountedFraming, Decoded, Field, Framing, PacketDecoder, WireFormat } from '../driver.ts';
import { createCountedFrames } from './counted-frames.ts';
import type { Packet } from './numbering.ts';
import { createAssembler } from './packets.ts';
import { adtsFrames, type Cutter, createPieces, fixedFrames, prefixedFrames } from './pieces.ts';
import { createSampleAssembler } from './samples.ts';

const MAX_FRAME_BYTES = 4096;
const ATT_HEADER_BYTES = 3;
/** Maximum bytes of an Opus frame from the encoders of wearables. */
const MAX_OPUS_FRAME_BYTES = 160;
/** Bytes per sample of uncompressed codecs, of which a part of a frame is useful as well. */
const SAMPLE_BYTES: Readonly<Record<string, number>> = { pcm16: 2, pcm8: 1, mulaw: 1 };

/** Creates the decoder of one connection from the declaration of a driver. Pure; never throws. @param link `mtu`: ATT MTU */
export function createFraming(framing: Framing, format: WireFormat, link: { mtu: number }): PacketDecoder {
  const { header = 0, trailer = 0, first } = framing;
  const decoder =
    framing.kind === 'counted'
      ? countedFrames({ ...framing, header }, format, link)
      : bare(createPieces(cutterOf(framing)), header);
  const trimmed = trailer > 0 ? without(decoder, trailer) : decoder;
  return first ? beginningWith(first, trimmed) : trimmed;
}

function cutterOf(framing: Exclude<Framing, { kind: 'counted' }>): Cutter {
  switch (framing.kind) {
    case 'fixed':
      return fixedFrames(framing.frameBytes, framing.across ?? false);
    case 'raw':
      return fixedFrames(framing.frameBytes, true);
    case 'length-prefixed':
      return prefixedFrames(framing.bytes, framing.endian ?? 'le');
    case 'adts':
      return adtsFrames();
  }
}

/** Wraps a decoder so that it gets notifications without their first bytes. */
function bare(decoder: PacketDecoder, header: number): PacketDecoder {
  if (header === 0) return decoder;
  return { ...decoder, push: packet => decoder.push(packet.subarray(header)) };
}

function without(decoder: PacketDecoder, trailer: number): PacketDecoder {
  return {
    ...decoder,
    push: packet => decoder.push(packet.subarray(0, Math.max(0, packet.length - trailer))),
  };
}

/** Drops frames with other first bytes, such as encrypted ones. They count as lost. */
function beginningWith(first: readonly number[], decoder: PacketDecoder): PacketDecoder {
  const { counts } = decoder;
  let lost = 0;
  const sift = ({ frames }: Decoded): Decoded => ({
    frames: frames.flatMap(({ bytes, lostBefore }) => {
      const missing = lost + lostBefore;
      lost = 0;
      if (first.includes(bytes[0] ?? -1)) return { bytes, lostBefore: missing };
      lost = missing + 1;
      counts.malformed += 1;
      counts.frames -= 1;
      counts.lost += 1;
      return [];
    }),
  });
  return { push: packet => sift(decoder.push(packet)), flush: () => sift(decoder.flush()), counts };
}

// ── running numbers ─────────────────────────────────────────────────────────────────────────────────────────────────

type Counted = CountedFraming & { header: number };

function countedFrames(framing: Counted, format: WireFormat, { mtu }: { mtu: number }): PacketDecoder {
  const { header, counter, fragment, fragments, frameBytes } = framing;
  const ids = 2 ** counter.bits;
  const parse = parserOf(framing);
  if (fragments)
    return createCountedFrames({
      ids,
      maxFrameBytes: MAX_FRAME_BYTES,
      parse(packet) {
        const parsed = parse(packet);
        if (!parsed) return null;
        const { id, payload, fragment: part } = parsed;
        return { id, part, parts: fieldOf(packet, fragments), payload };
      },
    });
  const sampleBytes = SAMPLE_BYTES[format.codec];
  if (sampleBytes)
    return createSampleAssembler({
      parse,
      ids,
      sampleBytes,
      frameBytes: (sampleBytes * format.sampleRate * format.frameMs) / 1000,
      maxFrameBytes: MAX_FRAME_BYTES,
    });
  const decoder = createAssembler({
    parse,
    ids,
    // Inferred from the encoders' limit, not confirmed on every device: any Opus frame fits one notification.
    atOnce: !fragment || mtu >= MAX_OPUS_FRAME_BYTES + header + ATT_HEADER_BYTES,
    maxFrameBytes: MAX_FRAME_BYTES,
  });
  return frameBytes ? splitting(frameBytes, decoder) : decoder;
}

/** Several frames in a notification: if it is lost, so are all of its frames. */
function splitting(frameBytes: number, decoder: PacketDecoder): PacketDecoder {
  const counts = { ...decoder.counts };
  let perPacket = 1;
  let uneven = 0;
  const split = ({ frames }: Decoded): Decoded => {
    const out = frames.flatMap(({ bytes, lostBefore }) => {
      const whole = fixedFrames(frameBytes, false).cut(bytes);
      if (whole.rest.length > 0) uneven += 1;
      perPacket = Math.max(perPacket, whole.frames.length);
      return whole.frames.map((frame, index) => ({
        bytes: frame,
        lostBefore: index === 0 ? lostBefore * perPacket : 0,
      }));
    });
    const { packets, duplicates, resets, malformed } = decoder.counts;
    Object.assign(counts, { packets, duplicates, resets, malformed: malformed + uneven });
    counts.frames += out.length;
    for (const { lostBefore } of out) counts.lost += lostBefore;
    return { frames: out };
  };
  return { push: packet => split(decoder.push(packet)), flush: () => split(decoder.flush()), counts };
}

function parserOf({ header, counter, fragment }: Counted): (packet: Uint8Array) => Packet | null {
  const least = Math.max(header, counter.at + Math.ceil(counter.bits / 8), fragment ? fragment.at + 1 : 0);
  return packet =>
    packet.length < least
      ? null
      : {
          id: numberAt(packet, counter),
          fragment: fragment ? fieldOf(packet, fragment) : 0,
          payload: packet.subarray(header),
        };
}

function numberAt(
  packet: Uint8Array,
  { at, bits, shift = 0, endian = 'le' }: CountedFraming['counter'],
): number {
  if (bits === 4) return ((packet[at] ?? 0) >> shift) & 0x0f;
  const bytes = packet.subarray(at, at + bits / 8);
  const ordered = endian === 'le' ? [...bytes].reverse() : bytes;
  let number = 0;
  for (const byte of ordered) number = number * 256 + byte;
  return number;
}

function fieldOf(packet: Uint8Array, { at, mask = 0xff, shift = 0 }: Field): number {
  return ((packet[at] ?? 0) & mask) >> shift;
}
