/** Secret link by which a calendar program reads the tasks and appointments of an account, and nothing else. */
export interface CalendarLink {
  userId: string;
  /** SHA-256 of the secret, hex. The secret is shown once and never stored. */
  hash: string;
  /** `cal_` + first 4 + `...` + last 4, for people. */
  hint: string;
  createdAt: number;
}

/** A task. */
export interface ActionItem {
  id: string;
  userId: string;
  description: string;
  completed: boolean;
  createdAt: number;
  updatedAt: number;
  dueAt: number | null;
  /** Null while it is open. */
  completedAt: number | null;
  /** Conversation in which it was said; null: it comes from none. */
  conversationId: string | null;
  /** Segment in which it was said; null: unknown. It may have been removed since. */
  segmentId: string | null;
  locked: boolean;
}

export type GoalType = 'boolean' | 'scale' | 'numeric';

export interface Goal {
  id: string;
  userId: string;
  title: string;
  desiredOutcome: string | null;
  whyItMatters: string | null;
  successCriteria: string[];
  /** Deadline. */
  horizonAt: number | null;
  goalType: GoalType;
  /** The current value at first: beyond the target, the goal is reached from above. */
  startValue: number;
  currentValue: number;
  targetValue: number | null;
  minValue: number | null;
  maxValue: number | null;
  unit: string | null;
  /** Hidden by its owner. */
  paused: boolean;
  /** Its current value has reached its target. */
  reached: boolean;
  createdAt: number;
  updatedAt: number;
}

/** The last value of a goal on one day. */
export interface GoalProgress {
  userId: string;
  goalId: string;
  /** Days of UTC since 1970-01-01. */
  day: number;
  value: number;
  recordedAt: number;
}

export type GoalSuggestionState = 'open' | 'accepted' | 'refused';

/** Change of a goal that its owner mentioned in a conversation, to be accepted or refused. */
export interface GoalSuggestion {
  id: string;
  userId: string;
  goalId: string;
  conversationId: string;
  /** Where it was said. */
  segmentIds: string[];
  /** The sentence. */
  text: string;
  value: number;
  /** Whether the value is added to the goal's; otherwise it replaces it. */
  adds: boolean;
  state: GoalSuggestionState;
  createdAt: number;
}
