/**
 * Optimistic locking: a change names the values that it is based on, so that no concurrent change is overwritten
 * unnoticed.
 */
import { AppError } from '../runtime/errors.ts';

/**
 * `conflict`, with both versions, where a field is no longer as expected; one that already has the new value is fine.
 * @param current values of the fields, by their names on the wire
 */
export function checkExpected<Fields extends object>(
  current: Fields,
  expected: Partial<Fields> | undefined,
  changes: Partial<Fields>,
): void {
  const names = Object.keys(expected ?? {}) as (keyof Fields & string)[]; // validated: they are fields
  const isOther = (name: keyof Fields) =>
    current[name] !== expected?.[name] && current[name] !== changes[name];
  if (!names.some(isOther)) return;
  const pick = (from: Partial<Fields>) => Object.fromEntries(names.map(name => [name, from[name]]));
  const message = `${names.filter(isOther).join(', ')} was changed meanwhile: nothing was written`;
  throw new AppError('conflict', message, {
    detail: { code: 'changed', message, current: pick(current), yours: pick(changes) },
  });
}
