import type { Clock, Goal, GoalProgress, GoalSuggestion, GoalType } from '../../contract/model.ts';
import type { Storage, Stores } from '../../contract/plugin.ts';
import { AppError, type Issue } from '../../runtime/errors.ts';
import { checkExpected } from '../expected.ts';
import { isId, newId } from '../ids.ts';

const DAY_MS = 24 * 3600 * 1000;
/** Days of progress that are kept, today included. */
export const MAX_HISTORY_DAYS = 365;
/** Maximum unanswered suggestions of one user; further ones are not added. */
export const MAX_OPEN_SUGGESTIONS = 100;

type Words = Pick<
  Goal,
  'title' | 'desiredOutcome' | 'whyItMatters' | 'successCriteria' | 'horizonAt' | 'unit'
>;
type Values = Pick<Goal, 'currentValue' | 'targetValue' | 'minValue' | 'maxValue'>;

/** Null: not given. */
export type GoalDraft = Words & { goalType: GoalType | null } & { [Name in keyof Values]: number | null };

/** Absent: unchanged. */
export type GoalEdit = Partial<Words & Values & Pick<Goal, 'goalType' | 'paused'>>;

/** Fields that an edit may be based on, by their names on the wire. */
export interface GoalVersion {
  title: string;
  desired_outcome: string;
  unit: string | null;
  target_value: number | null;
  current_value: number;
  /** ISO 8601. */
  horizon_at: string | null;
}

export type GoalStatus = 'active' | 'paused' | 'completed';

/** Default values by type. A number has no bounds by default. */
const USUAL: Record<GoalType, Omit<Values, 'currentValue'>> = {
  boolean: { minValue: 0, maxValue: 1, targetValue: 1 },
  scale: { minValue: 0, maxValue: 10, targetValue: 10 },
  numeric: { minValue: null, maxValue: null, targetValue: null },
};

export type Goals = ReturnType<typeof createGoals>;

