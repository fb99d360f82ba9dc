import { type DestinationStream, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { AppError } from './errors.ts';
import { createLogOutput } from './log-output.ts';
import { withoutEscapedControls } from './terminal.ts';

export type Log = Logger;

/** Keys that are never printed, wherever they stand in a logged object. */
const REDACT = redactionOf([
  ...['key', 'token', 'secret', 'password', 'apiKey'],
  ...['authorization', 'Authorization', 'cookie', 'Cookie'],
]);
const CENSOR = '[redacted]';
/** Shorter texts would blot out words of their own. */
const MIN_SECRET_CHARACTERS = 6;

function redactionOf(names: readonly string[]): string[] {
  return names.map(name => `["${name}"]`).flatMap(name => [name, `*${name}`, `*.*${name}`]);
}

/** Texts that no line of this process may show, as they stand in JSON. */
const secrets = new Set<string>();
/** Credentials by their look, wherever they come from: API keys, secrets of apps, ID tokens, the values of headers. */
const CREDENTIALS =
  /\bomi_dev_[\w-]+|\bsk_[0-9a-f]{8,}|\bwhsec_[\w+/=-]+|\beyJ[\w-]+(\.[\w-]+\.[\w-]*)?|(\bBearer +)[\w.~+/=-]{16,}/gi;

/** Every line passes here: nothing secret leaves it, and nothing that steers the terminal which shows it. */
function clean(line: string): string {
  return withoutEscapedControls(conceal(line));
}

function conceal(line: string): string {
  let clean = line.replace(CREDENTIALS, (found, parts?: string, scheme = '') => {
    const isWord = parts === undefined && /^eyJ/i.test(found); // without the dots of a token
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

/** A failure that its message explains needs no stack; any other is a fault of ours, or of a plugin. */
function describeError(error: Error) {
  if (!(error instanceof AppError) || error.code === 'internal') return stdSerializers.err(error);
  const { code, message, cause } = error;
  return { code, message, ...(cause instanceof Error ? { cause: cause.message } : {}) };
}

/**
 * The process's logger, to standard error: standard output belongs to commands that print an answer. What cannot be
 * written there is counted, and ends nothing.
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

function prettify(): (line: string) => string {
  return prettyFactory({
    singleLine: true,
    colorize: process.stderr.isTTY === true,
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss.l',
  });
}
