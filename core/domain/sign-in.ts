import { AppError } from '../errors.ts';
import type { Clock } from '../model.ts';
import type { IdentityProvider, IssuedToken, JsonWebKeySet, Storage } from '../plugin.ts';
import { type Attempt, createAttempts } from './attempts.ts';
import type { Identities } from './identities.ts';
import type { Users } from './users.ts';

/** In Unicode code points. Length is all that is asked for: rules on kinds of characters make passwords no better. */
const MIN_PASSWORD_CHARS = 12;
export const MAX_PASSWORD_CHARS = 256;

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

  function passwords(): NonNullable<IdentityProvider['passwords']> {
    const { passwords: own, issuer } = identities.own();
    if (own) return own;
    throw new AppError('conflict', `The identity provider ${issuer} has no passwords`);
  }

  return {
    /**
     * An ID token of who has this name and password. Throws `unauthorized` where there is none, whichever of the two
     * is wrong; `rate_limited` where too many were.
     */
    async byPassword({ password, ...attempt }: Attempt & { password: string }): Promise<IssuedToken> {
      await attempts.begin(attempt);
      const { issue, issuer } = identities.own();
      const user = await storage.users.byName(attempt.name);
      const own = user?.issuer === issuer ? user : null;
      const isRight = await passwords().check(own?.subject ?? null, password);
      if (!own || !isRight) throw new AppError('unauthorized', 'Wrong name or password');
      await attempts.succeed(attempt);
      return issue({ subject: own.subject, name: own.name });
    },

    /** Whoever was signed in has to sign in again. With null there is no password any more, only tokens that the operator makes. */
    async setPassword(name: string, password: string | null): Promise<void> {
      if (password !== null) checkPassword(password);
      const user = await users.ofOwn(name);
      await passwords().set(user.subject, password);
      await users.signOut(name);
      await attempts.forget(user.name);
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

function checkPassword(password: string): void {
  const characters = [...password].length;
  if (characters >= MIN_PASSWORD_CHARS && characters <= MAX_PASSWORD_CHARS) return;
  throw new AppError(
    'invalid_request',
    `A password has ${MIN_PASSWORD_CHARS} to ${MAX_PASSWORD_CHARS} characters; a few words in a row are easy to remember`,
  );
}
