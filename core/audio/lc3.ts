import type { Decoder } from './codecs.ts';

const FRAME_SAMPLES = 160;
const NO_BYTES = new Uint8Array(0);
/** Bytes of a frame: Bluetooth's LC3 specification, section 3.2.5. */
const FRAME_BYTES = { min: 20, max: 400 };
/** Ten seconds of audio, which take about 60 ms to decode: the maximum for one message. */
const MAX_FRAMES = 1000;

/**
 * LC3 frames of 10 ms at 16 kHz, mono.
 * @param frameBytes of each of the frames in a message; absent: a message is a frame
 */
export async function createLc3Decoder(frameBytes?: number): Promise<Decoder> {
  const { default: lc3 } = await import('lc3codec'); // the codec's tables take a megabyte
  const decoder = new lc3.Decoder.LC3Decoder(
    lc3.Core.LC3FrameDuration.NMS_10000US,
    lc3.Core.LC3SampleRate.FS_16000,
  );
  let open = true;

  /** Returns false if the frame is broken; `pcm` is then not usable. */
  function decodeInto(pcm: Int16Array, frame: Uint8Array): boolean {
    const isSized = frame.length >= FRAME_BYTES.min && frame.length <= FRAME_BYTES.max;
    if (!isSized || (frameBytes !== undefined && frame.length !== frameBytes)) return false;
    const errors = new lc3.Decoder.LC3BEC();
    try {
      decoder.decode(frame, errors, pcm);
    } catch {
      return false; // the caller counts it; the codec tells nothing more
    }
    return !errors.isMarked();
  }

  return {
    decode(message) {
      if (!open) throw new Error('The decoder is closed');
      if (message.length === 0) return { pcm: new Int16Array(0), bad: 1 };
      const size = frameBytes ?? message.length;
      const frames = Math.ceil(message.length / size);
      const pcm = new Int16Array(frames * FRAME_SAMPLES);
      if (frames > MAX_FRAMES) return { pcm, bad: frames };
      let bad = 0;
      for (let i = 0; i < frames; i++) {
        const part = pcm.subarray(i * FRAME_SAMPLES, (i + 1) * FRAME_SAMPLES);
        if (decodeInto(part, message.subarray(i * size, (i + 1) * size))) continue;
        part.fill(0);
        bad += 1;
      }
      return { pcm, bad };
    },
    /**
     * The codec takes an empty frame for a lost one, and conceals it as appendix B of the specification
     * describes.
     */
    conceal(samples) {
      if (!open) throw new Error('The decoder is closed');
      const pcm = new Int16Array(Math.ceil(samples / FRAME_SAMPLES) * FRAME_SAMPLES);
      for (let at = 0; at < pcm.length; at += FRAME_SAMPLES)
        decoder.decode(NO_BYTES, new lc3.Decoder.LC3BEC(), pcm.subarray(at, at + FRAME_SAMPLES));
      return pcm.subarray(0, samples);
    },
    close() {
      open = false;
    },
  };
}
