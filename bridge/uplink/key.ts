import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { askLocalCore, type LocalCore } from './local-core.ts';

/** Source of the bridge's API key. */
export interface KeySource {
  /** Returns the key, and waits for it if necessary. Rejects only when aborted. */
  get(signal: AbortSignal): Promise<string>;
  /** Reports that core refused the key. @returns whether `get` will return another one, so that a retry makes sense */
  refused(): boolean;
}

/** Provides the configured key. */
export function fixedKey(key: string): KeySource {
  return { get: async () => key, refused: () => false };
}

/** Message that tells how to get a key for a bridge on another machine. */
export const MAKE_KEY =
  'create one where core runs (earshot key <account> --scopes listen), and set bridge.keyFile to a file with it';

/**
 * Provides a key that the core on the same data directory creates once for this bridge. It is kept in a file that only
 * this account can read.
 */
export function keyFromCore({ account, ...core }: LocalCore & { account: string }): KeySource {
  const { dataDir, log } = core;
  const file = join(dataDir, 'bridge', 'key');
  let known: Promise<string> | null = null;
  /** Callers that wait for the key. The last one that gives up ends the search. */
  let waiting = 0;
  let search = new AbortController();
  let isStale = false;
  let isFresh = false;

  async function obtain(signal: AbortSignal): Promise<string> {
    if (isStale) await rm(file, { force: true });
    isStale = false;
    const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
    if (kept) return kept;
    const question = {
      command: 'key',
      args: { user: account, scopes: ['listen'], name: 'bridge' },
      result: z.object({ key: z.string().min(1) }),
      missing: 'API key',
      wayOut: `start core on the data directory ${dataDir}, or ${MAKE_KEY}`,
    };
    const { key } = await askLocalCore(core, question, signal);
    isFresh = true;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, `${key}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
    log.info({ file }, 'core created an API key for the bridge');
    return key;
  }

  function find(): Promise<string> {
    search = new AbortController();
    const found = obtain(search.signal).catch(error => {
      if (known === found) known = null;
      throw error;
    });
    found.catch(() => {}); // all callers may have gone
    return found;
  }

  return {
    async get(signal) {
      known ??= find();
      waiting += 1;
      try {
        return await orAborted(known, signal);
      } finally {
        waiting -= 1;
        if (waiting === 0 && signal.aborted) {
          search.abort(signal.reason);
          known = null;
        }
      }
    },
    refused() {
      known = null;
      isStale = true;
      const isWorthIt = !isFresh; // a new key would be refused just like this one, which was created a moment ago
      isFresh = false;
      return isWorthIt;
    },
  };
}

/** Settles with `work`, or rejects when `signal` is aborted. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
