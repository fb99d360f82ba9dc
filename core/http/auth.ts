import type { IncomingMessage } from 'node:http';
import { type Credentials, type Principal, requireScope } from '../domain/credentials.ts';
import type { Scope } from '../model.ts';

/** Who may call an operation; the OpenAPI document says the same. */
export type Access =
  /** A key with this scope, or the owner's ID token, which may do everything. */
  | { scope: Scope; credential?: never }
  /** This kind of credential alone, whatever its scopes. */
  | { credential: 'idToken' | 'apiKey'; scope?: never };

/** Who sends this request, once it is sure that they may: `unauthorized`, or `forbidden` with the missing scope. */
export async function permitted(
  credentials: Pick<Credentials, 'authenticate'>,
  request: IncomingMessage,
  { scope, credential }: Access,
): Promise<Principal> {
  const { authorization } = request.headers;
  if (credential) return credentials.authenticate(authorization, KINDS[credential]);
  const principal = await credentials.authenticate(authorization);
  requireScope(principal, scope);
  return principal;
}
const KINDS = { idToken: ['token'], apiKey: ['key'] } as const;
