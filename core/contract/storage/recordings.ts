import type { Clip, Recording } from '../model.ts';

export interface RecordingStore {
  /** Rejects with `conflict` if it exists. */
  insert(recording: Recording): Promise<void>;
  get(userId: string, id: string): Promise<Recording | null>;
  /** Newest first, ties by id. */
  list(userId: string, page: { limit: number; offset: number }): Promise<Recording[]>;
  /** Returns the number and bytes of unfinished recordings. */
  waiting(userId: string): Promise<{ recordings: number; bytes: number }>;
  /** Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Recording, 'id' | 'userId' | 'name' | 'bytes' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Deletes recordings that were finished before this instant (epoch ms). */
  prune(before: number): Promise<void>;
}

/** Clips, which are removed with their conversation. */
export interface ClipStore {
  /** Rejects with `not_found` if the conversation does not exist. */
  insert(clip: Clip): Promise<void>;
  get(userId: string, id: string): Promise<Clip | null>;
  /** Lists clips of one conversation from an instant on, by `startedAt`, ties by id. */
  list(userId: string, conversationId: string, page: { since: number; limit: number }): Promise<Clip[]>;
  /** Finds clips by id, in no particular order. At most 1000 ids. */
  some(userId: string, ids: string[]): Promise<Clip[]>;
  /** Moves all clips of a conversation, or those from `since` on (`startedAt`), to another one. */
  moveAll(userId: string, fromConversation: string, toConversation: string, since?: number): Promise<void>;
  /** Sums the bytes of all files of a user. */
  bytes(userId: string): Promise<number>;
  /** Lists clips that began before an instant, the oldest first. */
  expired(userId: string, before: number, limit: number): Promise<Clip[]>;
  /** At most 1000 ids. */
  remove(userId: string, ids: readonly string[]): Promise<void>;
}
