import { AppError } from '../errors.ts';
import type { Clock } from '../model.ts';

/** Rejects with `timeout` when it takes longer, also of a plugin that does not heed its signal. */
export async function withinLimit<T>(
  { clock, limitMs, what }: { clock: Clock; limitMs: number; what: string },
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const done = new AbortController();
  const over = new AbortController();
  const late = clock.sleep(limitMs, done.signal).then(() => {
    const error = new AppError('timeout', `no ${what} within ${limitMs} ms`);
    over.abort(error);
    throw error;
  });
  late.catch(() => {}); // nobody waits for it any more
  try {
    return await Promise.race([work(AbortSignal.any([signal, over.signal])), late]);
  } finally {
    done.abort();
  }
}
