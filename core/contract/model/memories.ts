export type MemoryCategory =
  | 'interesting'
  | 'system'
  | 'manual'
  | 'workflow'
  | 'core'
  | 'hobbies'
  | 'lifestyle'
  | 'interests'
  | 'habits'
  | 'work'
  | 'skills'
  | 'learnings'
  | 'other';

/** Lasting fact about its user. */
export interface Memory {
  id: string;
  userId: string;
  content: string;
  category: MemoryCategory;
  visibility: 'public' | 'private';
  tags: string[];
  createdAt: number;
  /** Grows with every change of what is shown, also within a millisecond. */
  updatedAt: number;
  /** Whether a person or a program wrote it; otherwise it comes from a conversation. */
  manuallyAdded: boolean;
  /** Sort key of lists, descending. */
  scoring: string;
  reviewed: boolean;
  /** Verdict of its user; null: not asked yet. */
  userReview: boolean | null;
  edited: boolean;
  locked: boolean;
  /** Fact that only one memory of a user can state, such as `Nora: home`. */
  topic: string | null;
  /** When it was last said, written or confirmed. Earlier statements do not supersede it. */
  asOf: number;
  /** Conversations in which it was said, newest last; empty: it was written. */
  sources: MemorySource[];
  /** Earlier versions, by `asOf`. */
  history: MemoryVersion[];
}

/** Evidence in one conversation for a memory. */
export interface MemorySource {
  conversationId: string;
  segmentIds: string[];
  saidAt: number;
  /** Hash of the extracted text, by which another run over the conversation recognises it. */
  wording: string;
}

export interface MemoryVersion extends Pick<Memory, 'content' | 'asOf' | 'sources'> {
  id: string;
  /** When a newer version replaced it. */
  supersededAt: number;
}

/** Memory that its user deleted: kept in a form that can be recognised but not read. */
export interface ForgottenMemory {
  id: string;
  userId: string;
  /** Random salt, so that equal words of two memories cannot be recognised. */
  salt: string;
  /** Short hashes of its words, in hexadecimal: several words share each. */
  words: string[];
  forgottenAt: number;
}

/** Change of a memory that its vectors may not reflect yet. */
export interface MemoryChange {
  userId: string;
  /** Id of the memory, which may be deleted by now. */
  id: string;
  changedAt: number;
}

/** State of the vectors of a user's memories. */
export interface Embedding {
  userId: string;
  /** Id of the vector space, which changes when it is created again. */
  space: string;
  /** While it is filled: id of the last memory in it, '' before the first. Null: it is complete. */
  cursor: string | null;
}
