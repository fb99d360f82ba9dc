import { hash, randomBytes } from 'node:crypto';
import type { ApiKey, Clock, Scope, User } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';
import type { EventBus } from '../../runtime/events.ts';
import { newId } from '../ids.ts';
import { grantsOf } from './grants.ts';

/** Deletes all keys of a user with their grants, in the caller's transaction. Resolves to the deleted keys. */
export async function removeKeysIn(tx: Stores, userId: string): Promise<ApiKey[]> {
  const all = await tx.keys.list(userId);
  for (const { id } of all) {
    await tx.grants.removeOf(userId, id);
    await tx.keys.remove(userId, id);
  }
  return all;
}

/** Prefix of every raw key: distinguishes a key from an ID token. */
export const KEY_PREFIX = 'omi_dev_';
const RAW_KEY = /^omi_dev_[0-9a-f]{32}$/;
const KEY_BYTES = 16;
export const MAX_KEY_NAME_CHARS = 100;
const MAX_KEYS_PER_USER = 100;
const MAX_NAMES_SHOWN = 10;

export const SCOPES = [
  'conversations:read',
  'conversations:write',
  'memories:read',
  'memories:write',
  'action_items:read',
  'action_items:write',
  'goals:read',
  'goals:write',
  'listen',
] as const satisfies readonly Scope[];

/** A new key with its raw form, which cannot be shown again. */
interface NewKey {
  record: ApiKey;
  key: string;
}

export type Keys = ReturnType<typeof createKeys>;

/** API keys: created, shown once, and looked up by their hash. The only writer of keys and of their grants. */
export function createKeys({ storage, clock, events }: { storage: Storage; clock: Clock; events: EventBus }) {
  /** Last use by key id, where it is not stored yet: requests do not write. */
  let uses = new Map<string, { userId: string; id: string; at: number }>();

  /**
   * Creates a key. Without `scopes` it may read everything. `conflict` when the user has the maximum number of keys.
   */
  async function create(
    userId: string,
    { name, scopes = readScopes() }: { name: string; scopes?: readonly Scope[] },
  ): Promise<NewKey> {
    const now = clock.now();
    const { key, ...secret } = newSecret();
    const record: ApiKey = {
      id: newId(now),
      userId,
      name: checkedName(name),
      ...secret,
      scopes: [...new Set(scopes)],
      createdAt: now,
      lastUsedAt: null,
    };
    await storage.transaction('create key', async tx => {
      if ((await tx.keys.list(userId)).length >= MAX_KEYS_PER_USER)
        throw new AppError('conflict', `At most ${MAX_KEYS_PER_USER} API keys: delete one that is not used`);
      await tx.keys.insert(record);
      await tx.grants.give(grantsOf(record));
    });
    return { record, key };
  }

  /** Replaces the raw key of a record; the old one stops working. `not_found`. */
  async function rotate(userId: string, id: string): Promise<NewKey> {
    const { key, ...secret } = newSecret();
    const record = (await storage.keys.replace(userId, id, secret)) && (await storage.keys.get(userId, id));
    if (!record) throw notFound();
    events.emit('credential.revoked', { userId, keyId: id });
    return { record: withUse(record), key };
  }

  /** Deletes a key with its grants. `not_found`. */
  async function remove(userId: string, id: string): Promise<void> {
    const removed = await storage.transaction('remove key', async tx => {
      await tx.grants.removeOf(userId, id);
      return tx.keys.remove(userId, id);
    });
    uses.delete(id);
    if (!removed) throw notFound();
    events.emit('credential.revoked', { userId, keyId: id });
  }

  /**
   * Returns the record of a raw key and its owner, or null. It is read from the storage each time, so that a revoked
   * key stops working at once on every node. The look-up is by hash, so its timing reveals nothing of the key.
   */
  async function verify(raw: string): Promise<{ key: ApiKey; user: User } | null> {
    const found = RAW_KEY.test(raw) ? await storage.keys.byHash(hashOf(raw)) : null;
    if (!found || found.user.disabledAt !== null) return null;
    const { userId, id } = found.key;
    uses.set(id, { userId, id, at: clock.now() });
    return found;
  }

  function withUse(key: ApiKey): ApiKey {
    const usedAt = uses.get(key.id)?.at ?? null;
    return { ...key, lastUsedAt: usedAt === null ? key.lastUsedAt : Math.max(usedAt, key.lastUsedAt ?? 0) };
  }

  /**
   * Finds a key by its id, or by its name where only one of the user's keys has it. `not_found` lists the existing
   * ones.
   */
  async function find(userId: string, given: string): Promise<ApiKey> {
    const all = await storage.keys.list(userId);
    const found = all.filter(({ id, name }) => id === given || name === given);
    if (found.length > 1)
      throw new AppError(
        'conflict',
        `There are several keys "${given}"; name one by its id: ${found.map(({ id }) => id).join(', ')}`,
      );
    const [only] = found;
    if (only) return only;
    const names = [...new Set(all.map(({ name }) => name))].slice(0, MAX_NAMES_SHOWN);
    throw new AppError(
      'not_found',
      `There is no key "${given}"${names.length === 0 ? ', nor any other' : `. There are: ${names.join(', ')}`}`,
    );
  }

  return {
    create,
    rotate,
    remove,
    find,
    verify,
    /** `not_found`. */
    async get(userId: string, id: string): Promise<ApiKey> {
      const key = await storage.keys.get(userId, id);
      if (!key) throw notFound();
      return withUse(key);
    },
    /** Newest first. */
    list: async (userId: string): Promise<ApiKey[]> => (await storage.keys.list(userId)).map(withUse),
    /** Stores the times at which keys were last used. */
    async flush(): Promise<void> {
      const noted = uses;
      uses = new Map();
      try {
        await storage.keys.used([...noted.values()]);
      } catch (error) {
        uses = new Map([...noted, ...uses]);
        throw error;
      }
    },
    parseScopes,
  };
}

function notFound(): AppError {
  return new AppError('not_found', 'Key not found');
}

function newSecret(): { key: string; hash: string; hint: string } {
  const secret = randomBytes(KEY_BYTES).toString('hex');
  const key = KEY_PREFIX + secret;
  return { key, hash: hashOf(key), hint: `${KEY_PREFIX}${secret.slice(0, 4)}...${secret.slice(-4)}` };
}

/**
 * Parses scopes as people type them, without duplicates. `invalid_request` names the first unknown one and all that
 * exist.
 */
export function parseScopes(list: string[]): Scope[] {
  const names = list.map(name => name.trim()).filter(name => name !== '');
  if (names.length === 0) throw new AppError('invalid_request', `Name at least one scope. ${allowed()}`);
  return [...new Set(names.map(parseScope))];
}

function parseScope(name: string): Scope {
  const scope = SCOPES.find(known => known === name);
  if (!scope) throw new AppError('invalid_request', `Unknown scope "${name}". ${allowed()}`);
  return scope;
}

function allowed(): string {
  return `Scopes: ${SCOPES.join(', ')}.`;
}

function readScopes(): Scope[] {
  return SCOPES.filter(scope => scope.endsWith(':read'));
}

function checkedName(name: string): string {
  const trimmed = name.toWellFormed().trim();
  if (trimmed === '' || [...trimmed].length > MAX_KEY_NAME_CHARS || /\p{Cc}/u.test(trimmed))
    throw new AppError(
      'invalid_request',
      `A key's name has 1 to ${MAX_KEY_NAME_CHARS} characters, none of them a control character.`,
    );
  return trimmed;
}

/** A fast hash suffices for 128 random bits. */
function hashOf(raw: string): string {
  return hash('sha256', raw);
}
