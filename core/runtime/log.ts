import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { AppError } from './errors.ts';
import { createLogFile } from './log-file.ts';
import { createLogOutput } from './log-output.ts';
import { withoutEscapedControls } from './terminal.ts';

export type Log = Logger;

/** Keys whose values are never printed, at any depth of a logged object. */
const REDACT = redactionOf([
  ...['key', 'token', 'secret', 'password', 'apiKey'],
  ...['authorization', 'Authorization', 'cookie', 'Cookie'],
]);
const CENSOR = '[redacted]';
/** Shorter secrets are not searched for: they would also match parts of ordinary words. */
const MIN_SECRET_CHARACTERS = 6;

function redactionOf(names: readonly string[]): string[] {
  return names.map(name => `["${name}"]`).flatMap(name => [name, `*${name}`, `*.*${name}`]);
}

/** Secrets that no line of this process may show, escaped as in JSON. */
const secrets = new Set<string>();
/**
 * Credentials recognised by their form, whatever their source: API keys, secrets of apps, ID tokens, values
 * of headers.
 */
const CREDENTIALS =
  /\bomi_dev_[\w-]+|\bsk_[0-9a-f]{8,}|\bwhsec_[\w+/=-]+|\beyJ[\w-]+(\.[\w-]+\.[\w-]*)?|(\bBearer +)[\w.~+/=-]{16,}/gi;

/** Lines of the log that operators can read while the server runs. */
const MAX_KEPT_LINES = 500;
const MAX_KEPT_CHARACTERS = 4000;
const kept: string[] = [];
let count = 0;

/** Filters every line: removes secrets, and control characters that would act on a terminal. */
function clean(line: string): string {
  const shown = withoutEscapedControls(conceal(line));
  kept[count % MAX_KEPT_LINES] = shown.slice(0, MAX_KEPT_CHARACTERS);
  count += 1;
  return shown;
}

/** The last lines that this process has logged, oldest first: JSON as it was written, long ones cut off. */
export function recentLogLines(): string[] {
  const from = count % MAX_KEPT_LINES;
  return count <= MAX_KEPT_LINES ? [...kept] : [...kept.slice(from), ...kept.slice(0, from)];
}

function conceal(line: string): string {
  let clean = line.replace(CREDENTIALS, (found, parts?: string, scheme = '') => {
    const isWord = parts === undefined && /^eyJ/i.test(found); // the characters of a token, without its dots
    return isWord ? found : scheme + CENSOR;
  });
  for (const secret of secrets) clean = clean.replaceAll(secret, CENSOR);
  return clean;
}

/** From now on no logger of this process prints these texts, not even inside a message or an error. */
export function concealSecrets(texts: readonly string[]): void {
  for (const text of texts) {
    if (text.length >= MIN_SECRET_CHARACTERS) secrets.add(JSON.stringify(text).slice(1, -1));
  }
}

/**
 * A child logger for a part that was given secrets: neither fields of these names nor these texts are printed, the
 * texts not even inside a message or an error, and by no logger of this process.
 */
export function createLogWithSecrets(
  log: Log,
  bindings: Record<string, unknown>,
  hidden: readonly { key: string; text: string }[],
): Log {
  concealSecrets(hidden.map(({ text }) => text));
  const paths = [...REDACT, ...redactionOf(hidden.map(({ key }) => key))];
  return log.child(bindings, { redact: { paths, censor: CENSOR } });
}

/** An expected failure is explained by its message; only errors of Earshot or a plugin need a stack trace. */
function describeError(error: Error) {
  if (!(error instanceof AppError) || error.code === 'internal') return stdSerializers.err(error);
  const { code, message, cause } = error;
  return { code, message, ...(cause instanceof Error ? { cause: cause.message } : {}) };
}

/**
 * The process's logger, to standard error: standard output belongs to commands that print an answer. What cannot be
 * written there is counted, and does not end the process.
 * @param format `pretty` for people, `json` (one object per line) for log collectors
 * @param destination where lines of JSON go instead
 */
export function createLog(
  { level, format }: { level: string; format: 'pretty' | 'json' },
  destination: DestinationStream = createLogOutput(
    process.stderr,
    format === 'json' ? undefined : prettify(),
  ),
): Log {
  return pino(
    {
      level,
      redact: { paths: REDACT, censor: CENSOR },
      hooks: { streamWrite: clean },
      timestamp: stdTimeFunctions.isoTime,
      serializers: { err: describeError },
      base: null,
    },
    destination,
  );
}

/** Options of the log, as configured. */
interface Settings {
  level: string;
  format: 'pretty' | 'json';
  /** Absent: standard error. */
  file?: string | undefined;
  maxBytes: number;
  keep: number;
}

/** The log of the server: as `createLog`, or to a file that is rotated. */
export function createServerLog({ file, maxBytes, keep, ...settings }: Settings): Log {
  if (file === undefined) return createLog(settings);
  const format = settings.format === 'json' ? undefined : prettify({ colorize: false, date: true });
  const fallback = createLogOutput(process.stderr, settings.format === 'json' ? undefined : prettify());
  const path = { path: file, maxBytes, keep, fallback };
  return createLog(settings, createLogFile({ ...path, ...(format ? { format } : {}) }));
}

function prettify({ colorize = process.stderr.isTTY === true, date = false } = {}): (line: string) => string {
  return prettyFactory({
    singleLine: true,
    colorize,
    ignore: 'pid,hostname',
    translateTime: `${date ? 'yyyy-mm-dd ' : ''}HH:MM:ss.l`,
  });
}
