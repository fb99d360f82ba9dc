import { decodeProtectedHeader } from 'jose';
import type { App, Scope, User } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import { shellWord } from '../../runtime/terminal.ts';
import { type Apps, SECRET_PREFIX } from '../apps/apps.ts';
import type { Identities } from './identities.ts';
import { KEY_PREFIX, type Keys, SCOPES } from './keys.ts';
import type { Users } from './users.ts';

const NAMES = {
  key: `an API key (${KEY_PREFIX}…)`,
  token: 'an ID token',
  app: `an app secret (${SECRET_PREFIX}…)`,
} as const;
/** The scheme is case-insensitive (RFC 9110); a credential contains no spaces. */
const BEARER = /^bearer +(\S+)$/i;

/** Authenticated sender of a request, with its permissions. */
export interface Principal {
  /** User; for an app, the user it acts for. */
  user: User;
  kind: keyof typeof NAMES;
  /** An ID token has its owner's full access. */
  scopes: ReadonlySet<Scope> | 'all';
  keyId?: string;
  /** Session of an ID token; absent: it belongs to none. */
  sessionId?: string;
  /** Expiry of an ID token, epoch ms. */
  expiresAt?: number;
  /** App whose secret was used. */
  app?: App;
}

/** The kinds of credentials that are accepted. */
type Kinds = readonly Principal['kind'][];
const ANY: Kinds = ['key', 'token'];
const APP: Kinds = ['app'];

export type Credentials = ReturnType<typeof createCredentials>;

/** Authenticates credentials. Every refusal is `unauthorized`, and names the kind that was expected. */
export function createCredentials({
  users,
  keys,
  apps,
  identities,
}: {
  users: Users;
  keys: Keys;
  apps: Pick<Apps, 'verify'>;
  identities: Identities;
}) {
  /**
   * Authenticates a raw API key, or an ID token. One of a kind that is not accepted is refused whether it is valid or
   * not.
   */
  async function token(raw: string, kinds = ANY, resource?: string): Promise<Principal> {
    const kind = kindOf(raw);
    if (!kinds.includes(kind)) throw refused(`Not with ${NAMES[kind]}`, kinds);
    return kind === 'key' ? byKey(raw, kinds) : byIdToken(raw, kinds, resource);
  }

  async function byKey(raw: string, kinds: Kinds): Promise<Principal> {
    const found = await keys.verify(raw);
    if (!found) throw refused('Unknown or revoked API key', kinds);
    const { key, user } = found;
    return { user, kind: 'key', scopes: new Set(key.scopes), keyId: key.id };
  }

  async function byIdToken(raw: string, kinds: Kinds, resource?: string): Promise<Principal> {
    try {
      const provider = identities.of(raw);
      const { expiresAt, scopes, ...verified } =
        resource !== undefined && provider.verifyAccess && isAccessToken(raw)
          ? await provider.verifyAccess(raw, resource)
          : { ...(await provider.verify(raw)), scopes: null };
      const user = await users.fromIdentity(verified, provider.issue === undefined);
      if (!user)
        throw new AppError('unauthorized', 'The ID token is of a user unknown here, or was signed out');
      const { session: sessionId } = verified;
      return {
        user,
        kind: 'token',
        scopes: scopes ? knownScopes(scopes) : 'all',
        expiresAt,
        ...(sessionId !== undefined && { sessionId }),
      };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'unauthorized') throw error;
      throw refused(error.message, kinds, error);
    }
  }

  return {
    token,
    /**
     * Authenticates the value of an `Authorization` header.
     * @param resource also accepts access tokens of a provider that were issued for it, with their scopes
     */
    authenticate: async (
      authorization: string | undefined,
      kinds = ANY,
      resource?: string,
    ): Promise<Principal> => token(rawOf(authorization, kinds), kinds, resource),
    /**
     * Authenticates the secret of an app.
     * @param id of the app that the request names; checked once the secret is known to be valid
     */
    async app(authorization: string | undefined, id: () => Promise<string>): Promise<App> {
      const raw = rawOf(authorization, APP);
      const kind = kindOf(raw);
      if (kind !== 'app') throw refused(`Not with ${NAMES[kind]}`, APP);
      const app = await apps.verify(raw);
      if (!app || app.id !== (await id())) throw refused('Not a secret of this app', APP);
      return app;
    },
  };
}

/** RFC 9068, section 2.1. */
function isAccessToken(raw: string): boolean {
  const { typ } = decodeProtectedHeader(raw); // its payload was decoded before
  return /^(?:application\/)?at\+jwt$/i.test(typ ?? '');
}

const knownScopes = (given: readonly string[]): ReadonlySet<Scope> =>
  new Set(SCOPES.filter(scope => given.includes(scope)));

function kindOf(raw: string): Principal['kind'] {
  if (raw.startsWith(KEY_PREFIX)) return 'key';
  return raw.startsWith(SECRET_PREFIX) ? 'app' : 'token';
}

function rawOf(authorization: string | undefined, kinds: Kinds): string {
  if (!authorization) throw refused('Credential missing', kinds);
  const raw = BEARER.exec(authorization.trim())?.[1];
  if (!raw) throw refused('Credential malformed', kinds);
  return raw;
}

function refused(why: string, kinds: Kinds, cause?: unknown): AppError {
  const expected = kinds.map(kind => NAMES[kind]).join(' or ');
  return new AppError('unauthorized', `${why}: send "Authorization: Bearer <credential>" with ${expected}`, {
    cause,
  });
}

/** Throws `forbidden`, with the way to become one, unless the account is an operator. */
export function requireOperator({ name, role }: User): void {
  if (role === 'operator') return;
  throw new AppError(
    'forbidden',
    `Insufficient permissions. Required role: operator. On the server run: earshot user role ${shellWord(name)} operator`,
  );
}

/** Throws `forbidden`, naming the scope, unless the principal has it. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes === 'all' || principal.scopes.has(scope)) return;
  throw new AppError('forbidden', `Insufficient permissions. Required scope: ${scope}`);
}
