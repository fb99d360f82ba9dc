/** An audio file that becomes conversations. */
export interface Recording {
  id: string;
  userId: string;
  /** Name of the owner's file. */
  name: string;
  bytes: number;
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** Error message for its owner; of a finished one: the part that could not be read. */
  error: string | null;
  /** Time of its first sample; null: unknown until its length is measured. */
  startedAt: number | null;
  /** Time of its last sample, if the owner gave that instead. */
  endedAt: number | null;
  /** ISO 639-1, or `multi`. */
  language: string;
  source: string;
  /** Pause that starts another conversation. */
  silenceMs: number;
  /** Null: not measured yet. */
  durationMs: number | null;
  /** Length that has been transcribed, or is known to be silence. */
  heardMs: number;
  /** In the order in which they were spoken; some may have been deleted. */
  conversationIds: string[];
  createdAt: number;
  updatedAt: number;
}

/** Audio of one utterance, which its owner wants to keep. Its file is outside the database. */
export interface Clip {
  id: string;
  userId: string;
  conversationId: string;
  /** When its first sample was recorded, epoch ms. */
  startedAt: number;
  durationMs: number;
  /** Size of its file. */
  bytes: number;
  createdAt: number;
}
