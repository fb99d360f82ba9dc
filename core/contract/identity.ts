/** The contract of identity providers. Types only. */

export interface IdentityProvider {
  /** `iss` of its tokens, by which core chooses among several providers. */
  issuer: string;
  /**
   * Verifies an ID token; rejects with `unauthorized`, with `forbidden` if its subject may not have an account here,
   * or with `unavailable` if that is unknown now. Core maps identities to users.
   */
  verify(token: string): Promise<VerifiedIdentity>;
  /**
   * Verifies an access token (RFC 9068) that was issued for this resource, an address; rejects like `verify`. Absent:
   * the provider issues none that can be verified here.
   */
  verifyAccess?(token: string, resource: string): Promise<VerifiedIdentity & { scopes: string[] }>;
  /**
   * Issues an ID token. Only for a provider whose users are added on this server; for a provider without
   * it, core creates an account for each subject at its first token.
   */
  issue?(user: {
    subject: string;
    name: string;
    /** Maximum lifetime; absent: the provider's default. */
    lifetimeMs?: number;
    /** Id of the session that the token belongs to: `verify` returns it again. Absent: none. */
    session?: string;
  }): Promise<IssuedToken>;
  /** Sign-in by password. Core decides which passwords are acceptable, and limits attempts. */
  passwords?: {
    /** Sets a password; null removes it. */
    set(subject: string, password: string | null): Promise<void>;
    /** Takes the same time for a wrong password, a subject without one, and null (no such account). */
    check(subject: string | null, password: string): Promise<boolean>;
    /** Tells whether a password is set. Without this method, no link of the first start is offered. */
    isSet?(subject: string): Promise<boolean>;
  };
  /** Signing keys of the tokens that it issues. */
  keys?: {
    /** Signs with a new key from now on. Existing tokens stay valid until they expire. */
    rotate(): Promise<void>;
    /** Returns a JSON Web Key Set (RFC 7517) for other verifiers of its tokens. */
    publicKeys(): Promise<JsonWebKeySet>;
  };
}

/** User that an ID token identifies. */
export interface VerifiedIdentity {
  issuer: string;
  subject: string;
  name: string;
  /** Epoch ms. */
  issuedAt: number;
  /** Epoch ms. From then on `verify` refuses the token, and connections opened with it are closed. */
  expiresAt: number;
  /** The session that core issued the token for; absent: none. */
  session?: string;
}

export interface IssuedToken {
  token: string;
  /** Epoch ms. */
  expiresAt: number;
}

export interface JsonWebKeySet {
  keys: { kty: string; kid: string; use: string; alg: string; [parameter: string]: unknown }[];
}
