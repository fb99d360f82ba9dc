import type { IncomingMessage } from 'node:http';
import { type Credentials, type Principal, requireScope } from '../domain/credentials.ts';
import type { Scope } from '../model.ts';

/** Who sends this request, once it is sure that they may: `unauthorized`, or `forbidden` with the missing scope. */
export async function permitted(
  credentials: Pick<Credentials, 'authenticate'>,
  request: IncomingMessage,
  scope: Scope,
): Promise<Principal> {
  const principal = await credentials.authenticate(request.headers.authorization);
  requireScope(principal, scope);
  return principal;
}
