/** Audio format in the header of an AAC frame. */
export interface AacFormat {
  /** The header's index of the sample rate. */
  rateIndex: number;
  /** Sample rate in Hz. */
  sampleRate: number;
  channels: number;
}

/** A parsed message: frames of one format, without their headers. */
export interface AdtsPacket {
  format: AacFormat;
  frames: Uint8Array[];
}

/** Samples per channel in one frame. */
export const AAC_FRAME_SAMPLES = 1024;

/**
 * Sample rates by the header's index, ISO/IEC 14496-3 table 1.18, without the last, which no available decoder
 * supports.
 */
const RATES = [
  ...[96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000],
  ...[22_050, 16_000, 12_000, 11_025, 8000],
];
const LOW_COMPLEXITY = 1;
const HEADER_BYTES = 7;
const CHECKSUM_BYTES = 2;
/** Eight seconds at the lowest rate: the maximum for one message. */
const MAX_FRAMES = 64;

/**
 * Parses a message of whole ADTS frames. Null: it is no such message, or of a kind that no wearable sends (not
 * low-complexity, more than two channels, several blocks in a frame).
 */
export function parseAdts(message: Uint8Array): AdtsPacket | null {
  const frames: Uint8Array[] = [];
  let format: AacFormat | null = null;
  for (let at = 0; at < message.length; ) {
    const frame = frameAt(message, at);
    if (!frame || frames.length === MAX_FRAMES) return null;
    if (format && !sameFormat(format, frame.format)) return null;
    format = frame.format;
    frames.push(frame.payload);
    at += frame.length;
  }
  return format && { format, frames };
}

export function sameFormat(a: AacFormat, b: AacFormat): boolean {
  return a.rateIndex === b.rateIndex && a.channels === b.channels;
}

function frameAt(message: Uint8Array, at: number) {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0, b6 = 0] = message.subarray(at, at + HEADER_BYTES);
  if (b0 !== 0xff || (b1 & 0xf6) !== 0xf0) return null; // the sync word, and the layer, which is always 0
  const headerBytes = HEADER_BYTES + (b1 & 1 ? 0 : CHECKSUM_BYTES);
  const length = ((b3 & 3) << 11) | (b4 << 3) | (b5 >> 5);
  if (length <= headerBytes || at + length > message.length) return null;
  const rateIndex = (b2 >> 2) & 15;
  const sampleRate = RATES[rateIndex];
  const channels = ((b2 & 1) << 2) | (b3 >> 6);
  const isKnown = b2 >> 6 === LOW_COMPLEXITY && (channels === 1 || channels === 2) && (b6 & 3) === 0;
  if (!isKnown || sampleRate === undefined) return null;
  const payload = message.subarray(at + headerBytes, at + length);
  return { format: { rateIndex, sampleRate, channels }, payload, length };
}

const HIGH_EFFICIENCY: readonly number[] = [5, 29];
const RATE_IS_SPELLED_OUT = 15;

/**
 * Reads an AudioSpecificConfig (ISO/IEC 14496-3 section 1.6.2.1) of low-complexity AAC; of the high-efficiency kinds,
 * their low-complexity part. Null: another kind, or more than two channels.
 */
export function formatIn(config: Uint8Array): AacFormat | null {
  const [first = 0, second = 0] = config;
  const kind = first >> 3;
  const rateIndex = ((first & 7) << 1) | (second >> 7);
  const channels = (second >> 3) & 15;
  const sampleRate = RATES[rateIndex];
  if (kind !== LOW_COMPLEXITY + 1 && !HIGH_EFFICIENCY.includes(kind)) return null;
  if (rateIndex === RATE_IS_SPELLED_OUT || sampleRate === undefined || channels < 1 || channels > 2)
    return null;
  return { rateIndex, sampleRate, channels };
}

/** Returns a frame as a message of its own, with a header before it. */
export function withHeader({ rateIndex, channels }: AacFormat, frame: Uint8Array): Uint8Array {
  const length = frame.length + HEADER_BYTES;
  const message = new Uint8Array(length);
  message.set([0xff, 0xf1, (LOW_COMPLEXITY << 6) | (rateIndex << 2) | (channels >> 2)]);
  message.set(
    [((channels & 3) << 6) | (length >> 11), (length >> 3) & 255, ((length & 7) << 5) | 0x1f, 0xfc],
    3,
  );
  message.set(frame, HEADER_BYTES);
  return message;
}
