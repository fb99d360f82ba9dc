import { AssertionError } from 'node:assert';
import { inspect } from 'node:util';
import { ConfigError } from '../../../config/load.ts';
import type { CheckMessage, Verdict } from './report.ts';

export type Reporter = ReturnType<typeof createReporter>;

/** A difference between large objects may go on for pages. */
const MAX_REASON = 1000;

/** Tells what each check comes to. */
export function createReporter(tell: (message: CheckMessage) => void) {
  const say = (group: string, title: string, verdict: Verdict, detail: string) =>
    tell({ type: 'finding', finding: { group, title, verdict, detail } });
  return {
    /** Resolves to what `run` does, a text to be shown; null when it failed. */
    async check<T>(group: string, title: string, run: () => Promise<T>): Promise<T | null> {
      tell({ type: 'begin', group, title });
      try {
        const result = await run();
        say(group, title, 'ok', typeof result === 'string' ? result : '');
        return result;
      } catch (error) {
        say(group, title, 'failed', reasonOf(error));
        return null;
      }
    },
    warn(group: string, title: string, detail: string): void {
      say(group, title, detail === '' ? 'ok' : 'warning', detail);
    },
  };
}

/** Says in one line what the plugin did; the title of the check says what it should do. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof ConfigError) return thrown.problems.join('; ');
  return messageOf(thrown)
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ')
    .slice(0, MAX_REASON);
}

function messageOf(thrown: unknown): string {
  if (thrown instanceof AssertionError) return behaviourOf(thrown);
  if (!(thrown instanceof Error)) return String(thrown);
  // `fetch failed` says nothing without its cause.
  return thrown.cause instanceof Error ? `${thrown.message}: ${thrown.cause.message}` : thrown.message;
}

/** An assertion without words of its own, in words: its own message is a difference of many lines. */
function behaviourOf({ actual, expected, operator, message, generatedMessage }: AssertionError): string {
  if (operator === 'rejects') return 'it did not refuse this: the promise resolved where it has to reject';
  if (operator === 'throws') return 'it did not refuse this: it returned where it has to throw';
  if (!generatedMessage) return message;
  if (actual instanceof Error) return `it threw ${actual.message}, not what is expected: ${show(expected)}`;
  if (operator === '==') return 'it did otherwise';
  const isSame = operator.startsWith('not');
  return isSame
    ? `it answered ${show(actual)}, as before`
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
