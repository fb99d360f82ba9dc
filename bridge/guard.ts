/**
 * Settles with `work`, or rejects as soon as `lost` resolves to the reason, or after `limitMs`. `lost` must not live much longer
 * than the call, because it keeps a reference to it. Bluetooth libraries never settle some calls when a device is gone, so
 * every call of theirs needs this guard.
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
    work.catch(() => {}); // it may reject later, when nobody waits for it
    gone?.catch(() => {});
  }
}

export class TimeLimitError extends Error {}
export class LinkLostError extends Error {}
/** The device cannot be used, and a retry would not help soon. */
export class Unfit extends Error {}
