import type { Decoded, PacketDecoder } from '../driver.ts';
import { createNumbering, type Step } from './numbering.ts';
import { type AssemblerOptions, noCounts } from './packets.ts';

interface SampleAssemblerOptions extends Omit<AssemblerOptions, 'atOnce'> {
  /** Bytes of a frame of the stream's nominal length, in which losses are counted. */
  frameBytes: number;
  sampleBytes: number;
}

type Frames = Decoded['frames'];

/** Consecutive fragments of one frame. */
interface Run {
  pieces: Uint8Array[];
  bytes: number;
  /** Offset of its first byte within the frame. */
  offset: number;
  /** Bytes lost before it. */
  lostBefore: number;
}

/** The last packet that was used. */
interface Taken {
  frame: number;
  fragment: number;
  bytes: number;
}

/**
 * Extracts samples from numbered packets with fragments. Each fragment is useful without the others, so those that arrived are
 * passed on, a complete frame in one piece, with the loss before each piece as a fraction of a frame. All frames of a device
 * have the same length, and so do all fragments except the last of a frame.
 */
export function createSampleAssembler(options: SampleAssemblerOptions): PacketDecoder {
  const { parse, maxFrameBytes, frameBytes, sampleBytes } = options;
  const counts = noCounts();
  const numbering = createNumbering(counts, {
    packetsPerFrame: () => Math.ceil(wholeBytes / Math.max(1, fragmentBytes)),
    ids: options.ids,
  });
  let run: Run | null = null;
  let taken: Taken | null = null;
  /** Whether the previous packet was used. */
  let unbroken = false;
  /** Observed size of a frame, and of a fragment, in bytes. */
  let wholeBytes = frameBytes;
  let fragmentBytes = 0;
  let lostBytes = 0;
  /** Loss after the last piece, reported with the next one: the first half of a sample. */
  let splitBytes = 0;

  function push(bytes: Uint8Array): Decoded {
    counts.packets += 1;
    const packet = parse(bytes);
    const frames: Frames = [];
    if (!packet) return malformed(frames);
    const step = numbering.next(packet, bytes);
    if (!step) return { frames };
    if (step.restarted) restart(frames);
    const { fragment, payload } = packet;
    if (payload.length === 0 || payload.length > maxFrameBytes) return malformed(frames);
    if (!taken && fragment > 0) return { frames }; // in the middle of an unknown frame
    const isNext = fragment === 0 || fragment === (taken?.fragment ?? 0) + 1;
    const follows = step.follows && unbroken;
    if (follows && !isNext) return malformed(frames);
    fragmentBytes = Math.max(fragmentBytes, payload.length);
    const lost = lostBetween(taken, { ...step, follows, fragment });
    taken = { frame: step.frame, fragment, bytes: payload.length };
    unbroken = true;
    if (!follows || lost > 0) finish(frames, { isWhole: false });
    else if (fragment === 0) finish(frames, { isWhole: true });
    if (!run) run = { pieces: [], bytes: 0, offset: fragment * fragmentBytes, lostBefore: lost };
    run.pieces.push(new Uint8Array(payload));
    run.bytes += payload.length;
    return run.bytes > maxFrameBytes ? giveUp(frames) : { frames };
  }

  /** Returns the bytes lost between two packets. */
  function lostBetween(from: Taken | null, to: Step & { fragment: number }): number {
    if (!from || (to.follows && !numbering.numbersFrames)) return 0;
    const frames = (to.frame - from.frame) * wholeBytes;
    return Math.max(0, frames + (to.fragment - from.fragment) * fragmentBytes - from.bytes);
  }

  /** Passes on the received part of a frame, without incomplete samples. */
  function finish(frames: Frames, { isWhole }: { isWhole: boolean }): void {
    if (!run) return;
    const { pieces, offset, lostBefore } = run;
    const joined = Buffer.concat(pieces);
    run = null;
    if (isWhole && offset === 0)
      wholeBytes = numbering.numbersFrames ? Math.max(wholeBytes, joined.length) : joined.length;
    const from = (sampleBytes - (offset % sampleBytes)) % sampleBytes;
    const to = isWhole ? joined.length : joined.length - ((offset + joined.length) % sampleBytes);
    if (from >= to) {
      splitBytes += lostBefore + joined.length;
      return;
    }
    const lost = splitBytes + lostBefore + from;
    splitBytes = joined.length - to;
    lostBytes += lost;
    counts.lost = lostBytes / frameBytes;
    counts.frames += 1;
    frames.push({ bytes: joined.subarray(from, to), lostBefore: lost / frameBytes });
  }

  function restart(frames: Frames): void {
    finish(frames, { isWhole: false });
    taken = null;
    splitBytes = 0;
  }

  /** Drops a frame that is too long for any device; the next one starts afresh. */
  function giveUp(frames: Frames): Decoded {
    run = null;
    taken = null;
    return malformed(frames);
  }

  function malformed(frames: Frames): Decoded {
    counts.malformed += 1;
    unbroken = false;
    return { frames };
  }

  return {
    push,
    flush() {
      const frames: Frames = [];
      finish(frames, { isWhole: false });
      return { frames };
    },
    counts,
  };
}
