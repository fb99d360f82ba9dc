import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock, User } from '../../contract/model.ts';
import type { IdentityProvider, IssuedToken, JsonWebKeySet, Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import { newId } from '../ids.ts';
import { type Attempt, createAttempts } from './attempts.ts';
import type { Principal } from './credentials.ts';
import type { Identities } from './identities.ts';
import type { Sessions } from './sessions.ts';
import { nameKeyOf, type Users } from './users.ts';

/** Length in Unicode code points. There is no other rule: required kinds of characters make passwords no better. */
const MIN_PASSWORD_CHARS = 12;
export const MAX_PASSWORD_CHARS = 256;

/** Lifetime of the token that a browser's scripts use. */
const ACCESS_MS = 3600_000;

/** Session of one browser. */
export interface Session {
  user: User;
  access: IssuedToken;
  kept: IssuedToken;
}

export type SignIn = ReturnType<typeof createSignIn>;

/** Sign-in by password, and passwords. */
export function createSignIn({
  users,
  storage,
  clock,
  identities,
  sessions,
}: {
  users: Users;
  storage: Storage;
  clock: Clock;
  identities: Identities;
  sessions: Pick<Sessions, 'begin' | 'extend'>;
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

  /** Creates a session, and its tokens: a refresh cookie, which can only obtain new ones, and the token that scripts use. */
  async function sessionOf(user: User, userAgent: string): Promise<Session> {
    const id = newId(clock.now());
    const tokens = await tokensOf(user, id);
    await sessions.begin({
      id,
      userId: user.id,
      kind: 'browser',
      userAgent,
      expiresAt: tokens.kept.expiresAt,
    });
    return tokens;
  }

  async function tokensOf(user: User, session: string): Promise<Session> {
    const { issue } = identities.own();
    const { subject, name } = user;
    const access = await issue({ subject, name, session, lifetimeMs: ACCESS_MS });
    return { user, access, kept: await issue({ subject, name, session }) };
  }

  /** Whether any account has a password already, or there is no account that could be given one. */
  async function isSettled(): Promise<boolean> {
    if (!identities.hasOwn()) return true;
    const { issuer, passwords: own } = identities.own();
    if (!own?.isSet) return true;
    for (const user of await users.list())
      if (user.issuer === issuer && (await own.isSet(user.subject))) return true;
    return false;
  }

  return {
    /** Signs in a browser. Throws what `byPassword` does. */
    session: async (given: Attempt & { password: string; userAgent: string }): Promise<Session> =>
      sessionOf(await checked(given), given.userAgent),

    /** Creates new tokens of a session; a cookie of an earlier version belongs to none, and gets one. */
    async renew({ user, sessionId }: Principal, userAgent: string): Promise<Session> {
      if (sessionId === undefined) return sessionOf(user, userAgent);
      const tokens = await tokensOf(user, sessionId);
      await sessions.extend(user.id, sessionId, tokens.kept.expiresAt);
      return tokens;
    },

    /**
     * Returns a code with which the first account sets its first password. It is valid once, and until this process
     * ends. Null where any account has a password already.
     */
    async welcome(): Promise<string | null> {
      if (await isSettled()) return null;
      const code = randomBytes(32).toString('base64url');
      welcomeHash = hashOf(code);
      return code;
    },

    /**
     * Redeems such a code, and makes its account an operator: `unauthorized` where it is not valid, `invalid_request`
     * where the password is not acceptable.
     */
    async acceptWelcome(code: string, password: string, userAgent: string): Promise<Session> {
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
      return sessionOf(await users.setRole(first, 'operator'), userAgent); // whoever reads the server's terminal operates the server
    },

    /**
     * Returns an ID token for a name and password. Throws `unauthorized` where either is wrong; `rate_limited` after
     * too many failures.
     */
    async byPassword(given: Attempt & { password: string; userAgent: string }): Promise<IssuedToken> {
      const { issue } = identities.own();
      const { id: userId, subject, name } = await checked(given);
      const id = newId(clock.now());
      const token = await issue({ subject, name, session: id });
      const { userAgent } = given;
      await sessions.begin({ id, userId, kind: 'program', userAgent, expiresAt: token.expiresAt });
      return token;
    },

    /**
     * Changes a password, given the present one; all earlier ID tokens end. Throws what `byPassword` does, and
     * `invalid_request` where the new one is not acceptable.
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

    /**
     * Sets a password, and ends all sessions. With null there is no password any more, only tokens that the operator
     * creates.
     */
    async setPassword(name: string, password: string | null): Promise<void> {
      if (password !== null) checkPassword(password);
      const user = await users.ofOwn(name);
      await passwords().set(user.subject, password);
      await users.signOut(name);
      await attempts.forget(user.nameKey);
    },

    /** Called when an account was deleted. */
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

    /** Returns the public keys for ID tokens of this server; none where it issues none. */
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
