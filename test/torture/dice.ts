import { random } from '../helpers/sound.ts';

export interface Dice {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number from `from` to `to`. */
  between(from: number, to: number): number;
  pick<T>(choices: readonly T[]): T;
}

/** The same throws for the same seed. */
export function createDice(seed: number): Dice {
  const roll = random(seed);
  const next = () => Math.min((roll() + 1) / 2, 1 - Number.EPSILON);
  return {
    next,
    between: (from, to) => Math.floor(from + next() * (to - from + 1)),
    pick: choices => choices[Math.floor(next() * choices.length)] as (typeof choices)[number],
  };
}
