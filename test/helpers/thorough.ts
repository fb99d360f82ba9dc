/** Whether tests run in full: `npm run torture -- tests`. Tests with many repetitions do fewer in `npm test`. */
export const isThorough = process.env.EARSHOT_TEST_THOROUGH === '1';

/** Number of repetitions, or amount of data. */
export function amount(usual: number, thorough: number): number {
  return isThorough ? thorough : usual;
}
