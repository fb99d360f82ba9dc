/**
 * Converts between instants and wall-clock time. A time of day that is skipped when clocks go forward is the instant at
 * which they do; a time that occurs twice when they go back is the first of the two.
 */

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const DAY_MS = DAY_MINUTES * MINUTE_MS;

/** The last instant (epoch ms) whose year has four digits. */
export const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** Time on a wall clock. */
export interface WallTime {
  /** `YYYY-MM-DD` */
  day: string;
  /** After midnight, as the clock counts them: 0 to 1439. */
  minute: number;
}

/** Part of each day, in minutes after local midnight: from inclusive to exclusive, past midnight where it is less. */
export interface DailySpan {
  from: number;
  to: number;
}

/** Formatters by zone: creating one takes a thousand times as long as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns whether this is the IANA name of a zone. An offset such as `+02:00` is none: it has no summer time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The zone of this machine. */
export function zoneOfMachine(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formats.set(timeZone, made);
  return made;
}

/** Returns the wall-clock time at this instant, as if it were UTC: epoch ms, to the second. */
function shownAt(at: number, timeZone: string): number {
  const part: Record<string, number> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(at)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

export function wallTime(at: number, timeZone: string): WallTime {
  const shown = shownAt(at, timeZone);
  const day = new Date(shown).toISOString().slice(0, 10);
  return { day, minute: Math.floor((shown - Date.parse(`${day}T00:00:00Z`)) / MINUTE_MS) };
}

/** Returns the first instant (epoch ms) at which the clocks of a zone show this time, or, if they skip it, a later one. */
export function instantOf({ day, minute }: WallTime, timeZone: string): number {
  const shown = Date.parse(`${day}T00:00:00Z`) + minute * MINUTE_MS;
  const offsets = [shown - DAY_MS, shown + DAY_MS].map(near => shownAt(near, timeZone) - near);
  const candidates = offsets.map(offset => shown - offset).toSorted((a, b) => a - b);
  const exact = candidates.find(at => shownAt(at, timeZone) === shown);
  if (exact !== undefined) return exact;
  let [before = shown, after = shown] = candidates;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (shownAt(middle, timeZone) < shown) before = middle;
    else after = middle;
  }
  return after;
}

/** Returns the day that is so many days after this one; negative: before it. */
export function dayAfter(day: string, days = 1): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the next instant after `after` at this minute of the day: one for each day, even if clocks change. */
export function nextTime(after: number, minute: number, timeZone: string): number {
  const { day } = wallTime(after, timeZone);
  const times = [-1, 0, 1, 2].map(days => instantOf({ day: dayAfter(day, days), minute }, timeZone));
  return times.find(at => at > after) ?? after + DAY_MS;
}

/** Returns the last instant up to `until` at this minute of the day. */
export function lastTime(until: number, minute: number, timeZone: string): number {
  const { day } = wallTime(until, timeZone);
  const times = [1, 0, -1, -2].map(days => instantOf({ day: dayAfter(day, days), minute }, timeZone));
  return times.find(at => at <= until) ?? until - DAY_MS;
}

/** Returns the end of the span of the day that contains `at`; null: none does. */
export function spanEnd(at: number, { from, to }: DailySpan, timeZone: string): number | null {
  const { day } = wallTime(at, timeZone);
  for (const begins of [dayAfter(day, -1), day]) {
    const ends = from < to ? begins : dayAfter(begins);
    const end = instantOf({ day: ends, minute: to }, timeZone);
    if (instantOf({ day: begins, minute: from }, timeZone) <= at && at < end) return end;
  }
  return null;
}

/** Parses `22:00` into minutes after midnight; null: it is not a time of day. */
export function minuteOf(text: string): number | null {
  const match = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text.trim());
  return match ? Number(match[1]) * 60 + Number(match[2]) : null;
}

/** Formats minutes after midnight as `22:00`. */
export function timeOfDay(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
}

/** For people: `Fri 20 Nov, 18:00`. */
export function toldTime(at: number, timeZone: string): string {
  const { day, minute } = wallTime(at, timeZone);
  return `${toldDay(day)}, ${timeOfDay(minute)}`;
}

/** For people: `Fri 20 Nov`. */
export function toldDay(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  const name = (part: 'weekday' | 'month') =>
    date.toLocaleDateString('en-GB', { [part]: 'short', timeZone: 'UTC' });
  return `${name('weekday')} ${date.getUTCDate()} ${name('month')}`;
}
