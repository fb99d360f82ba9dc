/** The year, month, day, hour, minute and second that a recorder writes into a name, with or without separators. */
const WALL_CLOCK =
  /(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])[-_.T ]{0,3}([01]\d|2[0-3])[-_.:h]?([0-5]\d)[-_.:m]?([0-5]\d)(?!\d)/;
/** Seconds since 1970, as apps of wearables write them, from 2001 to 2286: ten digits. */
const EPOCH = /(?<!\d)(1\d{9})(?!\d)/;
const MAX_CHARS = 300;

/**
 * When a recording began, by the name of its file (epoch ms), in the time zone of this machine; null where it does not
 * say. An instant that is still to come is none.
 */
export function timeInName(name: string, now: number): number | null {
  const text = name.slice(-MAX_CHARS);
  const at = wallClock(text) ?? epoch(text);
  return at !== null && at <= now ? at : null;
}

function wallClock(text: string): number | null {
  const [, ...parts] = WALL_CLOCK.exec(text) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map(Number);
  return parts.length === 0 ? null : new Date(year, month - 1, day, hour, minute, second).getTime();
}

function epoch(text: string): number | null {
  const seconds = EPOCH.exec(text)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}
