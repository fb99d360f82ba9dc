import type { AccountSession, ApiKey, Grant, GrantName, RateLimit, User } from '../model.ts';

export interface UserStore {
  /** Rejects with `conflict` when the name, or the issuer's subject, is taken. */
  insert(user: User): Promise<void>;
  get(id: string): Promise<User | null>;
  /** By its `nameKey`. */
  byName(key: string): Promise<User | null>;
  byIdentity(issuer: string, subject: string): Promise<User | null>;
  /** Oldest first. */
  list(): Promise<User[]>;
  /** Resolves to whether there is such a user. */
  setMemoryAccess(id: string, isOpen: boolean): Promise<boolean>;
  /** Rejects with `conflict` when the name is taken. Resolves to whether there is such a user. */
  update(
    id: string,
    patch: Partial<Pick<User, 'signedOutAt' | 'name' | 'nameKey' | 'role' | 'disabledAt'>>,
  ): Promise<boolean>;
  /** Removes a user with all data, including apps and their installations. Resolves to whether there was one. */
  remove(id: string): Promise<boolean>;
}

/** Counts of attempts, which expire. */
export interface AttemptStore {
  /**
   * Adds to the count of this key, atomically across processes; an expired count starts again, and
   * expires at `until`. Resolves to the count and its expiry.
   * @param now epoch ms
   */
  add(key: string, by: number, now: number, until: number): Promise<AttemptCount>;
  /** Null: there is none, or it has expired. */
  get(key: string, now: number): Promise<AttemptCount | null>;
  remove(key: string): Promise<void>;
  /** Deletes expired counts. */
  prune(now: number): Promise<void>;
}

export interface AttemptCount {
  count: number;
  /** Epoch ms of the expiry. */
  until: number;
}

export interface KeyStore {
  insert(key: ApiKey): Promise<void>;
  get(userId: string, id: string): Promise<ApiKey | null>;
  /**
   * Finds a key with its user, for each request. A key that was replaced or removed, by any process, is no longer
   * found.
   */
  byHash(hash: string): Promise<{ key: ApiKey; user: User } | null>;
  /** Newest first, ties by id. */
  list(userId: string): Promise<ApiKey[]>;
  /** Replaces the secret of a key. Resolves to whether the key exists. */
  replace(userId: string, id: string, secret: Pick<ApiKey, 'hash' | 'hint'>): Promise<boolean>;
  /** Stores when keys were last used; times before the stored one are ignored. */
  used(uses: { userId: string; id: string; at: number }[]): Promise<void>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Sign-ins of browsers and programs. */
export interface SessionStore {
  insert(session: AccountSession): Promise<void>;
  /** Finds a session, for each request with its token. */
  get(userId: string, id: string): Promise<AccountSession | null>;
  /** Last used first, ties by id. */
  list(userId: string): Promise<AccountSession[]>;
  /** Resolves to whether it existed. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<AccountSession, 'lastUsedAt' | 'expiresAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface GrantStore {
  /** Inserts; existing rows stay. */
  give(grants: Grant[]): Promise<void>;
  has(userId: string, grantee: string, name: GrantName): Promise<boolean>;
  /** Removes all grants of a key. */
  removeOf(userId: string, grantee: string): Promise<void>;
}

export interface RateLimitStore {
  get(userId: string, subject: string, policy: string): Promise<RateLimit | null>;
  /** Inserts, or replaces by user, subject and policy where `fullAt` is later than the stored one. */
  put(limits: RateLimit[]): Promise<void>;
  /** Removes buckets of all users that are full by `now`. */
  removeFull(now: number): Promise<void>;
}
