import type { VadSession } from '../contract/plugin.ts';
import { createFirstLook } from './first-look.ts';
import { GATE_DEFAULTS, type GateOptions } from './gate-options.ts';
import { createLeveller } from './leveller.ts';
import { fromDb, quietestPoint } from './loudness.ts';
import { SAMPLE_RATE } from './pcm.ts';
import { createSampleBuffer } from './sample-buffer.ts';
import { isSteadyTone, STEADY_TONE_SAMPLES } from './steady-tone.ts';
import { createUtterance, type GrowingUtterance } from './utterance.ts';

/** Finds the utterances in one stream of 16 kHz mono audio. Calls must not overlap. */
export interface Gate {
  /**
   * Processes the audio that follows; undefined while that is not a whole window yet. Rejects with the detector's
   * error; the audio then stays undecided, and is processed again with the next push.
   */
  push(samples: Int16Array): Promise<void> | undefined;
  /** Advances time without audio: ends the open utterance; audio after it is not continuous with it. */
  gap(samples: number): void;
  /** Ends the open utterance here, with all audio there is; speech that follows begins another one. */
  flush(): Promise<void>;
  /** Position after the last sample pushed. */
  readonly position: number;
  /**
   * Everything before this position is known to be silence, or was handed out in an utterance. In silence it lags
   * behind `position` by the pre-roll and the undecided audio (0.3 to 0.8 s), which may still become part of an
   * utterance. Never decreases.
   */
  readonly silentThrough: number;
  /** Whether an utterance is open. */
  readonly speaking: boolean;
  /** Whether an utterance is open, or may just have begun. */
  readonly inSpeech: boolean;
  /** Position after the last speech. */
  readonly lastSpeech: number;
  /** Ends the open utterance, and closes the detector. */
  close(): void;
}

interface GateSetup {
  detector: VadSession;
  /** Number of samples for each probability of the detector. */
  windowSize: number;
  channel: number;
  startSample: number;
  /** Position up to which another gate, perhaps interrupted during speech, processed the audio. */
  goesOn?: boolean;
  options?: Partial<GateOptions>;
  /** Called for a new utterance at its first speech; it grows from then on. */
  onUtterance: (utterance: GrowingUtterance) => void;
  /**
   * Called when silence has lasted for `lullMs` within the newest utterance, with the position after its last speech;
   * with null when speech goes on after all.
   */
  onLull?: (lastSpeech: number | null) => void;
}

/** Maximum number of windows in one call of the detector: half a second. */
const BATCH_WINDOWS = 16;
/** A possible beginning that may turn out to be a mere tone is kept for this long. */
const UNDECIDED = 2 * STEADY_TONE_SAMPLES;

