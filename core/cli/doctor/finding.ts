import type { Diagnosis } from '../../contract/plugin.ts';

/** Result of one check. */
export interface Finding extends Diagnosis {
  group: string;
}

/** Configuration to examine, as the command line names it. */
export interface DoctorRequest {
  file?: string;
  dataDir?: string;
}

/** Messages of the checking process. */
export type DoctorMessage = { type: 'findings'; findings: Finding[] } | { type: 'end' };

/** Creates findings of one group. A problem needs a remedy. */
export function findingsOf(group: string) {
  type Level = Finding['level'];
  const well =
    (level: Level) =>
    (what: string, detail: string): Finding => ({ group, what, level, detail, cure: null });
  const wrong =
    (level: Level) =>
    (what: string, detail: string, cure: string): Finding => ({ group, what, level, detail, cure });
  return { good: well('good'), note: well('note'), doubt: wrong('doubt'), bad: wrong('bad') };
}

/** Formats a duration for people. */
export function ageOf(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 1) return 'less than a minute';
  if (minutes === 1) return 'a minute';
  if (minutes < 120) return `${minutes} minutes`;
  return minutes < 2880 ? `${Math.round(minutes / 60)} hours` : `${Math.round(minutes / 1440)} days`;
}

/** Returns the code of a system error, or the message of another one. */
export function codeOf(thrown: unknown): string {
  if (thrown instanceof Error && 'code' in thrown) return String(thrown.code);
  return thrown instanceof Error ? thrown.message : String(thrown);
}
