import type { WireFormat } from '../driver.ts';

/** Whether a frame can be one of its codec, by its first bytes and its length. Codecs without an entry take any bytes. */
const FITS: Readonly<Record<string, (frame: Uint8Array, frameMs: number) => boolean>> = {
  opus: (frame, frameMs) => opusMs(frame) === frameMs,
  opus_fs320: (frame, frameMs) => opusMs(frame) === frameMs,
  aac: ([first = 0, second = 0]) => first === 0xff && (second & 0xf6) === 0xf0, // sync word of ADTS
  lc3_fs1030: ({ length }) => length > 0 && length % LC3_FRAME_BYTES === 0,
};
const LC3_FRAME_BYTES = 30;

/** Counts the frames that their codec cannot have made. */
export function countUnreadable({ codec, frameMs }: WireFormat, frames: readonly Uint8Array[]): number {
  const fits = FITS[codec];
  return fits ? frames.filter(frame => !fits(frame, frameMs)).length : 0;
}

/** Frame lengths of SILK (configurations 0 to 11), hybrid (12 to 15) and CELT (16 to 31), RFC 6716 section 3.1. */
const SILK_MS = [10, 20, 40, 60];
const HYBRID_MS = [10, 20];
const CELT_MS = [2.5, 5, 10, 20];

/** Length that an Opus packet claims. */
function opusMs([toc = 0, count = 0]: Uint8Array): number {
  const configuration = toc >> 3;
  const lengths = configuration < 12 ? SILK_MS : configuration < 16 ? HYBRID_MS : CELT_MS;
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : count & 63;
  return frames * (lengths[configuration % lengths.length] ?? 0);
}
