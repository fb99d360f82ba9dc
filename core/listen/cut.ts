/**
 * An end by `signal`, or of our own making. Released when it is over, it leaves nothing behind on `signal`: that one
 * lives as long as the connection, and `AbortSignal.any` would keep each of thousands of utterances with it, and, as
 * a root of its own, everything that a listener sees.
 * `happened` never resolves; it rejects with the reason.
 */
export function cutBy(signal: AbortSignal) {
  const cut = new AbortController();
  const { promise: happened, reject } = Promise.withResolvers<never>();
  happened.catch(() => {});
  const pass = () => cut.abort(signal.reason);
  cut.signal.addEventListener('abort', () => reject(cut.signal.reason), { once: true });
  signal.addEventListener('abort', pass, { once: true });
  if (signal.aborted) pass();
  return {
    signal: cut.signal,
    abort: (reason: Error) => cut.abort(reason),
    happened,
    release: () => signal.removeEventListener('abort', pass),
  };
}

/**
 * Waits for one work after the other: rejects with `signal`'s reason once that is aborted. A race for each would leave
 * what it waited for on the signal's side for as long as that lives.
 */
export function untilCut(signal: AbortSignal): <T>(work: Promise<T>) => Promise<T> {
  let giveUp = () => {};
  signal.addEventListener('abort', () => giveUp(), { once: true });
  return work =>
    new Promise((resolve, reject) => {
      giveUp = () => reject(signal.reason);
      if (signal.aborted) giveUp();
      work.then(resolve, reject);
    });
}

/** What `work` comes to, or a rejection as soon as `signal` is aborted: work that hangs holds nobody up. */
export async function unlessCut<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const cut = cutBy(signal);
  return Promise.race([work, cut.happened]).finally(cut.release);
}
