/** Reads, compares and merges the texts of entries in calendars elsewhere. */
import { hash } from 'node:crypto';
import ICAL from 'ical.js';

/** Returns a calendar of one entry, as servers store it. */
export function enclosed(entry: string): string {
  return `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Earshot//Earshot//EN\r\n${entry}END:VCALENDAR\r\n`;
}

/** Returns a digest of an entry without its time of change. */
export function digestOf(text: string): string {
  const stable = text.replaceAll(/^(?:DTSTAMP|LAST-MODIFIED|COMPLETED):.*\r\n/gm, '');
  return hash('sha256', stable, 'base64url').slice(0, 22);
}

/** Whether a task is completed; null where the text is no task. */
export function isCompleted(text: string): boolean | null {
  const todo = componentIn(text)?.getFirstSubcomponent('vtodo');
  if (!todo) return null;
  return (
    String(todo.getFirstPropertyValue('status') ?? '').toUpperCase() === 'COMPLETED' ||
    todo.getFirstPropertyValue('completed') !== null ||
    Number(todo.getFirstPropertyValue('percent-complete') ?? 0) >= 100
  );
}

/** Properties that Earshot sets; others, such as alarms and notes, stay as they are in the calendar. */
const OWN = [
  'summary',
  'due',
  'status',
  'completed',
  'dtstart',
  'duration',
  'description',
  'last-modified',
  'dtstamp',
];
/** Properties that would contradict them, and are removed. */
const REPLACED = ['percent-complete', 'dtend'];

/** Returns the calendar's text of an entry with Earshot's properties in it. */
export function mergedInto(there: string, ours: string): string {
  const [kept, fresh] = [componentIn(there), componentIn(ours)];
  const of = (calendar: ICAL.Component | null) =>
    calendar?.getFirstSubcomponent('vtodo') ?? calendar?.getFirstSubcomponent('vevent');
  const [entry, own] = [of(kept), of(fresh)];
  if (!kept || !entry || !own || entry.name !== own.name) return ours;
  for (const name of [...OWN, ...REPLACED]) {
    const isTheirs = name === 'description' && own.name === 'vtodo';
    if (!isTheirs) entry.removeAllProperties(name);
  }
  for (const name of OWN) for (const property of own.getAllProperties(name)) entry.addProperty(property);
  return `${kept.toString()}\r\n`;
}

function componentIn(text: string): ICAL.Component | null {
  try {
    return new ICAL.Component(ICAL.parse(text));
  } catch {
    return null; // servers may return anything
  }
}
