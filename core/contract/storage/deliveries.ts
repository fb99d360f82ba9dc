import type { Delivery, DeliveryAttempt, Hook, LoggedDelivery } from '../model.ts';

export interface HookStore {
  /** Inserts, or replaces by id. Rejects with `conflict` where the user has another of this type and label, or the app one of this type. */
  put(hook: Hook): Promise<void>;
  get(userId: string, id: string): Promise<Hook | null>;
  /** Finds a webhook of any user, for deliveries. */
  target(id: string): Promise<Hook | null>;
  /** Lists the user's own webhooks and those of their apps, by `createdAt`, ties by id. */
  list(userId: string): Promise<Hook[]>;
  /** Lists webhooks that receive events of this user: enabled ones, their own or of apps that they installed. */
  targets(userId: string, types: readonly string[]): Promise<Hook[]>;
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Hook, 'id' | 'userId' | 'appId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. Its deliveries stay. */
  remove(userId: string, id: string): Promise<boolean>;
}

export interface DeliveryFilter {
  targetId?: string | undefined;
  state?: Delivery['state'] | undefined;
  /** Only deliveries that follow this one in the list. */
  beforeId?: string | undefined;
  limit: number;
}

/** Outcome of one attempt, and the resulting state of its delivery. */
export interface DeliveryOutcome {
  attempt: DeliveryAttempt;
  state: Delivery['state'];
  nextAt: number | null;
}

export interface DeliveryStore {
  insert(deliveries: readonly Delivery[]): Promise<void>;
  get(userId: string, id: string): Promise<Delivery | null>;
  /** Newest first (by id, which grows with time). An index provides every filter. */
  list(userId: string, filter: DeliveryFilter): Promise<LoggedDelivery[]>;
  /** Lists deliveries of an app's webhooks in the same way, whichever user they are about. */
  listOfApp(appId: string, filter: DeliveryFilter): Promise<LoggedDelivery[]>;
  /** Lists attempts by number. */
  attempts(userId: string, deliveryId: string): Promise<DeliveryAttempt[]>;
  /** Lists pending deliveries of a target that are due, by `nextAt`, ties by id. */
  due(targetId: string, now: number, limit: number): Promise<Delivery[]>;
  /** Returns when the next pending delivery of a target is due; null: there is none. */
  nextAt(targetId: string): Promise<number | null>;
  /** Stores attempts and the states of their deliveries; if a delivery is no longer pending, only the attempt. */
  record(outcomes: readonly DeliveryOutcome[]): Promise<void>;
  /** Marks all pending deliveries of a target as failed. */
  giveUp(targetId: string, now: number): Promise<void>;
  /** Erases deliveries about a deleted subject: their bodies are removed, and pending ones fail. */
  forget(userId: string, subject: string, now: number): Promise<void>;
  /** Deletes at most `limit` finished deliveries that were created before, with their attempts. Resolves to their number. */
  prune(before: number, limit: number): Promise<number>;
  /** The same for one user. */
  pruneOf(userId: string, before: number, limit: number): Promise<number>;
  /** Counts finished deliveries of a user that were created before. */
  countBefore(userId: string, before: number): Promise<number>;
}
