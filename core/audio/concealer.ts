import { SAMPLE_RATE } from './pcm.ts';

/** Fills short losses in 16 kHz mono audio by repeating the last pitch period, for codecs that have no way of their own. */
export interface Concealer {
  /** Takes audio that arrived, in order. After a loss, its beginning is blended in place with the concealment. */
  heard(pcm: Int16Array): void;
  /** Returns this many samples of concealment, which fade out in a long loss. */
  conceal(samples: number): Int16Array;
  /** Drops the history. */
  reset(): void;
}

/** Pitch of human voices: 60 to 400 Hz. */
const LAGS = { min: SAMPLE_RATE / 400, max: Math.round(SAMPLE_RATE / 60) };
/**
 * Window over which pitch periods are compared: 2.5 ms. It preserves the spectrum of the lost audio better than 5 to 20
 * ms.
 */
const COMPARED = SAMPLE_RATE / 400;
const HISTORY = LAGS.max + COMPARED;
/** Concealment keeps its loudness for 10 ms, and is silent after 60 ms, as in ITU-T G.711 appendix I. */
const FULL = SAMPLE_RATE / 100;
const SILENT = (SAMPLE_RATE * 6) / 100;
/** Length of the blend from concealment to arriving audio: 2 ms. */
const BLEND = SAMPLE_RATE / 500;

export function createConcealer(): Concealer {
  const history = new Int16Array(HISTORY);
  let known = 0;
  /** The pitch period that is repeated; null: the last audio arrived. */
  let period: Int16Array | null = null;
  /** Samples of concealment since then. */
  let made = 0;

  function remember(pcm: Int16Array) {
    const kept = pcm.subarray(-HISTORY);
    history.copyWithin(0, kept.length);
    history.set(kept, HISTORY - kept.length);
    known = Math.min(HISTORY, known + kept.length);
  }

  function next(): number {
    const gain = 1 - Math.max(0, made - FULL) / (SILENT - FULL);
    const sample = period?.[made % period.length] ?? 0;
    made += 1;
    return gain > 0 ? sample * gain : 0;
  }

  return {
    heard(pcm) {
      if (period) {
        const length = Math.min(BLEND, pcm.length);
        for (let i = 0; i < length; i++) {
          const share = (i + 1) / (length + 1);
          pcm[i] = Math.round((pcm[i] ?? 0) * share + next() * (1 - share));
        }
        period = null;
      }
      remember(pcm);
    },
    conceal(samples) {
      if (!period) {
        period = history.slice(HISTORY - pitchPeriod(history, known));
        made = 0;
      }
      return Int16Array.from({ length: samples }, () => Math.round(next()));
    },
    reset() {
      history.fill(0);
      known = 0;
      period = null;
    },
  };
}

/** Returns the lag at which the end of the history is most similar to what came before it. */
function pitchPeriod(history: Int16Array, known: number): number {
  const longest = Math.min(LAGS.max, known - COMPARED);
  let best = { lag: LAGS.max, likeness: 0 };
  for (let lag = LAGS.min; lag <= longest; lag++) {
    const likeness = correlation(history, lag);
    if (likeness > best.likeness) best = { lag, likeness };
  }
  return best.lag;
}

/** Normalised correlation, -1 to 1. */
function correlation(history: Int16Array, lag: number): number {
  let [product, energy, earlierEnergy] = [0, 0, 0];
  for (let i = HISTORY - COMPARED; i < HISTORY; i++) {
    const sample = history[i] ?? 0;
    const earlier = history[i - lag] ?? 0;
    product += sample * earlier;
    energy += sample * sample;
    earlierEnergy += earlier * earlier;
  }
  return product / Math.sqrt(energy * earlierEnergy || 1);
}
