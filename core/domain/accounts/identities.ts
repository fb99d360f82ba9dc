import { decodeJwt } from 'jose';
import type { IdentityProvider } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';

/** The chosen providers at this moment: those that work, in order, and the names of those that do not. */
export interface ChosenProviders {
  working: IdentityProvider[];
  missing: string[];
}

type OwnProvider = IdentityProvider & Required<Pick<IdentityProvider, 'issue'>>;

export type Identities = ReturnType<typeof createIdentities>;

/** Which identity provider is asked for what. @param chosen asked at each use: one may have been started again */
export function createIdentities(chosen: () => ChosenProviders) {
  return {
    hasOwn: (): boolean => chosen().working.some(isOwn),

    /** The one that is this server itself. Throws `unavailable` while it does not work, `conflict` where none is chosen. */
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

    /** The one whose token this claims to be. Throws `unauthorized`, or `unavailable` while one does not work. */
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

/** As it says itself: nothing is verified yet. */
function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}
