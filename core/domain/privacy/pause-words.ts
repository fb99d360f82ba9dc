/** Weekly pauses as people write them: `mon-fri 22:00-07:00`. */
import type { PauseSpan, Weekday } from '../../contract/model.ts';
import { AppError } from '../../runtime/errors.ts';
import { minuteOf, timeOfDay } from '../wall-clock.ts';
import { WEEKDAYS } from './pause-rules.ts';

const NAMES: readonly string[] = WEEKDAYS;

/** `invalid_request`, with the text and an example. */
export function spanOf(text: string): PauseSpan {
  const [days = '', times = '', ...rest] = text.trim().toLowerCase().split(/\s+/);
  const [from, to] = times.split('-').map(minuteOf);
  const meant = days.split(',').flatMap(part => daysOf(part) ?? [null]);
  if (from == null || to == null || rest.length > 0 || meant.includes(null))
    throw new AppError(
      'invalid_request',
      `${text}: should be days and times, such as mon-fri 22:00-07:00, or sat,sun 00:00-00:00 for whole days`,
    );
  return { days: WEEKDAYS.filter(day => meant.includes(day)), from, to };
}

/** Reads `mon`, or `mon-fri`, also over the end of the week; null: neither. */
function daysOf(text: string): Weekday[] | null {
  const [first = '', last = first] = text.split('-');
  const [from, to] = [NAMES.indexOf(first), NAMES.indexOf(last)];
  if (from < 0 || to < 0) return null;
  return WEEKDAYS.filter((_, at) => (from <= to ? at >= from && at <= to : at >= from || at <= to));
}

export function spanWords({ days, from, to }: PauseSpan): string {
  return `${days.join(',')} ${timeOfDay(from)}-${timeOfDay(to)}`;
}
