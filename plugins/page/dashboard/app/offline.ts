/**
 * Caches the last responses for when the server is unreachable. The browser keeps them until the account
 * signs out.
 */

/** The service worker ignores this cache. */
const NAME = 'earshot-data';
const MOST = 60;

/** Over plain HTTP browsers offer no cache, so nothing can be read offline. */
const isThere = 'caches' in globalThis;

export async function keep(path: string, value: unknown): Promise<void> {
  if (!isThere) return;
  const cache = await caches.open(NAME);
  await cache.delete(path); // oldest first
  await cache.put(path, Response.json(value));
  const paths = await cache.keys();
  for (const old of paths.slice(0, Math.max(0, paths.length - MOST))) await cache.delete(old);
}

/** Null: not cached. */
export async function recall<T>(path: string): Promise<T | null> {
  if (!isThere) return null;
  const found = await (await caches.open(NAME)).match(path);
  return found ? found.json() : null;
}

export async function forgetKept(): Promise<void> {
  if (isThere) await caches.delete(NAME);
}
