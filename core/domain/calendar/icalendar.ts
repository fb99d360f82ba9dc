/** Renders tasks and events as iCalendar (RFC 5545). Times are in UTC: every calendar shows them in its own zone. */
import ICAL from 'ical.js';
import type { ActionItem } from '../../contract/model.ts';

/** An appointment that was heard. */
export interface HeardEvent {
  uid: string;
  title: string;
  description: string;
  startAt: number;
  minutes: number;
  /** Time of the last change. */
  storedAt: number;
}

const NAME = 'Earshot';
const END = 'END:VCALENDAR\r\n';
/** Length of a task that is shown as an event. */
const TASK_MINUTES = 15;
/** Refresh interval suggested to calendar programs. */
const REFRESH = 'PT1H';

type Value = string | ICAL.Time | ICAL.Duration;

/** Returns the beginning of a calendar, up to its first entry. */
export function calendarHead(timeZone: string): string {
  const calendar = component('vcalendar', {
    version: '2.0',
    prodid: '-//Earshot//Earshot//EN',
    calscale: 'GREGORIAN',
    method: 'PUBLISH',
    'x-wr-calname': NAME,
    'x-wr-timezone': timeZone,
    'refresh-interval': ICAL.Duration.fromString(REFRESH),
    'x-published-ttl': REFRESH,
  });
  return calendar.toString().slice(0, -END.trim().length);
}

export const CALENDAR_END = END;

export function eventText(event: HeardEvent): string {
  return entry('vevent', {
    uid: event.uid,
    dtstamp: instant(event.storedAt),
    dtstart: instant(event.startAt),
    duration: ICAL.Duration.fromSeconds(event.minutes * 60),
    summary: plain(event.title),
    ...(event.description !== '' && { description: plain(event.description) }),
  });
}

export function taskText(task: ActionItem): string {
  return entry('vtodo', {
    uid: uidOf(task),
    dtstamp: instant(task.updatedAt),
    created: instant(task.createdAt),
    'last-modified': instant(task.updatedAt),
    summary: plain(task.description),
    ...(task.dueAt !== null && { due: instant(task.dueAt) }),
    status: task.completed ? 'COMPLETED' : 'NEEDS-ACTION',
    ...(task.completed && { completed: instant(task.completedAt ?? task.updatedAt) }),
  });
}

/** Renders a task as an appointment, for programs that show no tasks: it ends at the due time. */
export function dueText(task: ActionItem & { dueAt: number }): string {
  const minutes = TASK_MINUTES;
  return eventText({
    uid: uidOf(task),
    title: `${task.completed ? '☑' : '☐'} ${task.description}`,
    description: '',
    startAt: task.dueAt - minutes * 60_000,
    minutes,
    storedAt: task.updatedAt,
  });
}

function uidOf({ id }: ActionItem): string {
  return `task-${id}@earshot`;
}

function entry(name: string, properties: Record<string, Value>): string {
  return `${component(name, properties).toString()}\r\n`;
}

function component(name: string, properties: Record<string, Value>): ICAL.Component {
  const made = new ICAL.Component(name);
  for (const [property, value] of Object.entries(properties)) made.addPropertyWithValue(property, value);
  return made;
}

function instant(at: number): ICAL.Time {
  return ICAL.Time.fromJSDate(new Date(at), true);
}

/** Removes control characters, which the format does not allow. */
function plain(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n]/gu, ' ');
}
