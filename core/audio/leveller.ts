/**
 * Brings quiet audio up, so that a detector hears a far voice as it hears a near one: speech at -45 dBFS is missed for
 * seconds otherwise. It never turns down, and never clips: a window is scaled by the loudest sample of itself and the
 * windows shortly before.
 */
export interface Leveller {
  /** Records the loudness of the next window. */
  add(window: Int16Array): void;
  /**
   * Returns these samples levelled: whole windows that were added, the first of which begins at `position`.
   */
  level(samples: Int16Array, position: number): Int16Array<ArrayBuffer>;
  /** Allows windows before `position` to be dropped. */
  release(position: number): void;
  /** Position after the last window. */
  readonly end: number;
}

interface LevellerOptions {
  startSample: number;
  windowSize: number;
  /** Target for the loudest sample. */
  peak: number;
  /** Maximum gain, as a factor. */
  maxGain: number;
  /** Number of windows for which a loud one limits the gain. */
  memoryWindows: number;
}

export function createLeveller(options: LevellerOptions): Leveller {
  const { startSample, windowSize, memoryWindows } = options;
  /** Peaks of the last windows; the first of them is window number `forgotten`. */
  const peaks: number[] = [];
  let forgotten = 0;

  const windowAt = (position: number) => (position - startSample) / windowSize;

  function gainOf(window: number): number {
    const last = window - forgotten;
    let peak = 0;
    for (let i = Math.max(0, last + 1 - memoryWindows); i <= last; i++) peak = Math.max(peak, peaks[i] ?? 0);
    return Math.max(1, Math.min(options.maxGain, options.peak / peak));
  }

  return {
    add(window) {
      peaks.push(peakOf(window));
    },
    level(samples, position) {
      const levelled = new Int16Array(samples.length);
      for (let start = 0; start < samples.length; start += windowSize) {
        const gain = gainOf(windowAt(position + start));
        for (let i = start; i < start + windowSize; i++) levelled[i] = (samples[i] ?? 0) * gain;
      }
      return levelled;
    },
    release(position) {
      const surplus = windowAt(position) - memoryWindows - forgotten;
      if (surplus > memoryWindows) forgotten += peaks.splice(0, surplus).length; // only now and then, because it moves the remaining peaks
    },
    get end() {
      return startSample + (forgotten + peaks.length) * windowSize;
    },
  };
}

function peakOf(samples: Int16Array): number {
  let peak = 0;
  for (let i = 0; i < samples.length; i++) {
    const level = Math.abs(samples[i] ?? 0);
    if (level > peak) peak = level;
  }
  return peak;
}
