import { AAC_FRAME_SAMPLES, type AacFormat, parseAdts, sameFormat } from './adts.ts';
import type { AudioFormat, Decoder } from './codecs.ts';
import { createConcealer } from './concealer.ts';
import { type Faad, loadFaad, openFaad } from './faad.ts';
import { concatSamples, SAMPLE_RATE } from './pcm.ts';
import { createResampler } from './resample.ts';

/** Consecutive broken frames after which the decoder itself may be broken, and is replaced. */
const FAILURES_BEFORE_RESTART = 2;

/** Decodes frames of one format to 16 kHz mono. */
interface Line {
  format: AacFormat;
  /** Returns null where the frame is broken. */
  decode(frame: Uint8Array): Promise<Int16Array | null>;
  /** Returns silence of the length of this many frames. */
  silence(frames: number): Int16Array;
  close(): void;
}

/**
 * Decodes ADTS frames, one or more per message. Their header gives rate and channels, whatever the client announced.
 * Throws `unsupported_media` where the decoder package is not installed.
 */
export async function createAacDecoder({ sampleRate }: AudioFormat): Promise<Decoder> {
  await loadFaad();
  const concealer = createConcealer();
  let line: Line | null = null;
  let announced: AacFormat | null = null;
  let usualFrames = 1;
  let open = true;

  /**
   * Returns the decoder for this format. Null: the format has changed, which the next message must confirm, because a
   * damaged header looks the same.
   */
  async function lineFor(format: AacFormat): Promise<Line | null> {
    const confirmed = line === null || (announced !== null && sameFormat(announced, format));
    announced = format;
    if (line && sameFormat(line.format, format)) return line;
    if (!confirmed) return null;
    line?.close();
    line = await openLine(format);
    return line;
  }

  /** A message that cannot be parsed counts as long as the last one that could. */
  function lost() {
    const length = Math.round((usualFrames * AAC_FRAME_SAMPLES * SAMPLE_RATE) / sampleRate);
    return { pcm: line?.silence(usualFrames) ?? new Int16Array(length), bad: 1 };
  }

  async function decode(message: Uint8Array) {
    const packet = parseAdts(message);
    const current = packet && (await lineFor(packet.format));
    if (!current) return lost();
    usualFrames = packet.frames.length;
    const parts: Int16Array[] = [];
    let bad = 0;
    for (const frame of packet.frames) {
      const pcm = await current.decode(frame);
      if (!pcm) bad += 1;
      parts.push(pcm ?? current.silence(1));
    }
    return { pcm: concatSamples(parts), bad };
  }

  return {
    async decode(message) {
      if (!open) throw new Error('The decoder is closed'); // copied, because the decoder reuses its memory
      if (message.length === 0) return { pcm: new Int16Array(0), bad: 1 };
      const decoded = await decode(message);
      concealer.heard(decoded.pcm);
      return decoded;
    },
    conceal: concealer.conceal,
    close() {
      open = false;
      line?.close();
      line = null;
    },
  };
}

async function openLine(format: AacFormat): Promise<Line> {
  const resampler = format.sampleRate === SAMPLE_RATE ? null : await createResampler(format.sampleRate);
  const toInside = (samples: Int16Array) => resampler?.push(samples) ?? samples;
  const silence = (frames: number) => toInside(new Int16Array(frames * AAC_FRAME_SAMPLES));
  let faad: Faad | null = null;
  let failures = 0;

  /** A decoder returns silence for its first frame, which it only keeps. */
  async function begin(frame: Uint8Array): Promise<Int16Array> {
    faad = await openFaad(configOf(format));
    failures = 0;
    tryDecode(faad, frame);
    return silence(1);
  }

  function restart(): void {
    faad?.free();
    faad = null;
  }

  return {
    format,
    async decode(frame) {
      if (!faad) return begin(frame);
      const samples = tryDecode(faad, frame);
      failures = samples ? 0 : failures + 1;
      if (failures === FAILURES_BEFORE_RESTART) restart();
      return samples && toInside(samples);
    },
    silence,
    close() {
      restart();
      resampler?.close();
    },
  };
}

/** Returns null where the frame is broken. */
function tryDecode(faad: Faad, frame: Uint8Array): Int16Array | null {
  try {
    const [first, second = first] = faad.decode(frame).channelData;
    if (!first || !second || first.length !== AAC_FRAME_SAMPLES) return null;
    return Int16Array.from(first, (left, i) => toSample((left + (second[i] ?? 0)) / 2));
  } catch {
    return null; // the caller counts it; the decoder tells nothing more
  }
}

function toSample(value: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(value * 32_768)));
}

/**
 * The AudioSpecificConfig of low-complexity AAC. Its last three bytes say that there is no spectral band replication:
 * without them a low rate counts as half of the real one.
 */
function configOf({ rateIndex, channels }: AacFormat): Uint8Array {
  return Uint8Array.of(0x10 | (rateIndex >> 1), ((rateIndex & 1) << 7) | (channels << 3), 0x56, 0xe5, 0x00);
}
