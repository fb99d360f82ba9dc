/** Commands for API keys: part of the table in `commands.ts`. */
import { z } from 'zod';
import type { ApiKey } from '../contract/model.ts';
import type { Keys } from '../domain/accounts/keys.ts';
import type { Users } from '../domain/accounts/users.ts';
import { toIso, toIsoOrNull } from '../runtime/iso.ts';

const name = z.string().trim().min(1).max(100);
const NewKey = z.object({ id: z.string(), key: z.string(), scopes: z.array(z.string()) });

export const keyShapes = {
  key: {
    args: z.object({ user: name, scopes: z.array(z.string()).max(50), name: name.optional() }),
    result: NewKey,
  },
  'key.list': {
    args: z.object({ user: name }),
    result: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        /** First and last characters of the key. */
        hint: z.string(),
        scopes: z.array(z.string()),
        createdAt: z.string(),
        lastUsedAt: z.string().nullable(),
      }),
    ),
  },
  /** The key's id, or its name where only one key has that. */
  'key.rotate': { args: z.object({ user: name, id: name }), result: NewKey },
  'key.revoke': {
    args: z.object({ user: name, id: name }),
    result: z.object({ id: z.string(), name: z.string() }),
  },
};
type Args<C extends keyof typeof keyShapes> = z.output<(typeof keyShapes)[C]['args']>;

export interface KeyServices {
  users: Pick<Users, 'byName'>;
  keys: Pick<Keys, 'create' | 'list' | 'find' | 'rotate' | 'remove' | 'parseScopes'>;
}

export function keyCommands({ users, keys }: KeyServices) {
  return {
    async key({ user, name = 'command line', scopes: names }: Args<'key'>) {
      const scopes = keys.parseScopes(names);
      return newKey(await keys.create((await users.byName(user)).id, { name, scopes }));
    },
    async 'key.list'({ user }: Args<'key.list'>) {
      const owner = await users.byName(user);
      return (await keys.list(owner.id)).map(({ id, name, hint, scopes, createdAt, lastUsedAt }) => ({
        id,
        name,
        hint,
        scopes,
        createdAt: toIso(createdAt),
        lastUsedAt: toIsoOrNull(lastUsedAt),
      }));
    },
    async 'key.rotate'({ user, id }: Args<'key.rotate'>) {
      const owner = await users.byName(user);
      return newKey(await keys.rotate(owner.id, (await keys.find(owner.id, id)).id));
    },
    async 'key.revoke'({ user, id }: Args<'key.revoke'>) {
      const owner = await users.byName(user);
      const found = await keys.find(owner.id, id);
      await keys.remove(owner.id, found.id);
      return { id: found.id, name: found.name };
    },
  };
}

function newKey({ record, key }: { record: ApiKey; key: string }) {
  return { id: record.id, key, scopes: record.scopes };
}
