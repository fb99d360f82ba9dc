import type { Clock } from '../contract/model.ts';
import type { SttProvider } from '../contract/plugin.ts';
import type { AppError } from '../runtime/errors.ts';

/** Remembers for each running recogniser whether its last opening succeeded. */
export interface Openings {
  /** @param failure null: it was opened */
  tell(stt: SttProvider, failure: AppError | null): void;
  /** Returns the failure of the last opening; null: it succeeded, or none was tried. `at` is epoch ms. */
  failureOf(stt: SttProvider): { error: AppError; at: number } | null;
}

export function createOpenings(clock: Pick<Clock, 'now'>): Openings {
  const failures = new WeakMap<SttProvider, { error: AppError; at: number }>();
  return {
    tell(stt, error) {
      if (error) failures.set(stt, { error, at: clock.now() });
      else failures.delete(stt);
    },
    failureOf: stt => failures.get(stt) ?? null,
  };
}
