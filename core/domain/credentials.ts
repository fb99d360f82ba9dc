import { AppError } from '../errors.ts';
import type { Scope, User } from '../model.ts';
import type { Storage } from '../plugin.ts';
import type { Identities } from './identities.ts';
import { KEY_PREFIX, type Keys } from './keys.ts';
import type { Users } from './users.ts';

const NAMES = { key: `an API key (${KEY_PREFIX}…)`, token: 'an ID token' } as const;
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

/** The kinds of credential that will do. */
type Kinds = readonly Principal['kind'][];
const ANY: Kinds = ['key', 'token'];

export type Credentials = ReturnType<typeof createCredentials>;

/** Tells who a credential speaks for. Every refusal is `unauthorized`, and names the kind that was expected. */
export function createCredentials({
  users,
  keys,
  storage,
  identities,
}: {
  users: Users;
  keys: Keys;
  storage: Storage;
  identities: Identities;
}) {
  /** A raw API key, or an ID token. One of a kind that will not do is refused whether it is right or wrong. */
  async function token(raw: string, kinds = ANY): Promise<Principal> {
    const kind = raw.startsWith(KEY_PREFIX) ? 'key' : 'token';
    if (!kinds.includes(kind)) throw refused(`Not with ${NAMES[kind]}`, kinds);
    return kind === 'key' ? byKey(raw, kinds) : byIdToken(raw, kinds);
  }

  async function byKey(raw: string, kinds: Kinds): Promise<Principal> {
    const key = await keys.verify(raw);
    const user = key && (await storage.users.get(key.userId));
    if (!user) throw refused('Unknown or revoked API key', kinds);
    return { user, kind: 'key', scopes: new Set(key.scopes), keyId: key.id };
  }

  async function byIdToken(raw: string, kinds: Kinds): Promise<Principal> {
    try {
      const provider = identities.of(raw);
      const user = await users.fromIdentity(await provider.verify(raw), provider.issue === undefined);
      if (user) return { user, kind: 'token', scopes: 'all' };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unauthorized') throw error;
      throw refused(error.message, kinds, error);
    }
    throw refused('The ID token is of a user unknown here, or was signed out', kinds);
  }

  return {
    token,
    /** The value of an `Authorization` header. */
    async authenticate(authorization: string | undefined, kinds = ANY): Promise<Principal> {
      if (!authorization) throw refused('Credential missing', kinds);
      const raw = BEARER.exec(authorization.trim())?.[1];
      if (!raw) throw refused('Credential malformed', kinds);
      return token(raw, kinds);
    },
  };
}

function refused(why: string, kinds: Kinds, cause?: unknown): AppError {
  const expected = kinds.map(kind => NAMES[kind]).join(' or ');
  return new AppError('unauthorized', `${why}: send "Authorization: Bearer <credential>" with ${expected}`, {
    cause,
  });
}

/** `forbidden`, naming the scope, unless the principal has it. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes === 'all' || principal.scopes.has(scope)) return;
  throw new AppError('forbidden', `Insufficient permissions. Required scope: ${scope}`);
}
