import { createSampleBuffer } from './sample-buffer.ts';

/**
 * Brings quiet audio up, so that a detector hears a far voice as it hears a near one: speech at -45 dBFS is missed for
 * seconds otherwise. It never turns down, and never clips: a window is scaled by the loudest sample of itself and the
 * windows shortly before.
 */
export interface Leveller {
  /** Levels the next window. */
  add(window: Int16Array): void;
  /** Levelled samples by position. */
  slice(from: number, to: number): Int16Array<ArrayBuffer>;
  release(position: number): void;
  /** Position after the last window. */
  readonly end: number;
}

interface LevellerOptions {
  startSample: number;
  /** Sample value to which the loudest one is brought. */
  peak: number;
  /** Greatest factor. */
  maxGain: number;
  /** How long a loud window counts, in windows. */
  memoryWindows: number;
}

export function createLeveller(options: LevellerOptions): Leveller {
  const levelled = createSampleBuffer(options.startSample);
  let peaks: number[] = [];

  return {
    add(window) {
      peaks = [...peaks.slice(1 - options.memoryWindows), peakOf(window)];
      const gain = Math.max(1, Math.min(options.maxGain, options.peak / Math.max(...peaks)));
      levelled.append(window.map(sample => sample * gain));
    },
    slice: levelled.slice,
    release: levelled.release,
    get end() {
      return levelled.end;
    },
  };
}

function peakOf(samples: Int16Array): number {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}
