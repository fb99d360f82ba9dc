import { createHash } from 'node:crypto';
import type { ActionItem, Clock, Conversation } from '../../contract/model.ts';
import type { Storage } from '../../contract/plugin.ts';
import { createPace } from '../../runtime/pace.ts';
import { derivedId } from '../ids.ts';
import type { Notifications } from '../notifications/notifications.ts';
import { CALENDAR_END, calendarHead, dueText, eventText, type HeardEvent, taskText } from './icalendar.ts';

const DAY_MS = 24 * 3600_000;
/** Age up to which events of conversations are in the feed. */
const EVENT_DAYS = 365;
/** Age up to which completed tasks are in the feed. */
const DONE_DAYS = 90;
const MAX_EVENTS = 2000;
/** Maximum open tasks, those due first, and as many completed ones. */
const MAX_TASKS = 1000;
/** Length of an event whose end is unknown. */
const DEFAULT_MINUTES = 60;
const PAGE = 200;

/** Form of tasks: tasks, appointments at their due time, or none. */
export const TASKS_SHOWN = ['todo', 'event', 'none'] as const;
export type TasksShown = (typeof TASKS_SHOWN)[number];

export type CalendarFeed = ReturnType<typeof createCalendarFeed>;

/** Renders tasks and events of an account as one calendar, for each request. */
export function createCalendarFeed({
  storage,
  notifications,
  clock,
}: {
  storage: Pick<Storage, 'conversations' | 'actionItems'>;
  notifications: Pick<Notifications, 'settings'>;
  clock: Clock;
}) {
  async function* pieces(userId: string, shown: TasksShown): AsyncGenerator<string> {
    const pace = createPace();
    const { timeZone } = await notifications.settings(userId);
    yield calendarHead(timeZone);
    for await (const event of eventsOf(userId)) {
      yield eventText(event);
      await pace();
    }
    if (shown !== 'none')
      for await (const task of tasksOf(userId)) {
        const text = shown === 'todo' ? taskText(task) : isDue(task) ? dueText(task) : '';
        if (text !== '') yield text;
        await pace();
      }
    yield CALENDAR_END;
  }

  /** Removes duplicates of several conversations; those of the newest conversations come first. */
  async function* eventsOf(userId: string): AsyncGenerator<HeardEvent> {
    const known = new Set<string>();
    const createdFrom = clock.now() - EVENT_DAYS * DAY_MS;
    for (let offset = 0; known.size < MAX_EVENTS; offset += PAGE) {
      const page = await storage.conversations.list(userId, {
        statuses: ['completed'],
        discarded: false,
        locked: false,
        createdFrom,
        limit: PAGE,
        offset,
      });
      for (const event of page.flatMap(heardIn)) {
        const name = `${event.startAt} ${event.title.toLowerCase()}`;
        if (known.has(name) || known.size === MAX_EVENTS) continue;
        known.add(name);
        yield event;
      }
      if (page.length < PAGE) return;
    }
  }

  async function* tasksOf(userId: string): AsyncGenerator<ActionItem> {
    const common = { locked: false, limit: MAX_TASKS, offset: 0 };
    yield* await storage.actionItems.list(userId, { ...common, completed: false });
    const createdFrom = clock.now() - DONE_DAYS * DAY_MS;
    yield* await storage.actionItems.list(userId, { ...common, completed: true, createdFrom });
  }

  /** Returns a tag that changes with the calendar. */
  async function tagOf(userId: string, shown: TasksShown): Promise<string> {
    const digest = createHash('sha256');
    for await (const piece of pieces(userId, shown)) digest.update(piece);
    return digest.digest('base64url').slice(0, 22);
  }

  return { pieces, tagOf, events: eventsOf, tasks: tasksOf };
}

function isDue(task: ActionItem): task is ActionItem & { dueAt: number } {
  return task.dueAt !== null;
}

function heardIn({ id, structured, finishedAt, createdAt }: Conversation): HeardEvent[] {
  return structured.events.map(({ title, description, startAt, duration }) => ({
    uid: `event-${derivedId(`event ${id} ${startAt} ${title}`)}@earshot`,
    title,
    description,
    startAt,
    minutes: duration > 0 ? Math.round(duration) : DEFAULT_MINUTES,
    storedAt: finishedAt ?? createdAt,
  }));
}
