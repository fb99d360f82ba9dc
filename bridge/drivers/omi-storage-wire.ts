/** Commands, blocks and times that all ways of storing audio on an Omi pendant share. */
import type { Ref, Session, Track, WireFormat } from '../driver.ts';

export const STORAGE_SERVICE = '30295780-4301-eabd-2904-2849adfeae43';
/** Takes commands, and sends what is stored. */
export const STORAGE_DATA: Ref = {
  service: STORAGE_SERVICE,
  characteristic: '30295781-4301-eabd-2904-2849adfeae43',
};

/** Commands that the bridge uses. 0x02 (wipe) and 0x13 (clear) are not among them. */
export const COMMAND = {
  readFile: 0x00,
  deleteFile: 0x01,
  stop: 0x03,
  heartbeat: 50,
  list: 0x10,
  read: 0x11,
  advance: 0x12,
  advanceOfRing: 0x15,
} as const;

export const BLOCK_BYTES = 440;
/** Number of blocks after which audio is forced onto the disk, and the place in it is saved. */
export const BLOCKS_AT_ONCE = 64;
/** A download fails after this time without a notification. */
const SILENCE_MS = 10_000;
const MAX_PAUSE_MS = 600_000;
/** Shorter pauses are within the accuracy of the times, which are whole seconds. */
const MIN_PAUSE_MS = 1500;

/** The pendant's notifications, and commands to it. */
export interface Incoming {
  /** Returns the next notification; rejects when none arrives in time. */
  next(): Promise<Uint8Array>;
  command(...bytes: number[]): Promise<void>;
}

/** Subscribes; null: the pendant refuses that. */
export async function openStorage({ link, clock }: Session): Promise<Incoming | null> {
  const notifications = await link.notifications(STORAGE_DATA, { optional: true });
  if (!notifications) return null;
  const iterator = notifications[Symbol.asyncIterator]();
  /** A notification that did not arrive in time; the next call waits for it again. */
  let pending: ReturnType<typeof iterator.next> | null = null;
  return {
    async next() {
      pending ??= iterator.next();
      const late = clock.sleep(SILENCE_MS).then(() => null);
      late.catch(() => {});
      const result = await Promise.race([pending, late]);
      if (result === null) throw new StorageError('the pendant stopped sending what it has stored');
      pending = null;
      if (result.done) throw new StorageError('the connection ended');
      return result.value.bytes;
    },
    command: (...bytes) => link.write(STORAGE_DATA, Uint8Array.from(bytes), { response: true }),
  };
}

/** The download failed and is retried; the connection stays. */
export class StorageError extends Error {}

/**
 * Returns the frames of a block: each follows its length. A block may end with the length of a frame that did not fit,
 * and with old bytes.
 */
export function framesOf(block: Uint8Array): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < block.length; ) {
    const length = block[at] ?? 0;
    if (length === 0 || at + 1 + length >= BLOCK_BYTES) break;
    frames.push(block.subarray(at + 1, at + 1 + length));
    at += 1 + length;
  }
  return frames;
}

/** Appends frames to a recording at their times. A pause or a step back of more than ten minutes begins a new one. */
export function createTimeline({ sink }: Session, format: WireFormat) {
  let track: Track | null = null;
  let atMs = 0;

  return {
    /** @param startMs null: right after the frames before */
    add(frames: readonly Uint8Array[], startMs: number | null): void {
      let pauseMs = startMs === null || !track ? 0 : startMs - atMs;
      if (!track || pauseMs > MAX_PAUSE_MS || pauseMs < -MAX_PAUSE_MS) {
        track?.end();
        atMs = startMs ?? atMs;
        track = sink.audio(format, { live: false, startedAtMs: Math.max(0, Math.round(atMs)) });
        pauseMs = 0;
      }
      const pause = pauseMs >= MIN_PAUSE_MS ? pauseMs : 0;
      for (const [index, bytes] of frames.entries())
        track.frame(bytes, index === 0 ? { pauseMs: pause } : {});
      atMs += pause + frames.length * format.frameMs;
    },
    stored: async () => track?.stored(),
    /** End of the last frame; 0: nothing was added. */
    get atMs() {
      return atMs;
    },
    end: () => track?.end(),
  };
}
