import type { Embedding, ForgottenMemory, Memory, MemoryCategory, MemoryChange } from '../model.ts';

export interface MemoryFilter {
  categories?: MemoryCategory[];
  reviewed?: boolean;
  limit: number;
  offset: number;
}

/** All fields that may change after the row was created. */
export type MemoryPatch = Partial<Omit<Memory, 'id' | 'userId' | 'createdAt' | 'manuallyAdded'>>;

export interface MemoryStore {
  /** Inserts all or nothing. Rejects with `conflict` if an id is taken. */
  insert(memories: Memory[]): Promise<void>;
  get(userId: string, id: string): Promise<Memory | null>;
  /** Finds memories by id, locked ones too, in no particular order. At most 1000 ids. */
  some(userId: string, ids: string[]): Promise<Memory[]>;
  /** `scoring` descending, ties by id; without locked ones. */
  list(userId: string, filter: MemoryFilter): Promise<Memory[]>;
  /** By id from the one after `afterId` (null: the first), locked ones too. */
  page(userId: string, afterId: string | null, limit: number): Promise<Memory[]>;
  /** Lists memories of this topic, locked ones too, oldest first. */
  ofTopic(userId: string, topic: string): Promise<Memory[]>;
  /** Changes these fields alone. Resolves to whether it exists. */
  update(userId: string, id: string, patch: MemoryPatch): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /**
   * Returns ids of memories that share words with the text, best first (BM25 or similar), without locked ones.
   * The text may be anything; stop words may be ignored. Case and accents are ignored.
   */
  match(userId: string, text: string, limit: number): Promise<string[]>;
}

export interface ForgottenMemoryStore {
  insert(forgotten: ForgottenMemory): Promise<void>;
  /** Newest first. */
  list(userId: string, limit: number): Promise<ForgottenMemory[]>;
  /** Missing ids are no error. */
  remove(userId: string, ids: string[]): Promise<void>;
}

/** Queue of memories whose vectors are missing or outdated. */
export interface EmbeddingStore {
  /** Stores changes; a later one replaces an earlier one of the same memory. */
  note(changes: MemoryChange[]): Promise<void>;
  /** Unordered. */
  changes(userId: string, limit: number): Promise<MemoryChange[]>;
  /** Deletes changes, except of memories that have changed again. */
  settle(changes: MemoryChange[]): Promise<void>;
  get(userId: string): Promise<Embedding | null>;
  put(embedding: Embedding): Promise<void>;
  /** Lists at most `limit` users with changes, or with memories missing from this space, by id, after `afterId`. */
  behind(space: string, afterId: string | null, limit: number): Promise<string[]>;
}
