/** Answers that were read last, for while the server is away. The browser keeps them until their account signs out. */

/** The service worker leaves it alone. */
const NAME = 'earshot-data';
const MOST = 60;

/** Over plain HTTP browsers keep nothing: then there is nothing to read offline. */
const isThere = 'caches' in globalThis;

export async function keep(path: string, value: unknown): Promise<void> {
  if (!isThere) return;
  const cache = await caches.open(NAME);
  await cache.delete(path); // the oldest are first
  await cache.put(path, Response.json(value));
  const paths = await cache.keys();
  for (const old of paths.slice(0, Math.max(0, paths.length - MOST))) await cache.delete(old);
}

/** Null: it is not kept. */
export async function recall<T>(path: string): Promise<T | null> {
  if (!isThere) return null;
  const found = await (await caches.open(NAME)).match(path);
  return found ? found.json() : null;
}

export async function forgetKept(): Promise<void> {
  if (isThere) await caches.delete(NAME);
}
