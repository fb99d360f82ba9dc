import { meanSquare, meanSquareOfDifferences } from './loudness.ts';

/**
 * A cheap loudness test that saves the speech detector's work in silence and steady noise. It may pass noise on, but
 * must not take speech for silence.
 */
export interface FirstLook {
  /** Whether this window, or one shortly before it, stands out from the noise. */
  worthIt(window: Int16Array): boolean;
}

interface LookOptions {
  /** Windows that are passed on after one that stood out. */
  holdWindows: number;
  /** How far a window must rise above the noise floor, as a ratio of energies. */
  rise: number;
  /** Mean square below which nothing is audible, in sample units. */
  leastEnergy: number;
  /** Length of the history for the noise floor, in windows. */
  floorWindows: number;
}

/**
 * Distances, in samples, of the differences that are watched: energy around 2 kHz, where vowels are, and around 8 kHz,
 * where hissing sounds are. Both leave out the low end, where the loudness of rumble and wind is never steady.
 */
const DISTANCES = [4, 1];

export function createFirstLook({ holdWindows, rise, leastEnergy, floorWindows }: LookOptions): FirstLook {
  const bands = DISTANCES.map(distance => ({ distance, floor: createFloor(floorWindows) }));
  let hold = 0;

  function standsOut(window: Int16Array): boolean {
    let rises = false;
    for (const { distance, floor } of bands) {
      const energy = meanSquareOfDifferences(window, distance);
      if (energy > floor.add(energy) * rise) rises = true; // no short-circuit: every floor must see every window
    }
    return rises && meanSquare(window) > leastEnergy;
  }

  return {
    worthIt(window) {
      hold = standsOut(window) ? holdWindows : Math.max(0, hold - 1);
      return hold > 0;
    },
  };
}

/** Tracks the least energy of the windows before the one added, so that the first one always stands out. */
function createFloor(windows: number) {
  const PARTS = 4;
  const partLength = Math.ceil(windows / PARTS);
  let leasts: number[] = [];
  let inPart = 0;

  return {
    /** Adds a window's energy, and returns the floor before it; 0 while there is no history. */
    add(energy: number): number {
      const floor = leasts.length === 0 ? 0 : Math.min(...leasts);
      if (inPart === 0) leasts = [...leasts.slice(1 - PARTS), energy];
      else leasts[leasts.length - 1] = Math.min(leasts.at(-1) ?? energy, energy);
      inPart = (inPart + 1) % partLength;
      return floor;
    },
  };
}
