import type { ApiKey, Grant, GrantName, Scope } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Principal } from './credentials.ts';

/** Scopes that are implied by a stored grant of the same name. */
const GRANTED: readonly GrantName[] = ['memories:read', 'memories:write'];

/** Derives the grants of a new key from its scopes. */
export function grantsOf({ userId, id, scopes, createdAt }: ApiKey): Grant[] {
  const held: ReadonlySet<Scope> = new Set(scopes);
  return GRANTED.filter(name => held.has(name)).map(name => ({ userId, grantee: id, name, createdAt }));
}

/** Throws `forbidden`, with an object that names the grant, unless the key holds it. An ID token needs none. */
export async function requireGrant(
  storage: Pick<Storage, 'grants'>,
  { user, keyId }: Principal,
  grant: GrantName,
): Promise<void> {
  if (keyId === undefined || (await storage.grants.has(user.id, keyId, grant))) return;
  const message = `This key holds no stored grant ${grant}: create a key with that scope`;
  throw new AppError('forbidden', message, { detail: { code: 'missing_grant', grant, message } });
}
