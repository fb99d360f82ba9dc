import { random } from '../helpers/sound.ts';

export interface Dice {
  /** At least 0 and below 1. */
  next(): number;
  /** A whole number between `from` and `to`, both included. */
  between(from: number, to: number): number;
  pick<T>(choices: readonly T[]): T;
}

/** Creates random numbers, always the same for a seed. */
export function createDice(seed: number): Dice {
  const roll = random(seed);
  const next = () => Math.min((roll() + 1) / 2, 1 - Number.EPSILON);
  return {
    next,
    between: (from, to) => Math.floor(from + next() * (to - from + 1)),
    pick: choices => choices[Math.floor(next() * choices.length)] as (typeof choices)[number],
  };
}
