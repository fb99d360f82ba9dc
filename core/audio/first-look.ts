/**
 * A cheap look at loudness that spares the speech detector in plain silence and steady noise. It may take noise for
 * something worth a look, and it must not take speech for silence.
 */
export interface FirstLook {
  /** Whether this window stands out, or one shortly before it did. */
  worthIt(window: Int16Array): boolean;
}

interface LookOptions {
  /** Windows that stay worth a look after one stood out. */
  holdWindows: number;
  /** How far a window must rise above the noise floor, as a ratio of energies. */
  rise: number;
  /** Mean square below which there is nothing to hear, in sample units. */
  leastEnergy: number;
  /** How far back the noise floor looks, in windows. */
  floorWindows: number;
}

export function createFirstLook(options: LookOptions): FirstLook {
  const { leastEnergy, rise } = options;
  const whole = createFloor(options.floorWindows);
  // Differences of neighbours: without the low end, speech stands out from rumble and hum.
  const bright = createFloor(options.floorWindows);
  let hold = 0;

  function standsOut(window: Int16Array): boolean {
    const energy = meanSquare(window);
    const brightness = meanSquareOfDifferences(window);
    // Both floors must see every window.
    const louder = energy > whole.add(energy) * rise;
    const brighter = brightness > bright.add(brightness) * rise;
    return energy > leastEnergy && (louder || brighter);
  }

  return {
    worthIt(window) {
      hold = standsOut(window) ? options.holdWindows : Math.max(0, hold - 1);
      return hold > 0;
    },
  };
}

/** Least energy of the last windows: of the ones before this, so that the first one always stands out. */
function createFloor(windows: number) {
  const PARTS = 4;
  const partLength = Math.ceil(windows / PARTS);
  let leasts: number[] = [];
  let inPart = 0;

  return {
    /** Adds a window's energy and returns the floor before it; 0 while there is no history. */
    add(energy: number): number {
      const floor = leasts.length === 0 ? 0 : Math.min(...leasts);
      if (inPart === 0) leasts = [...leasts.slice(1 - PARTS), energy];
      else leasts[leasts.length - 1] = Math.min(leasts.at(-1) ?? energy, energy);
      inPart = (inPart + 1) % partLength;
      return floor;
    },
  };
}

/** Mean of the squared samples from `from` to `to`. */
export function meanSquare(samples: Int16Array, from = 0, to = samples.length): number {
  let sum = 0;
  for (let i = from; i < to; i++) {
    const sample = samples[i] ?? 0;
    sum += sample * sample;
  }
  return sum / (to - from);
}

function meanSquareOfDifferences(samples: Int16Array): number {
  let sum = 0;
  for (let i = 1; i < samples.length; i++) {
    const difference = (samples[i] ?? 0) - (samples[i - 1] ?? 0);
    sum += difference * difference;
  }
  return sum / (samples.length - 1);
}
