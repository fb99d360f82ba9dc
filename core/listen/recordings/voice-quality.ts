/** Decides whether a recording is good enough for a voice print. Pure. */
import { fromDb, meanSquare } from '../../audio/loudness.ts';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import { assign, type Cluster, type HeardVoice } from '../../domain/speech/voice-clusters.ts';

/** Reason why it is not. */
export type Flaw = 'too_short' | 'too_quiet' | 'too_loud' | 'too_noisy' | 'several_voices';

/** Seconds of speech needed. */
export const LEAST_SPEECH_SECONDS = 8;
const FRAME = SAMPLE_RATE / 50;
/** Quantiles of the loudness of frames: background noise and speech. */
const BACKGROUND = 0.1;
const SPEECH = 0.9;
const LEAST_LOUDNESS = fromDb(-50) ** 2;
/** Ratio of energies between speech and background: 15 dB. */
const LEAST_DISTANCE = 10 ** 1.5;
/** Share of clipped samples from which a recording counts as distorted. */
const MOST_CLIPPED = 0.001;
const FULL_SCALE = 32_700;
/** Minimum speech, and share of it, of a second voice: less may be a single sound of the first. */
const OTHER_VOICE_SECONDS = 2.5;
const OTHER_VOICE_SHARE = 0.1;

/** Measures loudness while a recording is read. */
export function createLoudnessMeter() {
  const energies: number[] = [];
  let samples = 0;
  let clipped = 0;

  return {
    push(piece: Int16Array): void {
      for (let at = 0; at + FRAME <= piece.length; at += FRAME)
        energies.push(meanSquare(piece, at, at + FRAME));
      for (const sample of piece) if (Math.abs(sample) >= FULL_SCALE) clipped += 1;
      samples += piece.length;
    },
    /** Returns the reason to reject it; null: none. */
    flaw(): Flaw | null {
      const sorted = Float64Array.from(energies).sort();
      const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
      if (at(SPEECH) < LEAST_LOUDNESS) return 'too_quiet';
      if (clipped > MOST_CLIPPED * samples) return 'too_loud';
      return at(SPEECH) < LEAST_DISTANCE * at(BACKGROUND) ? 'too_noisy' : null;
    },
  };
}

/** Returns whether pieces of speech are of more than one voice. */
export function areSeveral(pieces: readonly HeardVoice[], sameVoice: number): boolean {
  const clusters = new Map<number, Cluster>();
  for (const piece of pieces) {
    const cluster = assign([...clusters.values()], piece, null, sameVoice);
    clusters.set(cluster.speakerId, cluster);
  }
  const seconds = [...clusters.values()].map(cluster => cluster.seconds).sort((a, b) => b - a);
  const all = seconds.reduce((sum, each) => sum + each, 0);
  return (seconds[1] ?? 0) >= Math.max(OTHER_VOICE_SECONDS, OTHER_VOICE_SHARE * all);
}