/** The only writer of goals and their progress. */
export function createGoals({ storage, clock }: { storage: Storage; clock: Clock }) {
  const today = () => Math.floor(clock.now() / DAY_MS);

  /** `not_found`. */
  async function get(userId: string, id: string): Promise<Goal> {
    return find(storage, userId, id);
  }

  /** `invalid_request` if its values contradict each other. */
  async function create(userId: string, draft: GoalDraft): Promise<Goal> {
    const now = clock.now();
    const goal = checked(goalOf(userId, draft, now), 'body');
    await storage.transaction('create goal', async tx => {
      await tx.goals.insert(goal);
      await recordIn(tx, goal, now);
    });
    return goal;
  }

  /**
   * Changes a goal; of two simultaneous edits both apply. `not_found`, `conflict` if the expected values have changed,
   * `invalid_request` if the new values contradict each other.
   */
  async function edit(
    userId: string,
    id: string,
    changes: GoalEdit,
    expected?: Partial<GoalVersion>,
  ): Promise<Goal> {
    const now = clock.now();
    return storage.transaction('edit goal', async tx => {
      const before = await find(tx, userId, id);
      checkExpected(versionOf(before), expected, versionOf(changes));
      return editIn(tx, before, changes, { from: 'body', now });
    });
  }

  /** Changes the current value as `edit` does. */
  async function progress(userId: string, id: string, next: (before: Goal) => number): Promise<Goal> {
    const now = clock.now();
    return storage.transaction('goal progress', async tx => {
      const before = await find(tx, userId, id);
      return editIn(tx, before, { currentValue: next(before) }, { from: 'query', now });
    });
  }

  /** Lists unanswered suggestions, newest first, each with its goal. */
  async function suggestions(userId: string): Promise<{ suggestion: GoalSuggestion; goal: Goal }[]> {
    const open = await storage.goalSuggestions.open(userId, MAX_OPEN_SUGGESTIONS);
    const pairs: { suggestion: GoalSuggestion; goal: Goal }[] = [];
    for (const suggestion of open) {
      const goal = await storage.goals.get(userId, suggestion.goalId);
      if (goal) pairs.push({ suggestion, goal });
    }
    return pairs;
  }

  /** Applies a suggestion to its goal. `not_found`, or `conflict` if it has been answered. */
  async function accept(userId: string, id: string): Promise<Goal> {
    const now = clock.now();
    return storage.transaction('accept goal suggestion', async tx => {
      const suggestion = await answerIn(tx, userId, id, 'accepted');
      const goal = await find(tx, userId, suggestion.goalId);
      return editIn(tx, goal, { currentValue: suggestedValue(goal, suggestion) }, { from: 'body', now });
    });
  }

  /** Refuses a suggestion; processing the conversation again does not repeat it. Errors as of `accept`. */
  async function refuse(userId: string, id: string): Promise<void> {
    await storage.transaction('refuse goal suggestion', tx => answerIn(tx, userId, id, 'refused'));
  }

  /** Removes a goal with its progress. `not_found`. */
  async function remove(userId: string, id: string): Promise<void> {
    if (!isId(id) || !(await storage.goals.remove(userId, id))) throw notFound();
  }

  /** Returns the values of the last `days` days, today included, without days on which nothing changed. `not_found`. */
  async function history(userId: string, id: string, days: number): Promise<GoalProgress[]> {
    await get(userId, id);
    return storage.goals.progress(userId, id, today() - days + 1);
  }

  return {
    /** Newest first. @param active without those that are paused or completed */
    list: (userId: string, filter: { active: boolean; limit: number; offset: number }): Promise<Goal[]> =>
      storage.goals.list(userId, filter),
    get,
    create,
    edit,
    set: (userId: string, id: string, value: number): Promise<Goal> => progress(userId, id, () => value),
    /** Adds to the current value; of two simultaneous additions both count. */
    add: (userId: string, id: string, value: number): Promise<Goal> =>
      progress(userId, id, ({ currentValue }) => currentValue + value),
    remove,
    history,
    suggestions,
    accept,
    refuse,
  };
}

/** Returns the value of a goal after the suggestion is accepted, within its bounds. */
export function suggestedValue(goal: Goal, { value, adds }: Pick<GoalSuggestion, 'value' | 'adds'>): number {
  const { currentValue, minValue, maxValue } = goal;
  const wanted = adds ? currentValue + value : value;
  return Math.min(Math.max(wanted, minValue ?? wanted), maxValue ?? Number.POSITIVE_INFINITY);
}

export function statusOf({ reached, paused }: Goal): GoalStatus {
  if (reached) return 'completed';
  return paused ? 'paused' : 'active';
}

function versionOf(goal: Goal): GoalVersion;
function versionOf(changes: GoalEdit): Partial<GoalVersion>;
function versionOf(goal: GoalEdit): Partial<GoalVersion> {
  const { title, desiredOutcome, unit, targetValue, currentValue, horizonAt } = goal;
  return {
    ...(title === undefined ? {} : { title }),
    ...(desiredOutcome === undefined ? {} : { desired_outcome: desiredOutcome ?? '' }),
    ...(unit === undefined ? {} : { unit }),
    ...(targetValue === undefined ? {} : { target_value: targetValue }),
    ...(currentValue === undefined ? {} : { current_value: currentValue }),
    ...(horizonAt === undefined
      ? {}
      : { horizon_at: horizonAt === null ? null : new Date(horizonAt).toISOString() }),
  };
}

async function editIn(
  tx: Stores,
  before: Goal,
  changes: GoalEdit,
  { from, now }: { from: 'body' | 'query'; now: number },
): Promise<Goal> {
  const updatedAt = Math.max(now, before.updatedAt + 1);
  const after = checked({ ...before, ...changes, updatedAt }, from);
  await tx.goals.update(before.userId, before.id, { ...changes, reached: after.reached, updatedAt });
  if (changes.currentValue !== undefined) await recordIn(tx, after, now);
  return after;
}

