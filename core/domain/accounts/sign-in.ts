import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock, User } from '../../contract/model.ts';
import type { IdentityProvider, IssuedToken, JsonWebKeySet, Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { type Attempt, createAttempts } from './attempts.ts';
import type { Identities } from './identities.ts';
import { nameKeyOf, type Users } from './users.ts';

/** In Unicode code points. Length is all that is asked for: rules on kinds of characters make passwords no better. */
const MIN_PASSWORD_CHARS = 12;
export const MAX_PASSWORD_CHARS = 256;

/** A browser's scripts get a new token after this. */
const ACCESS_MS = 3600_000;

/** Session of one browser. */
export interface Session {
  user: User;
  access: IssuedToken;
  kept: IssuedToken;
}

export type SignIn = ReturnType<typeof createSignIn>;

/** Signing in by password, and what belongs to it. */
export function createSignIn({
  users,
  storage,
  clock,
  identities,
}: {
  users: Users;
  storage: Storage;
  clock: Clock;
  identities: Identities;
}) {
  const attempts = createAttempts({ storage, clock });
  let welcomeHash: Buffer | null = null;

  function passwords(): NonNullable<IdentityProvider['passwords']> {
    const { passwords: own, issuer } = identities.own();
    if (own) return own;
    throw new AppError('conflict', `The identity provider ${issuer} has no passwords`);
  }

  /** Verifies name and password. */
  async function checked({ password, name, address }: Attempt & { password: string }): Promise<User> {
    const attempt = { address, name: nameKeyOf(name) };
    await attempts.begin(attempt);
    const { issuer } = identities.own();
    const user = await storage.users.byName(attempt.name);
    const own = user?.issuer === issuer ? user : null;
    const isRight = await passwords().check(own?.subject ?? null, password);
    if (!own || !isRight) throw new AppError('unauthorized', 'Wrong name or password');
    await attempts.succeed(attempt);
    if (own.disabledAt === null) return own;
    throw new AppError('conflict', 'This account is disabled: ask whoever runs this server');
  }

  /** Creates a session: a refresh cookie, which only gets new tokens, and the token that scripts use. */
  async function sessionOf(user: User): Promise<Session> {
    const { issue } = identities.own();
    const { subject, name } = user;
    const access = await issue({ subject, name, lifetimeMs: ACCESS_MS });
    return { user, access, kept: await issue({ subject, name }) };
  }

  /** Whether somebody can sign in by password already, or nobody can be welcomed. */
  async function isSettled(): Promise<boolean> {
    if (!identities.hasOwn()) return true;
    const { issuer, passwords: own } = identities.own();
    if (!own?.isSet) return true;
    for (const user of await users.list())
      if (user.issuer === issuer && (await own.isSet(user.subject))) return true;
    return false;
  }

  return {
    /** Signs in for a browser. Throws what `byPassword` does. */
    session: async (given: Attempt & { password: string }): Promise<Session> =>
      sessionOf(await checked(given)),

    /** The same for whom an ID token is of that an earlier session was given to keep. */
    renew: sessionOf,

    /**
     * A code with which the first account gets its first password: it is good once, and until this process ends. Null
     * where anybody has a password already.
     */
    async welcome(): Promise<string | null> {
      if (await isSettled()) return null;
      const code = randomBytes(32).toString('base64url');
      welcomeHash = hashOf(code);
      return code;
    },

    /** Takes such a code: `unauthorized` where it is not good, `invalid_request` where the password will not do. */
    async acceptWelcome(code: string, password: string): Promise<Session> {
      const isRight = welcomeHash !== null && timingSafeEqual(hashOf(code), welcomeHash);
      if (!isRight || (await isSettled()))
        throw new AppError(
          'unauthorized',
          'This link was used before, or replaced when the server was restarted: use the latest one that the server has printed',
        );
      checkPassword(password);
      const [first] = await users.list();
      if (!first) throw new AppError('not_found', 'There is no account');
      welcomeHash = null;
      await passwords().set(first.subject, password);
      return sessionOf(first);
    },

    /**
     * An ID token of who has this name and password. Throws `unauthorized` where there is none, whichever of the two
     * is wrong; `rate_limited` where too many were.
     */
    async byPassword(given: Attempt & { password: string }): Promise<IssuedToken> {
      const { issue } = identities.own();
      const { subject, name } = await checked(given);
      return issue({ subject, name });
    },

    /**
     * Another password, by whoever knows the present one; all ID tokens of before end. Throws what `byPassword` does,
     * and `invalid_request` where the new one will not do.
     */
    async changePassword({
      newPassword,
      ...given
    }: Attempt & { password: string; newPassword: string }): Promise<void> {
      checkPassword(newPassword);
      const { subject, name } = await checked(given);
      await passwords().set(subject, newPassword);
      await users.signOut(name);
    },

    /** Whoever was signed in has to sign in again. With null there is no password any more, only tokens that the operator makes. */
    async setPassword(name: string, password: string | null): Promise<void> {
      if (password !== null) checkPassword(password);
      const user = await users.ofOwn(name);
      await passwords().set(user.subject, password);
      await users.signOut(name);
      await attempts.forget(user.nameKey);
    },

    /** The account is gone. */
    async forget({ subject, issuer, nameKey }: User): Promise<void> {
      if (identities.hasOwn() && identities.own().issuer === issuer)
        await identities.own().passwords?.set(subject, null);
      await attempts.forget(nameKey);
    },

    async rotateKeys(): Promise<void> {
      const { keys, issuer } = identities.own();
      if (!keys) throw new AppError('conflict', `The identity provider ${issuer} has no keys to rotate`);
      await keys.rotate();
    },

    /** With which the ID tokens of this server can be checked; none where it makes none. */
    async publicKeys(): Promise<JsonWebKeySet> {
      if (!identities.hasOwn()) return { keys: [] };
      return (await identities.own().keys?.publicKeys()) ?? { keys: [] };
    },
  };
}

function hashOf(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}

function checkPassword(password: string): void {
  const characters = [...password].length;
  if (characters >= MIN_PASSWORD_CHARS && characters <= MAX_PASSWORD_CHARS) return;
  throw new AppError(
    'invalid_request',
    `A password has ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters; a few words in a row are easy to remember`,
  );
}
