import { decodeJwt } from 'jose';
import type { IdentityProvider } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';

/** The configured providers: those that are available now, in order, and the names of the others. */
export interface ChosenProviders {
  working: IdentityProvider[];
  missing: string[];
}

type OwnProvider = IdentityProvider & Required<Pick<IdentityProvider, 'issue'>>;

export type Identities = ReturnType<typeof createIdentities>;

/**
 * Selects identity providers.
 * @param chosen called at each use, because a provider may have been restarted
 */
export function createIdentities(chosen: () => ChosenProviders) {
  return {
    hasOwn: (): boolean => chosen().working.some(isOwn),

    /**
     * Returns this server's own provider. Throws `unavailable` while it does not run, `conflict` where none is
     * configured.
     */
    own(): OwnProvider {
      const { working, missing } = chosen();
      const own = working.find(isOwn);
      if (own) return own;
      if (missing.length > 0) throw notNow(missing);
      throw new AppError(
        'conflict',
        `Accounts are kept by ${working.map(({ issuer }) => issuer).join(', ')} alone: to have some of this server's own, add local to identity in the configuration`,
      );
    },

    /** Lists providers whose access tokens can be verified, by `iss`. */
    ofAccessTokens: (): string[] =>
      chosen()
        .working.filter(({ verifyAccess }) => verifyAccess !== undefined)
        .map(({ issuer }) => issuer),

    /**
     * Returns the provider that a token claims to be from. Throws `unauthorized`, or `unavailable` while a provider
     * does not run.
     */
    of(token: string): IdentityProvider {
      const issuer = issuerOf(token);
      const { working, missing } = chosen();
      const provider = working.find(each => each.issuer === issuer);
      if (provider) return provider;
      if (issuer !== undefined && missing.length > 0) throw notNow(missing);
      throw new AppError('unauthorized', 'Invalid ID token');
    },
  };
}

function isOwn(provider: IdentityProvider): provider is OwnProvider {
  return provider.issue !== undefined;
}

function notNow(missing: readonly string[]): AppError {
  return new AppError(
    'unavailable',
    `The identity provider ${missing.join(', ')} does not work now: try again later; earshot status says why`,
    { retryAfter: 5 },
  );
}

/** Reads the unverified claim. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}