async function answerIn(
  tx: Stores,
  userId: string,
  id: string,
  state: 'accepted' | 'refused',
): Promise<GoalSuggestion> {
  const found = isId(id) ? await tx.goalSuggestions.get(userId, id) : null;
  if (!found) throw new AppError('not_found', 'Suggestion not found');
  if (!(await tx.goalSuggestions.update(userId, id, { state }, 'open')))
    throw new AppError(
      'conflict',
      'The suggestion was answered before: set the progress of the goal instead',
    );
  return found;
}

async function find(stores: Stores, userId: string, id: string): Promise<Goal> {
  const found = isId(id) ? await stores.goals.get(userId, id) : null;
  if (!found) throw notFound();
  return found;
}

function notFound(): AppError {
  return new AppError('not_found', 'Goal not found');
}

function goalOf(userId: string, draft: GoalDraft, now: number): Goal {
  const { currentValue: given, ...others } = draft;
  const { targetValue, minValue, maxValue } = others;
  const counts = [given, targetValue, minValue, maxValue].some(value => value !== null);
  const goalType = draft.goalType ?? (counts ? 'numeric' : 'boolean');
  const usual = USUAL[goalType];
  const bounds = {
    minValue: minValue ?? usual.minValue,
    maxValue: maxValue ?? usual.maxValue,
    targetValue: targetValue ?? maxValue ?? usual.targetValue,
  };
  const currentValue = given ?? nearestToZero(bounds);
  return {
    ...others,
    ...bounds,
    id: newId(now),
    userId,
    goalType,
    startValue: currentValue,
    currentValue,
    paused: false,
    reached: false,
    createdAt: now,
    updatedAt: now,
  };
}

function nearestToZero({ minValue, maxValue }: Pick<Values, 'minValue' | 'maxValue'>): number {
  return Math.min(Math.max(0, minValue ?? 0), maxValue ?? Number.POSITIVE_INFINITY);
}

/** Returns the goal with `reached` updated. */
function checked(goal: Goal, from: 'body' | 'query'): Goal {
  const issues = [...misfits(goal)].map(
    ([field, msg]): Issue => ({ loc: [from, field], msg, type: 'value_error' }),
  );
  if (issues.length > 0)
    throw new AppError('invalid_request', 'The values of the goal do not fit', { issues });
  return { ...goal, reached: isReached(goal) };
}

function* misfits({
  goalType,
  currentValue,
  targetValue,
  minValue,
  maxValue,
}: Goal): Iterable<[string, string]> {
  const [min, max] = [minValue ?? Number.NEGATIVE_INFINITY, maxValue ?? Number.POSITIVE_INFINITY];
  const values = { current_value: currentValue, target_value: targetValue };
  if (min > max) return yield ['min_value', 'Input should not be greater than max_value'];
  for (const [field, value] of Object.entries(values))
    if (value !== null && (value < min || value > max))
      yield [field, 'Input should be from min_value to max_value'];
  if (goalType !== 'boolean') return;
  for (const [field, value] of Object.entries({ ...values, min_value: minValue, max_value: maxValue }))
    if (value !== null && value !== 0 && value !== 1)
      yield [field, 'Input should be 0 or 1 in a goal of type boolean'];
}

function isReached({ startValue, currentValue, targetValue }: Goal): boolean {
  if (targetValue === null) return false;
  return startValue <= targetValue ? currentValue >= targetValue : currentValue <= targetValue;
}

async function recordIn(
  tx: Stores,
  { userId, id: goalId, currentValue: value }: Goal,
  now: number,
): Promise<void> {
  const day = Math.floor(now / DAY_MS);
  await tx.goals.record({ userId, goalId, day, value, recordedAt: now });
  await tx.goals.forgetProgress(userId, goalId, day - MAX_HISTORY_DAYS + 1);
}
