/** Types of an attack of the benchmark `hostile`. */

/** A server with an account for the attacker. */
export interface Target {
  url: string;
  dataDir: string;
  /** An API key of the attacker, with every scope. */
  key: string;
  /** An ID token of the attacker. */
  token: string;
  userId: string;
  /** An app of the attacker, installed by the attacker with every action. */
  appId: string;
  appSecret: string;
}

/** Counts an outcome by name, which shows that the attack was carried out. */
export type Count = (what: string) => void;

export type Kind = 'attack' | 'honest';

export interface Attack {
  /** Part of the benchmark's name, `hostile:<name>`. */
  name: string;
  title: string;
  /** Settings of the server in addition to the defaults. */
  config?(kind: Kind): Record<string, unknown>;
  /** Stores the required data before the measurement; less of it in the quick form. */
  prepare?(target: Target, run: { kind: Kind; quick: boolean }): Promise<void>;
  /** Attacks until the process ends. Handles and counts errors of its connections. */
  attack(target: Target, count: Count): Promise<unknown>;
  /** Sends as many requests, bytes or messages in the same time, like an honest client. */
  honest(target: Target, count: Count): Promise<unknown>;
}

/** First message to the attacking process. */
export interface AttackPlan {
  name: string;
  kind: Kind;
  target: Target;
}

export type AttackTold = { event: 'counted'; counts: Record<string, number> };
