import type { ChatMessage, ChatSession } from '../model.ts';

/** Chats about what was said: sessions, and the messages in each. */
export interface ChatStore {
  /** Rejects with `conflict` if this user has one with this id. */
  insertSession(session: ChatSession): Promise<void>;
  session(userId: string, id: string): Promise<ChatSession | null>;
  /** `updatedAt` descending, ties by id, also descending. */
  sessions(userId: string, page: { limit: number; offset: number }): Promise<ChatSession[]>;
  /** Resolves to whether it exists. */
  updateSession(
    userId: string,
    id: string,
    patch: Partial<Pick<ChatSession, 'title' | 'updatedAt'>>,
  ): Promise<boolean>;
  /** Removes it with its messages. Resolves to whether it existed. */
  removeSession(userId: string, id: string): Promise<boolean>;
  /** Rejects with `not_found` if the session does not exist. */
  insertMessage(message: ChatMessage): Promise<void>;
  /** Newest first: by id, which grows with time. */
  messages(
    userId: string,
    sessionId: string,
    page: { limit: number; offset: number },
  ): Promise<ChatMessage[]>;
  /** Deletes the messages of a session that are older than this one. */
  forgetMessages(userId: string, sessionId: string, beforeId: string): Promise<void>;
}
