import type { SpeechSettings, Stream, StreamProgress } from '../model.ts';

export interface SpeechStore {
  /** Null: the user has no settings. */
  settings(userId: string): Promise<SpeechSettings | null>;
  putSettings(settings: SpeechSettings): Promise<void>;
}

export interface StreamStore {
  /** Rejects with `conflict` when this user's client stream and channel are taken. */
  insert(stream: Stream): Promise<void>;
  byClientStream(userId: string, clientStream: string, channel: number): Promise<Stream | null>;
  get(userId: string, id: string): Promise<Stream | null>;
  /** Lists the ids of all streams of a user. */
  ids(userId: string): Promise<string[]>;
  /** Advances it; a `through` below the stored one is ignored (resolves to false). */
  advance(userId: string, id: string, progress: StreamProgress): Promise<boolean>;
  /** Updates fields that a later connection, or its first sample, changes. */
  update(
    userId: string,
    id: string,
    patch: Partial<Pick<Stream, 'conversationId' | 'anchorAt' | 'codec' | 'setup'>>,
  ): Promise<void>;
  /** Moves all streams of a conversation to another one. */
  moveAll(userId: string, fromConversation: string, toConversation: string): Promise<void>;
}

/** Ids derived from ids of clients. A claimed id stays claimed, even if its row was deleted. */
export interface ClaimStore {
  /**
   * Resolves to whether the id was free. One of several simultaneous calls succeeds; the others resolve once the data of
   * that one can be read.
   * @param at epoch ms
   */
  take(userId: string, id: string, at: number): Promise<boolean>;
}
