import { AssertionError } from 'node:assert';
import { inspect } from 'node:util';
import { ConfigError } from '../../../config/load.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import type { CheckMessage, Verdict } from './report.ts';

export type Reporter = ReturnType<typeof createReporter>;

/** Characters of a reason; the difference between large objects may fill pages. */
const MAX_REASON = 1000;

/** The plugin's own line, as `file:line`, that an error comes from; null: unknown. */
export type PlaceOf = (thrown: unknown) => string | null;

/** Reports the result of each check. */
export function createReporter(tell: (message: CheckMessage) => void, placeOf: PlaceOf) {
  const say = (group: string, title: string, verdict: Verdict, detail: string) =>
    tell({ type: 'finding', finding: { group, title, verdict, detail } });
  return {
    /** Resolves to the text that `run` returns, which is shown; null if the check failed. */
    async check<T>(group: string, title: string, run: () => Promise<T>): Promise<T | null> {
      tell({ type: 'begin', group, title });
      try {
        const result = await run();
        say(group, title, 'ok', typeof result === 'string' ? result : '');
        return result;
      } catch (error) {
        say(group, title, 'failed', reasonOf(error, placeOf));
        return null;
      }
    },
    warn(group: string, title: string, detail: string): void {
      say(group, title, detail === '' ? 'ok' : 'warning', detail);
    },
    /** Says once how many checks were left out, and why. */
    skip(group: string, skipped: number, detail: string): void {
      const title = skipped === 1 ? '1 check was not run' : `${skipped} checks were not run`;
      tell({ type: 'finding', finding: { group, title, verdict: 'skipped', detail, skipped } });
    },
  };
}

/** Describes what the plugin did, each problem of its options on a line; the check's title says what it should do. */
export function reasonOf(thrown: unknown, placeOf: PlaceOf = () => null): string {
  if (thrown instanceof ConfigError) return thrown.problems.join('\n');
  const reason = messageOf(thrown)
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ')
    .slice(0, MAX_REASON);
  // An error that the plugin words itself needs no place, and an assertion is thrown by the suite.
  const isWorded = thrown instanceof AppError && thrown.code !== 'internal';
  const origin = thrown instanceof AppError ? thrown.cause : thrown;
  const place = isWorded || thrown instanceof AssertionError ? null : placeOf(origin);
  return place === null ? reason : `${reason} (at ${place})`;
}

function messageOf(thrown: unknown): string {
  if (thrown instanceof AssertionError) return behaviourOf(thrown);
  if (!(thrown instanceof Error)) return String(thrown);
  const { message } = thrown;
  // Messages such as `fetch failed` are useless without their first cause; others include it.
  const cause = firstCauseOf(thrown);
  return cause === thrown || includes(message, cause) ? message : `${message} (${cause.message})`;
}

function firstCauseOf(error: Error): Error {
  return error.cause instanceof Error ? firstCauseOf(error.cause) : error;
}

/** Returns whether a message includes its cause already, in its words or by its code. */
function includes(message: string, cause: Error): boolean {
  const { code } = Object(cause);
  return message.includes(cause.message) || (typeof code === 'string' && message.includes(code));
}

/** Describes an assertion without a message; the generated one is a difference of many lines. */
function behaviourOf({ actual, expected, operator, message, generatedMessage }: AssertionError): string {
  if (operator === 'rejects' && actual instanceof Error)
    return `it rejected with another error: ${actual.message}`;
  if (operator === 'rejects') return 'it accepted this: the promise resolved, but has to reject';
  if (operator === 'throws') return 'it accepted this: it returned, but has to throw';
  if (!generatedMessage) return message;
  if (actual instanceof Error) return `it threw ${actual.message}; expected: ${show(expected)}`;
  if (operator === '==') return 'it did not do this';
  const isSame = operator.startsWith('not');
  return isSame
    ? `it answered ${show(actual)} again`
    : `it answered ${show(actual)} instead of ${show(expected)}`;
}

function show(value: unknown): string {
  return inspect(value, {
    breakLength: Number.POSITIVE_INFINITY,
    depth: 4,
    maxArrayLength: 10,
    maxStringLength: 200,
  });
}
