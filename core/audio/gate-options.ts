/** Parameters of the gate. Loudness is in dB of full scale. */
export interface GateOptions {
  /** Speech probability from which a window counts as speech while the gate is closed. */
  openAt: number;
  /** Speech probability from which speech continues while the gate is open. */
  stayAt: number;
  /** Consecutive windows of speech that open the gate. */
  openWindows: number;
  /** Audio before the first window of speech that is included in the utterance. */
  preRollMs: number;
  /** Silence that ends an utterance; it is included as the utterance's end. */
  hangoverMs: number;
  /** Silence after which an utterance probably ends: work on it may begin. */
  lullMs: number;
  /** Longest utterance. */
  maxMs: number;
  /**
   * An utterance of maximum length is cut at the quietest point in its last part of this length, so that part is
   * handed out with a delay.
   */
  cutWithinMs: number;
  /** Rise above the noise floor, in dB, from which the detector runs. */
  lookRiseDb: number;
  /** Mean loudness below which the detector never runs. */
  lookLeastDb: number;
  /** How long the detector keeps running after such a rise. */
  lookHoldMs: number;
  /** The noise floor is the minimum loudness within this time. */
  lookFloorMs: number;
  /** Audio before the rise that the detector processes first, to settle its state. */
  leadInMs: number;
  /** Peak level to which the detector's input is amplified. */
  levelPeakDb: number;
  /** Maximum amplification, in dB. */
  levelGainDb: number;
  /** How long a loud moment limits the amplification. */
  levelMemoryMs: number;
}

export const GATE_DEFAULTS: Readonly<GateOptions> = {
  openAt: 0.5,
  stayAt: 0.35,
  openWindows: 3,
  preRollMs: 300,
  hangoverMs: 550,
  lullMs: 200,
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
