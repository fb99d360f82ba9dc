import { recentLogLines } from '../runtime/log.ts';

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type Level = (typeof LEVELS)[number];

export interface LogLine {
  /** ISO 8601; null: the line was cut off. */
  time: string | null;
  level: Level;
  /** Part of the server, or plugin. */
  part: string | null;
  message: string;
  /** The other fields, as JSON; null: there are none. */
  details: string | null;
}

/** The last lines of the log from this level on, newest first. */
export function logLines({ level, limit }: { level: Level; limit: number }): LogLine[] {
  const least = LEVELS.indexOf(level);
  return recentLogLines()
    .reverse()
    .map(lineOf)
    .filter(line => LEVELS.indexOf(line.level) >= least)
    .slice(0, limit);
}

function lineOf(text: string): LogLine {
  try {
    const { level, time, msg, part, plugin, ...rest } = JSON.parse(text);
    return {
      time,
      level: LEVELS[level / 10 - 1] ?? 'info',
      part: part ?? plugin ?? null,
      message: String(msg ?? ''),
      details: Object.keys(rest).length === 0 ? null : JSON.stringify(rest),
    };
  } catch {
    return { time: null, level: 'info', part: null, message: text.trim(), details: null };
  }
}
