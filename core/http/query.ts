/** The query parameters that resources share, as schemas: text in, value out. An empty one counts as absent. */
import { z } from 'zod';

/** `limit` and `offset`: out of range is brought into range, no integer is an error. */
export function integer(options: { from: number; to?: number; absent: number }) {
  const { from, to = Number.MAX_SAFE_INTEGER, absent } = options;
  const value = optional('int_parsing', 'Input should be a valid integer', text =>
    /^[+-]?\d+$/.test(text) ? Math.min(Math.max(Number(text), from), to) : null,
  );
  return value.transform(given => given ?? absent);
}

export function boolean() {
  return optional(
    'bool_parsing',
    'Input should be true or false',
    text => BOOLEANS.get(text.toLowerCase()) ?? null,
  );
}
const BOOLEANS = new Map([
  ...['true', '1', 'yes', 'on'].map(text => [text, true] as const),
  ...['false', '0', 'no', 'off'].map(text => [text, false] as const),
]);

/** Comma-separated values of a table, blanks ignored; undefined where none is left. */
export function listOf<T extends string>(isKnown: (text: string) => text is T, known: readonly T[]) {
  const message = `Input should be of: ${known.join(', ')}`;
  return optional('enum', message, text => {
    const names = text.split(',').map(name => name.trim());
    const given = names.filter(name => name !== '');
    return given.every(isKnown) ? given : null;
  }).transform(given => (given && given.length > 0 ? given : undefined));
}

/**
 * An inclusive bound as epoch ms: a date-time (UTC unless it names a zone), or a day in UTC.
 * @param edge the end of that day that is meant
 */
export function instant(edge: 'start' | 'end') {
  return optional('datetime_parsing', 'Input should be a date-time or YYYY-MM-DD', text =>
    toInstant(text, edge),
  );
}

/** An unencoded `+` of a zone arrives as a blank. */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+\- ])(\d\d):?(\d\d))?)?$/;
const DAY_MS = 24 * 3600 * 1000;

function toInstant(text: string, edge: 'start' | 'end'): number | null {
  const match = DATE_TIME.exec(text);
  if (!match) return null;
  const [, day = '', time, seconds = '00', fraction = '', , sign = '+', zoneHours = '0', zoneMinutes = '0'] =
    match;
  const midnight = midnightOf(day);
  if (midnight === null) return null;
  if (time === undefined) return edge === 'start' ? midnight : midnight + DAY_MS - 1;
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  if (
    hours > 23 ||
    minutes > 59 ||
    Number(seconds) > 59 ||
    Number(zoneHours) > 23 ||
    Number(zoneMinutes) > 59
  )
    return null;
  const zoneMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const ms = Number(fraction.padEnd(3, '0').slice(0, 3));
  return midnight + (hours * 60 + minutes) * 60_000 + Number(seconds) * 1000 + ms - zoneMs;
}

/** Null for a day that no calendar has. */
function midnightOf(day: string): number | null {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day) ? midnight : null;
}

/** Undefined when absent or empty. `parse` answers null for what it does not take. */
function optional<T>(type: string, message: string, parse: (text: string) => T | null) {
  return z
    .string()
    .transform((text, context) => {
      const trimmed = text.trim();
      if (trimmed === '') return undefined;
      const value = parse(trimmed);
      if (value !== null) return value;
      context.addIssue({ code: 'custom', message, params: { type } });
      return z.NEVER;
    })
    .optional();
}
