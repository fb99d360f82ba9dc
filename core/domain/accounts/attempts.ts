import { createHash } from 'node:crypto';
import type { Clock } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { networkOf } from '../network.ts';

const MINUTE_MS = 60_000;
const WINDOW_MS = 15 * MINUTE_MS;
/** Allowed failures per window from one address, whatever the names. */
const MAX_BY_ADDRESS = 50;
/**
 * Allowed failures per name: together for all addresses without an earlier sign-in, and for each address with one.
 */
const MAX_BY_NAME = 10;
/** How long an address is remembered from which somebody has signed in. */
const KNOWN_MS = 30 * 24 * 60 * MINUTE_MS;

/** An attempt to sign in from an IP address, under a name that may not exist. */
export interface Attempt {
  name: string;
  address: string;
}

/**
 * Limits failed sign-ins. A stranger who keeps trying uses up the strangers' allowance, and not that of the address
 * from which the owner signs in. Counts are stored, so a restart does not reset them. A window is never extended.
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
    /**
     * Counts the attempt before its outcome is known. Throws `rate_limited`, with the time to wait, where there were
     * too many.
     */
    async begin(attempt: Attempt): Promise<void> {
      await attempts.prune(clock.now());
      const { byAddress, byName } = await keysOf(attempt);
      await count(byAddress, MAX_BY_ADDRESS);
      await count(byName, MAX_BY_NAME);
    },

    /** Called when the password was right. */
    async succeed(attempt: Attempt): Promise<void> {
      const now = clock.now();
      const { known, byAddress, byName } = await keysOf(attempt);
      await attempts.add(byAddress, -1, now, now + WINDOW_MS); // one account's success must not erase failures for other names
      await attempts.remove(byName);
      await attempts.remove(known);
      await attempts.add(known, 1, now, now + KNOWN_MS);
    },

    /** Clears the failures of this name. */
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

/** Hashes the entered name, because it may be a password typed into the wrong field. */
function hashed(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('base64url');
}
