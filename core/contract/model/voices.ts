import type { Segment } from './conversations.ts';

/** Voice of a conversation: its label, and its person. The vector is personal data. */
export interface Voice {
  userId: string;
  conversationId: string;
  /** The number in its label. */
  speakerId: number;
  /** The `id` of the model that made the vector; null where there is none. */
  space: string | null;
  /** The mean of its pieces, of length 1. */
  vector: Float32Array | null;
  /** Seconds of speech that the vector is made from. */
  seconds: number;
  /** Whether it is the owner's. */
  isUser: boolean;
  personId: string | null;
  /** Whether the owner assigned it; false: it was recognised, or is unknown. */
  isChosen: boolean;
  updatedAt: number;
}

/** Voice print of a person, made only from the owner's assignments and recordings. Personal data. */
export interface VoiceSample {
  id: string;
  userId: string;
  /** Null: the owner's own voice. */
  personId: string | null;
  space: string;
  vector: Float32Array;
  seconds: number;
  /** Conversation in which it was heard; null: it was recorded for this purpose, or the conversation was deleted. */
  conversationId: string | null;
  /** The voice of that conversation; null as above. */
  speakerId: number | null;
  createdAt: number;
}

/** Assignment of a voice to a person by the owner. It can be undone for some days, and is then deleted. */
export interface VoiceAssignment {
  id: string;
  userId: string;
  /** Conversation and speaker of the assigned voice. */
  conversationId: string;
  speakerId: number;
  isUser: boolean;
  personId: string | null;
  /** Applies to this voice in all conversations from this instant on; null: in its own alone. */
  since: number | null;
  state: 'running' | 'done' | 'undone';
  /** Number of changed rows of each kind. */
  conversations: number;
  segments: number;
  createdAt: number;
}

/** A voice and what it said as they were before an assignment. */
export interface VoiceChange extends Pick<Voice, 'isUser' | 'personId' | 'isChosen'> {
  userId: string;
  assignmentId: string;
  conversationId: string;
  speakerId: number;
  segments: Pick<Segment, 'id' | 'isUser' | 'personId'>[];
}

export interface Person {
  id: string;
  userId: string;
  name: string;
  createdAt: number;
}
