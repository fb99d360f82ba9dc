export interface User {
  id: string;
  /** Name that people type on the command line. */
  name: string;
  /** The name in the form in which it is compared, without case: unique. */
  nameKey: string;
  /** Identity at the identity provider: `iss` and `sub` of its tokens. */
  issuer: string;
  subject: string;
  createdAt: number;
  /** Whether programs may read this user's memories; the operator switches it. */
  memoryAccess: boolean;
  /** ID tokens issued up to then are invalid. */
  signedOutAt: number | null;
  role: Role;
  /** When the account was disabled: all its credentials are refused since; null: it is enabled. */
  disabledAt: number | null;
}

/** `operator`: may manage the accounts of others, without access to their data. */
export type Role = 'owner' | 'operator';

export type Scope =
  | `${'conversations' | 'memories' | 'action_items' | 'goals'}:${'read' | 'write'}`
  /** Devices: `/v4/listen` and voice messages. */
  | 'listen';

export interface ApiKey {
  id: string;
  userId: string;
  name: string;
  /** SHA-256 of the raw key, hex. The raw key is shown once and never stored. */
  hash: string;
  /** `omi_dev_` + first 4 + `...` + last 4, for lists. */
  hint: string;
  scopes: Scope[];
  createdAt: number;
  /** Time of the last request with it, up to a minute late; null: never used. */
  lastUsedAt: number | null;
}

/** A browser or program that signed in with a password. Its tokens are valid as long as the row exists. */
export interface AccountSession {
  id: string;
  userId: string;
  kind: 'browser' | 'program';
  /** Header User-Agent of the sign-in, shortened; empty: none. */
  userAgent: string;
  createdAt: number;
  /** Time of the last request with it, up to a minute late. */
  lastUsedAt: number;
  /** When its last token expires. */
  expiresAt: number;
}

/** Permission that a user gave to a key beside its scopes. Rotation keeps it; deleting the key removes it. */
export interface Grant {
  userId: string;
  /** The key's id. */
  grantee: string;
  name: GrantName;
  createdAt: number;
}
export type GrantName = 'memories:read' | 'memories:write';

/** State of a token bucket that is not full. */
export interface RateLimit {
  userId: string;
  /** Owner of the bucket: a key's id, or the user's id with an ID token. */
  subject: string;
  policy: string;
  /** When it is full again. */
  fullAt: number;
}
