/** Converts dates and times to and from the text that a model reads and writes, in the owner's time zone. Pure. */
import type { UnderstandingContext } from '../../../core/contract/plugin.ts';

type Zone = Pick<UnderstandingContext, 'wallTime' | 'instantOf'>;

const DAY_MS = 86_400_000;
const NOON = 12 * 60;
/** Number of days whose weekday the model is told. */
const CALENDAR_DAYS = 15;
/** Times further in the future than this count as errors. */
const MAX_AHEAD_MS = 5 * 366 * DAY_MS;
const WALL_TIME = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2})?)?$/;

/** Returns epoch ms, noon for a date alone. Null: no valid time, long past, or too far after `at`. */
export function instantIn(
  text: string | null,
  at: number,
  zone: Zone,
): { at: number; hasTime: boolean } | null {
  const [, day, hour, minute] = WALL_TIME.exec(text?.trim() ?? '') ?? [];
  if (day === undefined || !isDay(day) || Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59) return null;
  const hasTime = hour !== undefined;
  const instant = zone.instantOf({ day, minute: hasTime ? Number(hour) * 60 + Number(minute) : NOON });
  const isNear = instant > at - DAY_MS && instant < at + MAX_AHEAD_MS;
  return isNear ? { at: instant, hasTime } : null;
}

/** Describes when it was said, and the weekdays of the days that follow. */
export function calendarAt(
  at: number,
  language: string,
  zone: Zone,
): Record<'day' | 'time' | 'days', string> {
  const { day, minute } = zone.wallTime(at);
  const weekday = new Intl.DateTimeFormat(language, { weekday: 'long', timeZone: 'UTC' });
  const named = (offset: number) => {
    const date = new Date(Date.parse(`${day}T00:00:00Z`) + offset * DAY_MS);
    return `${weekday.format(date)} ${date.toISOString().slice(0, 10)}`;
  };
  return {
    day: named(0),
    time: `${pad(Math.floor(minute / 60))}:${pad(minute % 60)}`,
    days: Array.from({ length: CALENDAR_DAYS }, (_, offset) => named(offset)).join(', '),
  };
}

function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
