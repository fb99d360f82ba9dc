/**
 * Progress of goals that was mentioned in a conversation, stored as suggestions. Their ids are derived from the goal and the
 * segment, so that processing, merging or splitting the conversation creates no duplicates.
 */
import type { Conversation, Goal, GoalSuggestion, Segment } from '../../contract/model.ts';
import type { Stores, UnderstoodProgress } from '../../contract/plugin.ts';
import { createPace } from '../../runtime/pace.ts';
import { derivedId } from '../ids.ts';
import { type Progress, readerOf, reportsIn } from './goal-progress.ts';
import { MAX_OPEN_SUGGESTIONS } from './goals.ts';

/** Maximum suggestions of one conversation that are read. */
const MAX_OF_CONVERSATION = 1000;
/** Maximum characters of a segment that are quoted. */
const MAX_TEXT_CHARS = 300;

export interface HeardProgress extends Progress {
  goalId: string;
  segmentId: string;
  /** The sentence. */
  text: string;
}

/** Finds the first report of the owner on each of these goals, if there is one. */
export async function progressIn(
  segments: readonly Pick<Segment, 'id' | 'text' | 'isUser'>[],
  goals: readonly Goal[],
): Promise<HeardProgress[]> {
  const pace = createPace();
  const readers = new Map(goals.map(goal => [goal.id, readerOf(goal)]));
  const heard: HeardProgress[] = [];
  for (const { id: segmentId, text, isUser } of segments) {
    if (readers.size === 0) break;
    if (!isUser) continue;
    for (const sentence of reportsIn(text)) {
      for (const [goalId, read] of readers) {
        const progress = read(sentence);
        if (!progress) continue;
        heard.push({ ...progress, goalId, segmentId, text: sentence.text });
        readers.delete(goalId);
      }
      await pace();
    }
    await pace();
  }
  return heard;
}

/** Keeps the findings of a plugin that the owner said and that the goal allows: the first report on each goal. */
export function progressOf(
  found: readonly UnderstoodProgress[],
  segments: readonly Pick<Segment, 'id' | 'text' | 'isUser'>[],
  goals: readonly Goal[],
): HeardProgress[] {
  const said = new Map(segments.filter(({ isUser }) => isUser).map(({ id, text }) => [id, text]));
  const left = new Map(goals.map(goal => [goal.id, goal]));
  return found.flatMap(({ goalId, value, adds, from }) => {
    const goal = left.get(goalId);
    const segmentId = from.find(id => said.has(id));
    if (!goal || segmentId === undefined || !isPossible({ value, adds }, goal)) return [];
    left.delete(goalId);
    const text = (said.get(segmentId) ?? '').slice(0, MAX_TEXT_CHARS).toWellFormed();
    return [{ goalId, segmentId, text, value, adds }];
  });
}

/** Returns whether a goal allows this value: 1 for a `boolean` one, a value within the scale, an added amount above 0. */
function isPossible(
  { value, adds }: Progress,
  { goalType, currentValue, minValue, maxValue }: Goal,
): boolean {
  if (!Number.isFinite(value)) return false;
  if (goalType === 'boolean') return value === 1 && !adds && currentValue !== 1;
  if (goalType === 'scale') return !adds && value >= (minValue ?? value) && value <= (maxValue ?? value);
  return adds ? value > 0 : value !== currentValue;
}

/**
 * Stores new suggestions, inside a transaction of the caller, and removes those of an earlier run that this one did not find.
 * Answered suggestions stay, and are not repeated.
 */
export async function suggestProgressIn(
  tx: Stores,
  { userId, id: conversationId }: Pick<Conversation, 'userId' | 'id'>,
  heard: readonly HeardProgress[],
  now: number,
): Promise<void> {
  const before = await tx.goalSuggestions.ofConversation(userId, conversationId, MAX_OF_CONVERSATION);
  const wanted = heard.map(progress => ({ progress, id: suggestionId(userId, progress) }));
  const isWanted = new Set(wanted.map(({ id }) => id));
  for (const { id, state } of before)
    if (state === 'open' && !isWanted.has(id)) await tx.goalSuggestions.remove(userId, id);
  if (wanted.length === 0) return;

  const answered = before.filter(({ state }) => state !== 'open');
  let open = (await tx.goalSuggestions.open(userId, MAX_OPEN_SUGGESTIONS)).length;
  for (const { id, progress } of wanted) {
    if (answered.some(each => each.id === id || saysTheSame(each, progress))) continue;
    const { goalId, segmentId, ...said } = progress;
    if (await tx.goalSuggestions.update(userId, id, { ...said, conversationId }, 'open')) continue;
    if (open >= MAX_OPEN_SUGGESTIONS || !(await tx.goals.get(userId, goalId))) continue;
    const own = { id, userId, goalId, conversationId, segmentIds: [segmentId], createdAt: now };
    await tx.goalSuggestions.insert({ ...own, ...said, state: 'open' });
    open += 1;
  }
}

/** Moves suggestions to another conversation, inside a transaction of the caller. */
export async function moveProgressIn(
  tx: Stores,
  { userId, id }: Pick<Conversation, 'userId' | 'id'>,
  placeOf: (segmentId: string) => Promise<string>,
): Promise<void> {
  for (const suggestion of await tx.goalSuggestions.ofConversation(userId, id, MAX_OF_CONVERSATION)) {
    const conversationId = await placeOf(suggestion.segmentIds[0] ?? '');
    if (conversationId !== id) await tx.goalSuggestions.update(userId, suggestion.id, { conversationId });
  }
}

function suggestionId(userId: string, { goalId, segmentId }: HeardProgress): string {
  return derivedId(`goal suggestion ${userId} ${goalId} ${segmentId}`);
}

/** Compares without segments, because a second pass over the audio creates new ones. */
function saysTheSame(one: GoalSuggestion, { goalId, value, adds }: HeardProgress): boolean {
  return one.goalId === goalId && one.value === value && one.adds === adds;
}
