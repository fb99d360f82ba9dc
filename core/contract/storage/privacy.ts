import type { AccessEntry, ListeningSettings, RetentionSettings } from '../model.ts';

export interface PrivacyStore {
  /** Null: the user has no settings. */
  listening(userId: string): Promise<ListeningSettings | null>;
  putListening(settings: ListeningSettings): Promise<void>;
  /** Null: the user has no settings. */
  retention(userId: string): Promise<RetentionSettings | null>;
  putRetention(settings: RetentionSettings): Promise<void>;
  /** Stores entries; those of deleted users are ignored. */
  addAccesses(entries: readonly AccessEntry[]): Promise<void>;
  /** Newest first (by id, which grows with time). */
  accesses(userId: string, page: { beforeId?: string | undefined; limit: number }): Promise<AccessEntry[]>;
  /** Deletes at most `limit` entries whose last access was before. Resolves to their number. */
  pruneAccesses(before: number, limit: number): Promise<number>;
  /** Deletes at most `limit` of the oldest entries of users with more than `keep`. Resolves to their number. */
  trimAccesses(keep: number, limit: number): Promise<number>;
  /** Ids of users with retention settings, in order, beginning behind `afterId` (null: at the first). */
  withRetention(afterId: string | null, limit: number): Promise<string[]>;
}
