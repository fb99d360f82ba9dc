import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { IdentityProvider, PluginContext } from '../../../core/contract/plugin.ts';

/** Minimum of OWASP's Password Storage Cheat Sheet: 19 MiB, 2 passes, 1 lane. About 35 ms of one core. */
export const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Hashes waiting to be computed: each takes memory and a thread that also writes files. */
const MAX_WAITING = 32;

type Cost = typeof COST;
type Passwords = NonNullable<IdentityProvider['passwords']>;

interface Hashed extends Cost {
  salt: Buffer;
  hash: Buffer;
}

const derive = promisify(argon2);

/** Stores passwords as argon2id hashes, one PHC string per subject. One hash is computed at a time. */
export function createPasswords(
  { state, error }: Pick<PluginContext<never>, 'state' | 'error'>,
  cost: Cost = COST,
): Passwords {
  /** Compared with when the subject is unknown, so that the answer takes as long. */
  const decoy: Hashed = { ...cost, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (waiting >= MAX_WAITING)
      return Promise.reject(error('unavailable', 'Too many sign in at once: try again', { retryAfter: 1 }));
    waiting += 1;
    const turn = last.then(work).finally(() => {
      waiting -= 1;
    });
    last = turn.catch(() => undefined);
    return turn;
  }

  async function hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    return toPhc({ ...cost, salt, hash: await digest(password, { ...cost, salt }, HASH_BYTES) });
  }

  async function matches(password: string, stored: Hashed): Promise<boolean> {
    return timingSafeEqual(await digest(password, stored, stored.hash.length), stored.hash);
  }

  /** Replaces a hash of another cost while the password is known; a concurrent change of the password wins. */
  async function renew(subject: string, password: string, version: number): Promise<void> {
    await state.compareAndSet(keyOf(subject), version, await inTurn(() => hash(password)));
  }

  return {
    async set(subject, password) {
      if (password === null) return state.delete(keyOf(subject));
      const phc = await inTurn(() => hash(password));
      for (;;) {
        const found = await state.get(keyOf(subject));
        if (await state.compareAndSet(keyOf(subject), found?.version ?? 0, phc)) return;
      }
    },

    async isSet(subject) {
      return (await state.get(keyOf(subject))) !== null;
    },

    async check(subject, password) {
      const found = await state.get(keyOf(subject ?? 'nobody'));
      const hashed = fromPhc(found?.value);
      const isRight = await inTurn(() => matches(password, hashed ?? decoy));
      if (!isRight || !hashed || !found || subject === null) return false;
      if (!isOf(hashed, cost)) await renew(subject, password, found.version);
      return true;
    },
  };
}

function keyOf(subject: string): string {
  return `password/${subject}`;
}

/** Normalises, because keyboards may produce the same letters as different code points. */
function digest(
  password: string,
  { salt, memory, passes, parallelism }: Omit<Hashed, 'hash'>,
  bytes: number,
) {
  const message = Buffer.from(password.normalize('NFC'));
  const parameters: Argon2Parameters = {
    message,
    nonce: salt,
    memory,
    passes,
    parallelism,
    tagLength: bytes,
  };
  return derive('argon2id', parameters);
}

function isOf(hashed: Hashed, cost: Cost): boolean {
  return (
    hashed.memory === cost.memory &&
    hashed.passes === cost.passes &&
    hashed.parallelism === cost.parallelism &&
    hashed.hash.length === HASH_BYTES
  );
}

/** https://github.com/P-H-C/phc-string-format */
const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

function toPhc({ memory, passes, parallelism, salt, hash }: Hashed): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`;
}

/** Null for anything but a PHC string made here. */
function fromPhc(phc: unknown): Hashed | null {
  if (typeof phc !== 'string') return null;
  const [, memory, passes, parallelism, salt = '', hash = ''] = PHC.exec(phc) ?? [];
  if (memory === undefined) return null;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/={1,2}$/, '');
}
