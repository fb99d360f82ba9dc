import type { VadSession } from '../plugin.ts';
import { createFirstLook, meanSquare } from './first-look.ts';
import { SAMPLE_RATE } from './pcm.ts';
import { createSampleBuffer } from './sample-buffer.ts';
import { createUtterance, type GrowingUtterance } from './utterance.ts';

/** What may be tuned. Lengths are in milliseconds. */
export interface GateOptions {
  /** Speech probability from which a window counts as speech while the gate is shut. */
  openAt: number;
  /** Probability from which speech goes on while the gate is open. */
  stayAt: number;
  /** Consecutive windows of speech that open the gate. */
  openWindows: number;
  /** Audio before the first window of speech that belongs to the utterance. */
  preRollMs: number;
  /** Silence that ends an utterance, and its last part. */
  hangoverMs: number;
  /** Longest utterance. */
  maxMs: number;
  /** A longest utterance is cut at the quietest point in its last part of this length, which is handed out late. */
  cutWithinMs: number;
  /** Rise above the noise floor from which the detector is asked, dB. */
  lookRiseDb: number;
  /** Loudness (mean square) below which it is never asked, dB of full scale. */
  lookLeastDb: number;
  /** How long it is asked on after such a rise. */
  lookHoldMs: number;
  /** The noise floor is the least loudness within this. */
  lookFloorMs: number;
  /** Audio before the rise that the detector hears first, to find its feet. */
  leadInMs: number;
}

export const GATE_DEFAULTS: Readonly<GateOptions> = {
  openAt: 0.5,
  stayAt: 0.35,
  openWindows: 3,
  preRollMs: 300,
  hangoverMs: 550,
  maxMs: 30_000,
  cutWithinMs: 3000,
  lookRiseDb: 3,
  lookLeastDb: -75,
  lookHoldMs: 1000,
  lookFloorMs: 10_000,
  leadInMs: 200,
};

/** Finds the utterances in one stream of 16 kHz mono audio. Calls must not overlap. */
export interface Gate {
  /**
   * Judges what follows on. Rejects with the detector's error; the audio then stays undecided, and is judged again with
   * the next push.
   */
  push(samples: Int16Array): Promise<void>;
  /** Moves time on without audio: ends the open utterance, and what comes next does not follow on. */
  gap(samples: number): void;
  /** Ends the open utterance here, with all audio there is; what is undecided counts as silence. */
  flush(): Promise<void>;
  /** Position after the last sample pushed. */
  readonly position: number;
  /**
   * Everything before this position is known silence, or was handed out in an utterance. While silent it stays behind
   * `position` by the pre-roll and by what is undecided, as those may still become part of an utterance. Never falls.
   */
  readonly silentThrough: number;
  /** Whether an utterance is open. */
  readonly speaking: boolean;
  /** Ends the open utterance and the detector. */
  close(): void;
}

/** Windows judged with one call of the detector, at most; a message of a second is two calls. */
const BATCH_WINDOWS = 16;
/** The quietest stretch of this length is where a longest utterance is cut, and the step of the search. */
const CUT_MS = 100;
const CUT_STEP_MS = 10;