export function createGate(setup: GateSetup): Gate {
  const { detector, windowSize, channel, onUtterance } = setup;
  const options = { ...GATE_DEFAULTS, ...setup.options };
  const preRoll = toSamples(options.preRollMs);
  const hangover = toSamples(options.hangoverMs);
  const lull = toSamples(options.lullMs);
  const maxLength = toSamples(options.maxMs);
  const freeLength = toSamples(options.maxMs - options.cutWithinMs);
  const leadIn = toWindows(options.leadInMs) * windowSize;
  const lookHold = toWindows(options.lookHoldMs) * windowSize;
  const look = createFirstLook({
    holdWindows: lookHold / windowSize,
    rise: 10 ** (options.lookRiseDb / 10),
    leastEnergy: fromDb(options.lookLeastDb) ** 2,
    floorWindows: toWindows(options.lookFloorMs),
  });

  let audio = createSampleBuffer(setup.startSample);
  let leveller = openLeveller(setup.startSample);
  /** Position up to which windows have been processed. */
  let judged = setup.startSample;
  /** Nothing before this position can become part of an utterance any more. */
  let settled = setup.startSample;
  /** End of the last window that passed through the loudness test. */
  let looked = setup.startSample;
  /** End of the last window for which the detector is worth running. */
  let noticed = setup.startSample;
  /** Whether the detector has processed the window before `judged`. */
  let listening = false;
  /** Consecutive windows of speech while closed. */
  let run = 0;
  /** Position at which speech seems to have begun. */
  let beginning: number | null = null;
  let lastSpeech = setup.startSample;
  let utterance: GrowingUtterance | null = null;
  let isLull = false;
  /** Up to here, sound may be the rest of interrupted speech, of which even a moment counts as speech. */
  let mayGoOnUntil = setup.goesOn ? setup.startSample + hangover : setup.startSample;

  function toWindows(ms: number) {
    return Math.ceil(toSamples(ms) / windowSize);
  }

  function openLeveller(startSample: number) {
    return createLeveller({
      startSample,
      windowSize,
      peak: fromDb(options.levelPeakDb),
      maxGain: 10 ** (options.levelGainDb / 20),
      memoryWindows: toWindows(options.levelMemoryMs),
    });
  }

  // ── what the detector hears ───────────────────────────────────────────────────────────────────────────────────

  function wholeWindows() {
    return Math.min(BATCH_WINDOWS, Math.floor((audio.end - judged) / windowSize));
  }

  /** Every decision is made window by window, so that it does not depend on how the audio was split. */
  async function judge() {
    for (let windows = wholeWindows(); windows > 0; windows = wholeWindows()) {
      const to = judged + windows * windowSize;
      measure(to);
      let probabilities: Float32Array | null = null; // of the windows up to `to`
      while (judged < to) {
        lookAt(judged);
        if (isWorthAsking()) probabilities ??= await listen(to);
        else probabilities = null;
        listening = probabilities !== null;
        const probability = probabilities?.at((judged - to) / windowSize) ?? 0;
        judged += windowSize;
        if (utterance) goOn(probability);
        else wait(probability);
      }
      forget();
    }
  }

  function measure(to: number) {
    while (leveller.end < to) leveller.add(audio.view(leveller.end, leveller.end + windowSize));
  }

  /** Passes each window through the loudness test once, also where the detector failed on it. */
  function lookAt(position: number) {
    if (position < looked) return;
    looked = position + windowSize;
    if (look.worthIt(audio.view(position, looked))) noticed = Math.max(noticed, looked);
  }

  /** Returns the detector's probabilities of the windows before `to`; the last ones are those from `judged` on. */
  async function listen(to: number): Promise<Float32Array> {
    const from = listenFrom();
    listening = false; // if the detector fails, it starts with fresh state
    return detector.probabilities(leveller.level(audio.view(from, to), from));
  }

  function isWorthAsking() {
    return utterance !== null || beginning !== null || noticed > judged;
  }

  /** Position at which the detector continues, or begins. */
  function listenFrom(): number {
    if (listening) return judged;
    detector.reset();
    return judged - Math.min(leadIn, floorTo(judged - audio.start, windowSize));
  }

  // ── one window ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Handles a window while closed. */
  function wait(probability: number) {
    if (judged <= mayGoOnUntil && probability >= options.stayAt) return begin(judged - windowSize);
    run = probability >= options.openAt ? run + 1 : 0;
    if (run >= options.openWindows) beginning ??= judged - run * windowSize;
    if (beginning === null) return;
    beginning = Math.max(beginning, judged - UNDECIDED);
    if (judged - beginning < STEADY_TONE_SAMPLES) return;
    if (!isTone()) begin(beginning);
    else if (run === 0) beginning = null;
  }

  /** Whether the processed audio ends in a steady tone, as far as there is enough of it to tell. */
  function isTone(): boolean {
    const from = judged - STEADY_TONE_SAMPLES;
    return from >= audio.start && isSteadyTone(audio.view(from, judged));
  }

  /** Handles a window while open. */
  function goOn(probability: number) {
    if (probability >= options.stayAt) lastSpeech = judged;
    handOut();
    if (utterance) noteLull();
    if (judged - lastSpeech >= hangover) finish(judged);
  }

  function noteLull() {
    const wasLull = isLull;
    isLull = judged - lastSpeech >= lull;
    if (isLull !== wasLull) setup.onLull?.(isLull ? lastSpeech : null);
  }

  // ── the utterance ─────────────────────────────────────────────────────────────────────────────────────────────

  function begin(firstSpeech: number) {
    lastSpeech = judged;
    open(Math.max(firstSpeech - preRoll, settled, audio.start));
    handOut();
  }

  function open(startSample: number) {
    run = 0;
    beginning = null;
    isLull = false;
    utterance = createUtterance({ startSample, channel });
    onUtterance(utterance);
  }

  /** Hands out the processed audio, except for the part in which an utterance of maximum length may still be cut. */
  function handOut() {
    if (!utterance) return;
    const free = utterance.startSample + freeLength;
    give(Math.min(judged, free));
    if (judged + windowSize <= utterance.startSample + maxLength) return;
    const cut = free + quietestPoint(audio.view(free, judged));
    finish(cut);
    if (cut >= lastSpeech) return; // only silence is left
    open(cut);
    give(judged);
  }

  function give(to: number) {
    if (utterance && to > utterance.endSample) utterance.append(audio.view(utterance.endSample, to));
  }

  function finish(at: number) {
    if (!utterance) return;
    give(at);
    utterance.end();
    utterance = null;
    settled = at;
  }

  // ── what is behind ────────────────────────────────────────────────────────────────────────────────────────────

  /** Where an utterance would begin if speech follows. */
  function mayBegin() {
    return beginning ?? judged - run * windowSize;
  }

  function silentThrough(): number {
    return utterance?.endSample ?? Math.max(settled, mayBegin() - preRoll);
  }

  /** Drops the audio that neither an utterance nor the detector can need again. */
  function forget() {
    audio.release(Math.min(silentThrough(), judged - Math.max(leadIn, STEADY_TONE_SAMPLES)));
    leveller.release(judged - leadIn);
  }

  /** Ends the open utterance, and starts with fresh state at `position`. */
  function restart(position: number) {
    if (mayBegin() < judged && !isTone()) begin(mayBegin());
    // Interrupted speech may continue without another rise, and end within a moment.
    noticed = utterance ? position + lookHold : position;
    mayGoOnUntil = utterance ? position + hangover : position;
    finish(audio.end);
    audio = createSampleBuffer(position);
    leveller = openLeveller(position);
    judged = position;
    looked = position;
    settled = position;
    listening = false;
    run = 0;
    beginning = null;
  }

  return {
    push(samples) {
      audio.append(samples);
      return wholeWindows() > 0 ? judge() : undefined;
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
    get inSpeech() {
      return utterance !== null || mayBegin() < judged;
    },
    get lastSpeech() {
      return lastSpeech;
    },
  };
}

function toSamples(ms: number): number {
  return Math.round((ms * SAMPLE_RATE) / 1000);
}

function floorTo(value: number, step: number): number {
  return value - (value % step);
}
