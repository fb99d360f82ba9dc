/** Chat of a user with the server about conversations. */
export interface ChatSession {
  id: string;
  userId: string;
  /** Beginning of its first question; empty until there is one. */
  title: string;
  createdAt: number;
  /** When its last message was written. */
  updatedAt: number;
}

export interface ChatMessage {
  /** Grows with time. */
  id: string;
  userId: string;
  sessionId: string;
  sender: 'human' | 'ai';
  text: string;
  /** The language model that wrote it; null: none did. */
  model: string | null;
  /** Sources of an answer, in the order of their numbers. Their text is read from where it is stored. */
  sources: ChatSource[];
  createdAt: number;
}

export interface ChatSource {
  type: string;
  id: string;
  /** Segment of a conversation that is cited. Null: none, or the whole conversation. */
  segmentId: string | null;
}
