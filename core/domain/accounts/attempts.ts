import { createHash } from 'node:crypto';
import type { Clock } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { networkOf } from '../network.ts';

const MINUTE_MS = 60_000;
const WINDOW_MS = 15 * MINUTE_MS;
/** In each window: what fails from one address, whatever the names. */
const MAX_BY_ADDRESS = 50;
/** Failures allowed per name: for all addresses without an earlier sign-in together, and for each address with one. */
const MAX_BY_NAME = 10;
/** An address from which somebody has signed in stays known for so long. */
const KNOWN_MS = 30 * 24 * 60 * MINUTE_MS;

/** Someone tries to sign in: under a name that may be nobody's, from an IP address. */
export interface Attempt {
  name: string;
  address: string;
}

/**
 * How often signing in may fail. A stranger who tries all day uses up what strangers have, and not what is left to the
 * address that the owner signs in from. Counts are stored: a restart forgets none. A window is never extended.
 */
export function createAttempts({ storage: { attempts }, clock }: { storage: Storage; clock: Clock }) {
  async function count(key: string, most: number): Promise<void> {
    const now = clock.now();
    const { count, until } = await attempts.add(key, 1, now, now + WINDOW_MS);
    if (count > most) throw tooMany(until - now);
  }

  async function keysOf({ name, address }: Attempt) {
    const network = networkOf(address);
    const known = hashed('known', name, network);
    const isKnown = (await attempts.get(known, clock.now())) !== null;
    return {
      known,
      byAddress: hashed('address', network),
      byName: isKnown ? hashed('name and address', name, network) : hashed('name', name),
    };
  }

  return {
    /** Counts it, before it is known how it ends. Throws `rate_limited`, with when to come again, where there were too many. */
    async begin(attempt: Attempt): Promise<void> {
      await attempts.prune(clock.now());
      const { byAddress, byName } = await keysOf(attempt);
      await count(byAddress, MAX_BY_ADDRESS);
      await count(byName, MAX_BY_NAME);
    },

    /** It was the right password. */
    async succeed(attempt: Attempt): Promise<void> {
      const now = clock.now();
      const { known, byAddress, byName } = await keysOf(attempt);
      await attempts.add(byAddress, -1, now, now + WINDOW_MS); // who has an account may not wipe out what failed for others
      await attempts.remove(byName);
      await attempts.remove(known);
      await attempts.add(known, 1, now, now + KNOWN_MS);
    },

    /** Whoever tried for this name before may try again. */
    async forget(name: string): Promise<void> {
      await attempts.remove(hashed('name', name));
    },
  };
}

function tooMany(ms: number): AppError {
  const minutes = Math.ceil(ms / MINUTE_MS);
  return new AppError(
    'rate_limited',
    `Signing in failed too often: try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}`,
    { retryAfter: ms / 1000 },
  );
}

/** Hashes what was typed as a name, because it may be a password. */
function hashed(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('base64url');
}
