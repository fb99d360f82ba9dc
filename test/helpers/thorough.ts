/**
 * Whether tests are to use all they have: `npm run torture -- --tests`. Those that repeat something very often, and
 * prove little more each time, do less of it in `npm test`.
 */
export const isThorough = process.env.EARSHOT_THOROUGH === '1';

/** How often, or how much. */
export function amount(usual: number, thorough: number): number {
  return isThorough ? thorough : usual;
}
