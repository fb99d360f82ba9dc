import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../contract/model.ts';
import { AppError } from './errors.ts';

export interface Limit {
  limitMs: number;
  /** Creates the error for work that takes too long. */
  late: () => Error;
  /** Absent: real time. */
  clock?: Pick<Clock, 'sleep'>;
}

/**
 * Settles as `work` does, or rejects with the signal's reason as soon as that is aborted. Leaves no listener on the
 * signal, however long that lives: `AbortSignal.any` and a bare `Promise.race` would.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Runs `work` for at most `limitMs`: settles as it does, or rejects with the error of `late`, or with the signal's
 * reason, also where `work` ignores its own signal, which is aborted with the same error. Leaves no timer and no
 * listener behind. Does not start if the signal is already aborted.
 */
export async function deadline<T>(
  { limitMs, late, clock }: Limit,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const stopper = new AbortController();
  const done = new AbortController();
  const pass = () => stopper.abort(signal?.reason);
  signal?.addEventListener('abort', pass, { once: true });
  const time = clock?.sleep(limitMs, done.signal) ?? sleep(limitMs, undefined, { signal: done.signal });
  time.then(
    () => stopper.abort(late()),
    () => undefined, // the work was done in time
  );
  try {
    return await orAborted(work(stopper.signal), stopper.signal);
  } finally {
    done.abort();
    signal?.removeEventListener('abort', pass);
  }
}

/** Runs `work` as `deadline` does; rejects with `timeout` when it takes longer. */
export function withinLimit<T>(
  { clock, limitMs, what }: { clock: Clock; limitMs: number; what: string },
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = () => new AppError('timeout', `no ${what} within ${limitMs} ms`);
  return deadline({ clock, limitMs, late }, work, signal);
}

/** Waits until `work` has settled, at most for `limitMs`. Never rejects, and leaves no timer behind. */
export async function waitAtMost(
  { clock, limitMs }: { clock: Pick<Clock, 'sleep'>; limitMs: number },
  work: Promise<unknown>,
): Promise<void> {
  const done = new AbortController();
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  await Promise.race([settled, clock.sleep(limitMs, done.signal).catch(() => undefined)]);
  done.abort();
}

interface LinkedAbort {
  signal: AbortSignal;
  abort(reason: Error): void;
  /** Rejects with the reason, and never resolves. */
  happened: Promise<never>;
  release(): void;
}

/**
 * Creates an abort controller that follows `signal`. Once released, it leaves nothing behind on
 * `signal`, which lives as long as the connection: `AbortSignal.any` would keep each of thousands of utterances with
 * it, and everything that a listener sees. `happened` never resolves; it rejects with the reason.
 */
export function linkedAbort(signal: AbortSignal): LinkedAbort {
  const own = new AbortController();
  const { promise: happened, reject } = Promise.withResolvers<never>();
  happened.catch(() => {});
  const pass = () => own.abort(signal.reason);
  own.signal.addEventListener('abort', () => reject(own.signal.reason), { once: true });
  signal.addEventListener('abort', pass, { once: true });
  if (signal.aborted) pass();
  return {
    signal: own.signal,
    abort: (reason: Error) => own.abort(reason),
    happened,
    release: () => signal.removeEventListener('abort', pass),
  };
}

/**
 * Returns a wait for one piece of work after the other, which rejects with `signal`'s reason once that is aborted. It
 * costs one listener in all, where `orAborted` adds and removes one for each wait.
 */
export function abortableWait(signal: AbortSignal): <T>(work: Promise<T>) => Promise<T> {
  let giveUp = () => {};
  signal.addEventListener('abort', () => giveUp(), { once: true });
  return work =>
    new Promise((resolve, reject) => {
      giveUp = () => reject(signal.reason);
      if (signal.aborted) giveUp();
      work.then(resolve, reject);
    });
}
