import type { Clock } from '../contract/model.ts';
import type { SttProvider } from '../contract/plugin.ts';
import type { AppError } from '../runtime/errors.ts';

/** Remembers of each running recogniser whether it could be opened when it was asked last. */
export interface Openings {
  /** @param failure null: it has opened */
  tell(stt: SttProvider, failure: AppError | null): void;
  /** Null: it opened, or nobody has asked it since its plugin started. `at` is epoch ms. */
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
