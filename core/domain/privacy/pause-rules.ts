/** Decides whether a user is listened to at a time, by the schedule and by requests. */
import type { ListeningRules, PauseSpan, Weekday } from '../../contract/model.ts';
import { dayAfter, instantOf, wallTime } from '../wall-clock.ts';

export const WEEKDAYS: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

export interface ListeningState {
  isPaused: boolean;
  /** Whether a request or the schedule decides. */
  cause: 'asked' | 'schedule';
  /** Time of the next change (epoch ms); null: not within a week, or not by itself. */
  until: number | null;
  /** The state applies from the requested time until this one (epoch ms, exclusive). */
  knownUntil: number;
}

/** From inclusive to exclusive, epoch ms. */
interface Interval {
  from: number;
  to: number;
}

/** Days that are looked ahead: the schedule repeats each week. */
const DAYS_AHEAD = 8;

export function listeningAt(rules: ListeningRules, at: number): ListeningState {
  const { exceptions, schedule, timeZone } = rules;
  const today = wallTime(at, timeZone).day;
  const horizon = instantOf({ day: dayAfter(today, DAYS_AHEAD), minute: 0 }, timeZone);
  const pauses = schedule.flatMap(span => intervalsOf(span, today, timeZone));
  const exceptionAt = (instant: number) =>
    exceptions.findLast(({ from, until }) => from <= instant && (until === null || instant < until));
  const isPausedAt = (instant: number) =>
    exceptionAt(instant)?.isPaused ?? pauses.some(({ from, to }) => from <= instant && instant < to);

  const isPaused = isPausedAt(at);
  const edges = [
    ...pauses.flatMap(({ from, to }) => [from, to]),
    ...exceptions.flatMap(({ from, until }) => (until === null ? [from] : [from, until])),
  ];
  const later = edges.filter(edge => edge > at && edge < horizon).sort((a, b) => a - b);
  const until = later.find(edge => isPausedAt(edge) !== isPaused) ?? null;
  return {
    isPaused,
    cause: exceptionAt(at) ? 'asked' : 'schedule',
    until,
    knownUntil: until ?? horizon,
  };
}

/** A span in the days around this one. */
function intervalsOf({ days, from, to }: PauseSpan, today: string, timeZone: string): Interval[] {
  const intervals: Interval[] = [];
  for (let offset = -1; offset < DAYS_AHEAD; offset++) {
    const day = dayAfter(today, offset);
    if (!days.includes(weekdayOf(day))) continue;
    const lastDay = from < to ? day : dayAfter(day);
    intervals.push({
      from: instantOf({ day, minute: from }, timeZone),
      to: instantOf({ day: lastDay, minute: to }, timeZone),
    });
  }
  return intervals;
}

function weekdayOf(day: string): Weekday {
  const fromSunday = new Date(`${day}T00:00:00Z`).getUTCDay();
  return WEEKDAYS[(fromSunday + 6) % 7] ?? 'mon';
}
