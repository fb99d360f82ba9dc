/** The `+` of a time zone, sent without encoding, arrives as a space. */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+\- ])(\d\d):?(\d\d))?)?$/;
const DAY_MS = 24 * 3600 * 1000;

/**
 * Parses a date-time (UTC unless it names a zone), or a day in UTC, to epoch ms. Null for anything else.
 * @param edge which end of a day is meant
 */
export function toInstant(text: string, edge: 'start' | 'end'): number | null {
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

/** Returns null for a day that is not in the calendar. */
function midnightOf(day: string): number | null {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day) ? midnight : null;
}
