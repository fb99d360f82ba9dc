import type { ActionItem, Clock, Conversation, Goal } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { createPace } from '../../runtime/pace.ts';
import type { Notifications } from '../notifications/notifications.ts';
import { dayAfter, instantOf, wallTime } from '../wall-clock.ts';
import { LATEST_START_MS } from './lifecycle.ts';

const DAYS = 7;
const PAGE = 200;
const MAX_CONVERSATIONS = 1000;
/** Maximum conversations, tasks and appointments that are listed; all of them are counted. */
const MAX_NAMED = 50;
const MAX_TASKS = 1000;
const MAX_GOALS = 100;

export interface WeeklyReview {
  /** First and last day, `YYYY-MM-DD` in the time zone. */
  from: string;
  to: string;
  timeZone: string;
  conversations: {
    count: number;
    categories: { category: string; count: number }[];
    longest: Conversation[];
  };
  tasks: { completed: ActionItem[]; overdue: ActionItem[]; due: ActionItem[] };
  /** Appointments of the days that follow. */
  events: { title: string; startAt: number; conversationId: string }[];
  /** Progress of each goal within the week. */
  goals: { goal: Goal; before: number; after: number }[];
}

export type WeeklyReviews = ReturnType<typeof createWeeklyReviews>;

/** Reviews a week from stored structures: no model is asked, and nothing is stored. */
export function createWeeklyReviews({
  storage,
  notifications,
  clock,
}: {
  storage: Pick<Storage, 'conversations' | 'actionItems' | 'goals'>;
  notifications: Pick<Notifications, 'settings'>;
  clock: Clock;
}) {
  /** @param lastDay absent: today */
  return async function review(userId: string, lastDay?: string): Promise<WeeklyReview> {
    const { timeZone } = await notifications.settings(userId);
    const to = lastDay ?? wallTime(clock.now(), timeZone).day;
    const from = dayAfter(to, 1 - DAYS);
    const beginOf = (day: string) => instantOf({ day, minute: 0 }, timeZone);
    const [begin, end, ahead] = [beginOf(from), beginOf(dayAfter(to, 1)), beginOf(dayAfter(to, 1 + DAYS))];
    const found = await conversationsOf(userId, begin, end);
    return {
      from,
      to,
      timeZone,
      conversations: {
        count: found.length,
        categories: countsOf(found.map(({ structured }) => structured.category)),
        longest: found.toSorted((a, b) => lengthOf(b) - lengthOf(a)).slice(0, MAX_NAMED),
      },
      tasks: await tasksOf(userId, begin, end, ahead),
      events: eventsOf(found, end, ahead),
      goals: await goalsOf(userId, begin, end),
    };
  };

  async function conversationsOf(userId: string, begin: number, end: number): Promise<Conversation[]> {
    const found: Conversation[] = [];
    const pace = createPace();
    while (found.length < MAX_CONVERSATIONS) {
      const page = await storage.conversations.list(userId, {
        statuses: ['completed'],
        discarded: false,
        locked: false,
        createdFrom: begin - LATEST_START_MS,
        startedFrom: begin,
        startedTo: end - 1,
        limit: PAGE,
        offset: found.length,
      });
      found.push(...page);
      if (page.length < PAGE) break;
      await pace();
    }
    return found;
  }

  async function tasksOf(userId: string, begin: number, end: number, ahead: number) {
    const common = { locked: false, limit: MAX_TASKS, offset: 0 };
    const done = await storage.actionItems.list(userId, { ...common, completed: true });
    const open = await storage.actionItems.list(userId, { ...common, completed: false });
    const isDue = ({ dueAt }: ActionItem, since: number, until: number) =>
      dueAt !== null && since <= dueAt && dueAt < until;
    return {
      completed: done
        .filter(({ completedAt }) => completedAt !== null && begin <= completedAt && completedAt < end)
        .slice(0, MAX_NAMED),
      overdue: open.filter(item => isDue(item, 0, end)).slice(0, MAX_NAMED),
      due: open.filter(item => isDue(item, end, ahead)).slice(0, MAX_NAMED),
    };
  }

  async function goalsOf(userId: string, begin: number, end: number) {
    const goals = await storage.goals.list(userId, { active: false, limit: MAX_GOALS, offset: 0 });
    const moved = await Promise.all(
      goals.map(async goal => {
        const day = Math.floor(begin / (24 * 3600_000));
        const steps = await storage.goals.progress(userId, goal.id, day - 365);
        const valueAt = (at: number) =>
          steps.filter(({ recordedAt }) => recordedAt < at).sort((a, b) => b.recordedAt - a.recordedAt)[0]
            ?.value;
        const after = valueAt(end);
        return after === undefined ? [] : [{ goal, before: valueAt(begin) ?? goal.startValue, after }];
      }),
    );
    return moved.flat();
  }
}

function countsOf(categories: readonly string[]): { category: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const category of categories) counts.set(category, (counts.get(category) ?? 0) + 1);
  return [...counts].map(([category, count]) => ({ category, count })).sort((a, b) => b.count - a.count);
}

function lengthOf({ startedAt, finishedAt, createdAt }: Conversation): number {
  return (finishedAt ?? createdAt) - (startedAt ?? createdAt);
}

/** Removes duplicates of several conversations. */
function eventsOf(found: readonly Conversation[], from: number, to: number): WeeklyReview['events'] {
  const events = new Map<string, WeeklyReview['events'][number]>();
  for (const { id, structured } of found)
    for (const { title, startAt } of structured.events)
      if (from <= startAt && startAt < to)
        events.set(`${startAt} ${title.toLowerCase()}`, { title, startAt, conversationId: id });
  return [...events.values()].sort((a, b) => a.startAt - b.startAt).slice(0, MAX_NAMED);
}
