/**
 * Creates an abort controller that follows `signal`. Released when it is done with, it leaves nothing behind on
 * `signal`, which lives as long as the connection: `AbortSignal.any` would keep each of thousands of utterances with
 * it, and everything that a listener sees. `happened` never resolves; it rejects with the reason.
 */
export function linkedAbort(signal: AbortSignal) {
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
