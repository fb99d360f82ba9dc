/** Parameters of the gate. Loudness is in dB of full scale. */
export interface GateOptions {
  /** Speech probability from which a window counts as speech while the gate is shut. */
  openAt: number;
  /** Probability from which speech goes on while the gate is open. */
  stayAt: number;
  /** Consecutive windows of speech that make a beginning. */
  openWindows: number;
  /** Audio before the first window of speech that belongs to the utterance. */
  preRollMs: number;
  /** Silence that ends an utterance, and is its last part. */
  hangoverMs: number;
  /** Longest utterance. */
  maxMs: number;
  /** A longest utterance is cut at the quietest point in its last part of this length, which is handed out late. */
  cutWithinMs: number;
  /** Rise above the noise floor from which the detector is asked, dB. */
  lookRiseDb: number;
  /** Mean loudness below which it is never asked. */
  lookLeastDb: number;
  /** How long it is asked on after such a rise. */
  lookHoldMs: number;
  /** The noise floor is the least loudness within this. */
  lookFloorMs: number;
  /** Audio before the rise that the detector hears first, to find its feet. */
  leadInMs: number;
  /** Peak to which the detector's input is amplified … */
  levelPeakDb: number;
  /** … by at most this, dB … */
  levelGainDb: number;
  /** … and a loud moment counts for this long. */
  levelMemoryMs: number;
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
  levelPeakDb: -6,
  levelGainDb: 30,
  levelMemoryMs: 1000,
};