export function createGate(setup: {
  detector: VadSession;
  /** Samples that one probability of the detector stands for. */
  windowSize: number;
  channel: number;
  startSample: number;
  options?: Partial<GateOptions>;
  /** A new utterance, at its first speech; it grows from then on. */
  onUtterance: (utterance: GrowingUtterance) => void;
  /** Speech was heard up to this position. */
  onSpeech?: (sample: number) => void;
}): Gate {
  const { detector, windowSize, channel, onUtterance, onSpeech } = setup;
  const options = { ...GATE_DEFAULTS, ...setup.options };
  const preRoll = toSamples(options.preRollMs);
  const hangover = toSamples(options.hangoverMs);
  const maxLength = toSamples(options.maxMs);
  const freeLength = toSamples(options.maxMs - options.cutWithinMs);
  const leadIn = toWindows(options.leadInMs) * windowSize;
  const look = createFirstLook({
    windowSize,
    holdWindows: toWindows(options.lookHoldMs),
    rise: 10 ** (options.lookRiseDb / 10),
    leastEnergy: 32768 ** 2 * 10 ** (options.lookLeastDb / 10),
    floorWindows: toWindows(options.lookFloorMs),
  });

  let audio = createSampleBuffer(setup.startSample);
  /** Windows before this are judged. */
  let judged = setup.startSample;
  /** Nothing before this may become part of an utterance any more. */
  let closedThrough = setup.startSample;
  /** Consecutive windows of speech while shut. */
  let run = 0;
  let lastSpeech = 0;
  let utterance: GrowingUtterance | null = null;
  /** Whether the detector heard the window before `judged`. */
  let listening = false;

  function toWindows(ms: number) {
    return Math.ceil(toSamples(ms) / windowSize);
  }

  async function judgeBatch(windows: number) {
    const to = judged + windows * windowSize;
    const probabilities = await judge(to);
    let heard = false;
    for (let i = 0; i < windows; i++) {
      const probability = probabilities?.[i] ?? 0;
      judged += windowSize;
      heard = (utterance ? speak(probability) : wait(probability)) || heard;
    }
    if (heard) onSpeech?.(lastSpeech);
    forget();
  }

  /** The probabilities of the windows up to `to`; null when none is worth asking for. */
  async function judge(to: number): Promise<Float32Array | null> {
    // The look must see every window, so that it knows the floor.
    let worthIt = utterance !== null;
    for (let at = judged; at < to; at += windowSize)
      worthIt = look.worthIt(audio.slice(at, at + windowSize)) || worthIt;
    if (!worthIt) {
      listening = false;
      return null;
    }
    const before = listening ? 0 : Math.min(leadIn, floorTo(judged - audio.start, windowSize));
    if (!listening) detector.reset();
    listening = false; // so that a failure makes it begin afresh
    const probabilities = await detector.probabilities(audio.slice(judged - before, to));
    listening = true;
    return probabilities.subarray(before / windowSize);
  }

  /** One window while shut. Returns whether speech is on. */
  function wait(probability: number): boolean {
    run = probability >= options.openAt ? run + 1 : 0;
    if (run < options.openWindows) return false;
    const start = Math.max(judged - run * windowSize - preRoll, closedThrough, audio.start);
    lastSpeech = judged;
    open(start);
    handOut();
    return true;
  }

  /** One window while open. Returns whether it is speech. */
  function speak(probability: number): boolean {
    const speech = probability >= options.stayAt;
    if (speech) lastSpeech = judged;
    handOut();
    if (judged - lastSpeech >= hangover) finish(judged);
    return speech;
  }

  function open(start: number) {
    run = 0;
    utterance = createUtterance({ startSample: start, channel });
    onUtterance(utterance);
  }

  /** Hands out what is judged, but for the part in which an utterance that gets too long may yet be cut. */
  function handOut() {
    if (!utterance) return;
    const { startSample } = utterance;
    give(Math.min(judged, startSample + freeLength));
    if (judged + windowSize <= startSample + maxLength) return;
    const cut = quietestPoint(audio.slice(startSample + freeLength, judged)) + startSample + freeLength;
    finish(cut);
    if (cut >= lastSpeech) return; // nothing but silence is left
    open(cut);
    give(judged);
  }

  function give(to: number) {
    if (utterance && to > utterance.endSample) utterance.append(audio.slice(utterance.endSample, to));
  }

  function finish(at: number) {
    if (!utterance) return;
    give(at);
    utterance.end();
    utterance = null;
    closedThrough = at;
  }

  /** Drops the audio that neither an utterance nor the detector can want again. */
  function forget() {
    audio.release(Math.min(silentThrough(), judged - leadIn));
  }

  function silentThrough(): number {
    if (utterance) return utterance.endSample;
    return Math.max(closedThrough, judged - run * windowSize - preRoll);
  }

  /** Closes what is open and begins anew at `position`. */
  function restart(position: number) {
    finish(audio.end);
    listening = false;
    run = 0;
    audio = createSampleBuffer(position);
    judged = position;
    closedThrough = position;
  }

  return {
    async push(samples) {
      audio.append(samples);
      for (;;) {
        const windows = Math.min(BATCH_WINDOWS, Math.floor((audio.end - judged) / windowSize));
        if (windows === 0) return;
        await judgeBatch(windows);
      }
    },
    gap(samples) {
      restart(audio.end + samples);
    },
    async flush() {
      restart(audio.end);
    },
    close() {
      finish(audio.end);
      detector.close();
    },
    get position() {
      return audio.end;
    },
    get silentThrough() {
      return silentThrough();
    },
    get speaking() {
      return utterance !== null;
    },
  };
}

/** Index of the middle of the quietest stretch; of equally quiet ones, the last. */
function quietestPoint(samples: Int16Array): number {
  const length = Math.min(toSamples(CUT_MS), samples.length);
  let best = { energy: Number.POSITIVE_INFINITY, at: 0 };
  for (let at = 0; at + length <= samples.length; at += toSamples(CUT_STEP_MS)) {
    const energy = meanSquare(samples, at, at + length);
    if (energy <= best.energy) best = { energy, at };
  }
  return best.at + (length >> 1);
}

function toSamples(ms: number): number {
  return Math.round((ms * SAMPLE_RATE) / 1000);
}

function floorTo(value: number, step: number): number {
  return value - (value % step);
}
