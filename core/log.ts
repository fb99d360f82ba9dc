import { type Logger, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

/** What may never be printed, wherever it stands in a logged object. */
const REDACT = ['key', 'token', 'secret', 'password', 'authorization', 'apiKey'].flatMap(name => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/**
 * The process's logger, to standard error: standard output belongs to commands that print an answer.
 * @param format `pretty` for people, `json` (one object per line) for log collectors
 */
export function createLog(options: { level: string; format: 'pretty' | 'json' }): Log {
  const settings = {
    level: options.level,
    redact: { paths: REDACT, censor: '[redacted]' },
    timestamp: stdTimeFunctions.isoTime,
    base: null,
  };
  if (options.format === 'json') return pino(settings, process.stderr);
  return pino(
    settings,
    pretty({
      destination: process.stderr,
      sync: true,
      colorize: process.stderr.isTTY === true,
      ignore: 'pid,hostname',
      translateTime: 'HH:MM:ss.l',
    }),
  );
}
