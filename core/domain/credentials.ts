import { AppError } from '../errors.ts';
import type { Scope, User } from '../model.ts';
import type { IdentityProvider, Storage } from '../plugin.ts';
import { KEY_PREFIX, type Keys } from './keys.ts';
import type { Users } from './users.ts';

const EXPECTED = `send "Authorization: Bearer <credential>" with an API key (${KEY_PREFIX}…) or an ID token`;
/** The scheme's case does not matter (RFC 9110); a credential has no blanks. */
const BEARER = /^bearer +(\S+)$/i;

/** Who asks, and what they may do. */
export interface Principal {
  user: User;
  kind: 'key' | 'token';
  /** An ID token is its owner, who may do all. */
  scopes: ReadonlySet<Scope> | 'all';
  keyId?: string;
}

export type Credentials = ReturnType<typeof createCredentials>;

/** Tells who a credential speaks for. Every refusal is `unauthorized`, and names the kind that was expected. */
export function createCredentials({
  users,
  keys,
  storage,
  identity,
}: {
  users: Users;
  keys: Keys;
  storage: Storage;
  identity: () => IdentityProvider;
}) {
  /** A raw API key, or an ID token. */
  async function token(raw: string): Promise<Principal> {
    return raw.startsWith(KEY_PREFIX) ? byKey(raw) : byIdToken(raw);
  }

  async function byKey(raw: string): Promise<Principal> {
    const key = await keys.verify(raw);
    const user = key && (await storage.users.get(key.userId));
    if (!user) throw new AppError('unauthorized', `Unknown or revoked API key: ${EXPECTED}`);
    return { user, kind: 'key', scopes: new Set(key.scopes), keyId: key.id };
  }

  async function byIdToken(raw: string): Promise<Principal> {
    const claims = await verified(raw);
    const user = await users.fromIdentity(claims);
    if (!user) throw new AppError('unauthorized', `The ID token is of a user unknown here: ${EXPECTED}`);
    return { user, kind: 'token', scopes: 'all' };
  }

  async function verified(raw: string) {
    try {
      return await identity().verify(raw);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unauthorized') throw error;
      throw new AppError('unauthorized', `${error.message}: ${EXPECTED}`, { cause: error });
    }
  }

  return {
    token,
    /** The value of an `Authorization` header. */
    async authenticate(authorization: string | undefined): Promise<Principal> {
      if (!authorization) throw new AppError('unauthorized', `Credential missing: ${EXPECTED}`);
      const raw = BEARER.exec(authorization.trim())?.[1];
      if (!raw) throw new AppError('unauthorized', `Credential malformed: ${EXPECTED}`);
      return token(raw);
    },
  };
}

/** `forbidden`, naming the scope, unless the principal has it. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes === 'all' || principal.scopes.has(scope)) return;
  throw new AppError('forbidden', `Insufficient permissions. Required scope: ${scope}`);
}
