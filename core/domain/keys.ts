import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '../errors.ts';
import type { ApiKey, Clock, Scope } from '../model.ts';
import type { Storage } from '../plugin.ts';
import { newId } from './ids.ts';

/** What every raw key begins with: tells a key from an ID token. */
export const KEY_PREFIX = 'omi_dev_';
const RAW_KEY = /^omi_dev_[0-9a-f]{32}$/;
const KEY_BYTES = 16;
const MAX_NAME_CHARS = 100;

const SCOPES = [
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

export type Keys = ReturnType<typeof createKeys>;

/** API keys: made, shown once, and found again by their hash. The only writer of keys. */
export function createKeys({ storage, clock }: { storage: Storage; clock: Clock }) {
  return {
    /** Makes a key. `key` is the raw one: nobody can show it again. Without `scopes` it may read everything. */
    async create(
      userId: string,
      { name, scopes = readScopes() }: { name: string; scopes?: Scope[] },
    ): Promise<{ record: ApiKey; key: string }> {
      const secret = randomBytes(KEY_BYTES).toString('hex');
      const key = KEY_PREFIX + secret;
      const now = clock.now();
      const record: ApiKey = {
        id: newId(now),
        userId,
        name: checkedName(name),
        hash: hashOf(key),
        hint: `${KEY_PREFIX}${secret.slice(0, 4)}...${secret.slice(-4)}`,
        scopes: [...scopes],
        createdAt: now,
      };
      await storage.keys.insert(record);
      return { record, key };
    },

    /** The record of a raw key, or null. The look-up is by hash, so its timing tells nothing of the key. */
    async verify(raw: string): Promise<ApiKey | null> {
      return RAW_KEY.test(raw) ? storage.keys.byHash(hashOf(raw)) : null;
    },

    /** Newest first. */
    list: (userId: string): Promise<ApiKey[]> => storage.keys.list(userId),
    parseScopes,
  };
}

/** Scopes as people type them, each once. `invalid_request` names the first unknown one and all that exist. */
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
  const trimmed = name.trim();
  if (trimmed === '' || [...trimmed].length > MAX_NAME_CHARS)
    throw new AppError('invalid_request', `A key's name has 1 to ${MAX_NAME_CHARS} characters.`);
  return trimmed;
}

/** 128 random bits need no slow hash. */
function hashOf(raw: string): string {
  return createHash('sha256').update(raw).digest('hex');
}
