import type {
  ActionItem,
  CalendarLink,
  Goal,
  GoalProgress,
  GoalSuggestion,
  GoalSuggestionState,
  User,
} from '../model.ts';

export interface ActionItemFilter {
  completed?: boolean | undefined;
  locked?: boolean | undefined;
  conversationId?: string | undefined;
  /** Inclusive bounds of `createdAt`. */
  createdFrom?: number | undefined;
  createdTo?: number | undefined;
  /** Inclusive bounds of `dueAt`: rows without one are excluded. */
  dueFrom?: number | undefined;
  dueTo?: number | undefined;
  limit: number;
  offset: number;
}

/** All fields that may change after the row was created. */
export type ActionItemPatch = Partial<Omit<ActionItem, 'id' | 'userId' | 'createdAt'>>;

export interface ActionItemStore {
  /** All or nothing. */
  insert(items: ActionItem[]): Promise<void>;
  get(userId: string, id: string): Promise<ActionItem | null>;
  /**
   * Lists open ones before done ones; within each by due date, then without one newest first, ties by id. If requested
   * with `locked`, an index provides this order, without sorting.
   */
  list(userId: string, filter: ActionItemFilter): Promise<ActionItem[]>;
  /** Changes these fields alone. Resolves to whether it exists. */
  update(userId: string, id: string, patch: ActionItemPatch): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Moves all tasks of a conversation to another one, or to none. */
  moveAll(userId: string, fromConversation: string, toConversation: string | null): Promise<void>;
}

export interface GoalStore {
  insert(goal: Goal): Promise<void>;
  get(userId: string, id: string): Promise<Goal | null>;
  /** `createdAt` descending, ties by id. `active`: neither paused nor reached. */
  list(userId: string, filter: { active: boolean; limit: number; offset?: number }): Promise<Goal[]>;
  /** Changes these fields alone. Resolves to whether it exists. */
  update(
    userId: string,
    id: string,
    patch: Partial<Omit<Goal, 'id' | 'userId' | 'createdAt'>>,
  ): Promise<boolean>;
  /** Removes it with its progress and suggestions. Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
  /** Stores or replaces the value of a day. Rejects with `not_found` if the goal does not exist. */
  record(progress: GoalProgress): Promise<void>;
  /** Lists progress from `fromDay` on, by day. */
  progress(userId: string, goalId: string, fromDay: number): Promise<GoalProgress[]>;
  /** Deletes progress before this day. */
  forgetProgress(userId: string, goalId: string, beforeDay: number): Promise<void>;
}

/** Suggestions, which are removed with their goal and with their conversation. */
export interface GoalSuggestionStore {
  /** Rejects with `conflict` if this user has one with this id, with `not_found` without its goal or conversation. */
  insert(suggestion: GoalSuggestion): Promise<void>;
  get(userId: string, id: string): Promise<GoalSuggestion | null>;
  /** Unanswered ones, `createdAt` descending, ties by id. */
  open(userId: string, limit: number): Promise<GoalSuggestion[]>;
  /** Lists suggestions of any state, by id. */
  ofConversation(userId: string, conversationId: string, limit: number): Promise<GoalSuggestion[]>;
  /**
   * Changes these fields alone. Resolves to whether it exists.
   * @param from required present state
   */
  update(
    userId: string,
    id: string,
    patch: Partial<
      Pick<GoalSuggestion, 'conversationId' | 'segmentIds' | 'text' | 'value' | 'adds' | 'state'>
    >,
    from?: GoalSuggestionState,
  ): Promise<boolean>;
  /** Resolves to whether it existed. */
  remove(userId: string, id: string): Promise<boolean>;
}

/** Calendar links, at most one for each user. */
export interface CalendarLinkStore {
  /** Inserts, or replaces the link of the user. */
  put(link: CalendarLink): Promise<void>;
  get(userId: string): Promise<CalendarLink | null>;
  /** Finds a link with its user. A link that was replaced or removed is no longer found. */
  byHash(hash: string): Promise<{ link: CalendarLink; user: User } | null>;
  /** Resolves to whether it existed. */
  remove(userId: string): Promise<boolean>;
}
