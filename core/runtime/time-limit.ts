import type { Clock } from '../contract/model.ts';
import { deadline } from './deadline.ts';
import { AppError } from './errors.ts';

/** As `deadline`, with `timeout` for work that takes longer. */
export function withinLimit<T>(
  { clock, limitMs, what }: { clock: Clock; limitMs: number; what: string },
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = () => new AppError('timeout', `no ${what} within ${limitMs} ms`);
  return deadline({ clock, limitMs, late }, work, signal);
}
