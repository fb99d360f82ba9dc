/** Audio of a day: numbers as tones, one after the other, and the fate of each. */
import { Encoder } from '@evan/opus/wasm/index.mjs';
import { SAMPLE_RATE } from '../../../core/audio/pcm.ts';
import { soundOf } from '../code.ts';

export const FRAME_MS = 20;
const FRAME = (SAMPLE_RATE * FRAME_MS) / 1000;
/** A decoder that starts here has settled by the first number. */
const LEAD_MS = 600;
const PAUSES_MS = [320, 320, 320, 320, 320, 320, 320, 1200];
/** Opus has a delay: the end of a number is in the frames after it. */
const TAIL_FRAMES = 2;
/** Cause of what the radio lost within a connection. */
export const AIR = 'lost on the air';

/** One number with the silence around it; together they are all of the audio. */
export interface Said {
  /** UTC epoch ms of its first tone. */
  atMs: number;
  /** Frames that the pendant sent, and how many of them the radio lost. */
  frames: number;
  lost: number;
  /** Cause of a loss; null: no reason. */
  cause: string | null;
}

export interface Talk {
  all(): Said[];
  /** Returns the next frame, which is sent now. */
  next(): Uint8Array;
  /** The radio lost the frame that was sent last. */
  lose(): void;
  /** The connection ended, perhaps in the middle of a number. */
  cut(cause: string): void;
}

/** Allocated at the start, so that memory does not grow. */
function createLedger(most: number) {
  const atMs = new Float64Array(most).fill(0);
  const frames = new Uint32Array(most).fill(0);
  const lost = new Uint32Array(most).fill(0);
  const causes = new Uint8Array(most).fill(0);
  const names: (string | null)[] = [null];
  return {
    atMs,
    frames,
    lost,
    setCause(number: number, cause: string) {
      if (!names.includes(cause)) names.push(cause);
      causes[number] = names.indexOf(cause);
    },
    isBlamed: (number: number) => causes[number] !== 0,
    at: (number: number): Said => ({
      atMs: atMs[number] ?? 0,
      frames: frames[number] ?? 0,
      lost: lost[number] ?? 0,
      cause: names[causes[number] ?? 0] ?? null,
    }),
  };
}

/**
 * @param longPauseMs silence after the number that starts, in addition to the usual one
 * @param most numbers
 */
export function createTalk({
  now,
  longPauseMs,
  most,
}: {
  now(): number;
  longPauseMs(): number;
  most: number;
}): Talk {
  const encoder = new Encoder({
    channels: 1,
    sample_rate: SAMPLE_RATE,
    application: 'restricted_lowdelay',
  });
  const silence = new Int16Array(FRAME);
  const ledger = createLedger(most);
  let count = 0;
  let sound = new Int16Array(0);
  let at = 0;
  let pauseFrames = LEAD_MS / FRAME_MS;
  let tailFrames = 0;
  /** In progress; null: a connection is before its first number, to which its frames will belong. */
  let current: number | null = null;

  function begin(): void {
    current = count;
    count += 1;
    ledger.atMs[current] = now();
    sound = soundOf({ device: 0, number: current });
    at = 0;
    tailFrames = TAIL_FRAMES;
    pauseFrames = ((PAUSES_MS[current % PAUSES_MS.length] ?? 0) + longPauseMs()) / FRAME_MS;
  }

  function samples(): Int16Array {
    if (at >= sound.length && pauseFrames <= 0) begin();
    if (at < sound.length) {
      at += FRAME;
      return sound.subarray(at - FRAME, at);
    }
    pauseFrames -= 1;
    tailFrames -= 1;
    return silence;
  }

  const addOne = (counts: Uint32Array) => {
    const number = current ?? count;
    counts[number] = (counts[number] ?? 0) + 1;
  };

  return {
    all: () => Array.from({ length: count }, (_, number) => ledger.at(number)),
    next() {
      const frame = Uint8Array.from(encoder.encode(samples()));
      addOne(ledger.frames);
      return frame;
    },
    lose() {
      addOne(ledger.lost);
      if (current !== null && tailFrames > 0 && !ledger.isBlamed(current)) ledger.setCause(current, AIR);
    },
    cut(cause) {
      if (current !== null && tailFrames > 0) ledger.setCause(current, cause);
      current = null;
      sound = new Int16Array(0);
      at = 0;
      pauseFrames = LEAD_MS / FRAME_MS;
    },
  };
}
