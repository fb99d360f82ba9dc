import { ConfigError } from '../../config/load.ts';
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

/** Assertions tell in many lines what was expected; a list of problems is one line each. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof ConfigError) return thrown.problems.join('; ');
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return message
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')
    .slice(0, MAX_REASON);
}
