/**
 * Settles with `work`, or rejects as soon as `lost` tells why there is no point in waiting, or after `limitMs`.
 * `lost` must not outlive the call by much, since it keeps hold of it.
 * Bluetooth libraries leave calls pending for ever when a device goes away, so none of theirs is awaited bare.
 */
export async function guard<T>(
  what: string,
  work: Promise<T>,
  { limitMs, lost }: { limitMs: number; lost?: Promise<string> },
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TimeLimitError(`${what} took more than ${limitMs} ms`)), limitMs);
  const gone = lost?.then((reason): never => {
    throw new LinkLostError(`${what}: ${reason}`);
  });
  try {
    return await Promise.race(gone ? [work, gone, late] : [work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {}); // it may fail later, when nobody waits for it any more
    gone?.catch(() => {});
  }
}

export class TimeLimitError extends Error {}
export class LinkLostError extends Error {}
