import type { LoadedConfig } from '../../../config/load.ts';
import type { Clock } from '../../contract/model.ts';
import type { Status } from '../../control/commands.ts';
import type { PluginLimits } from '../../plugin-host/plugin-host.ts';
import { deadline } from '../../runtime/deadline.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Subject of the checks. */
export interface Patient {
  loaded: LoadedConfig;
  /** Status of the server that runs on this data directory. */
  server: Status | 'absent' | { problem: string };
  clock: Clock;
  /** Time limits for starting plugins; default: those of the server. */
  pluginLimits?: PluginLimits;
  /** Directories with the state of the system: `/proc` and `/run`. */
  proc: string;
  run: string;
  fetch: typeof fetch;
}

export interface Check {
  group: string;
  what: string;
  limitMs: number;
  /** Remedy for a check that does not end, or fails unexpectedly. */
  cure: string;
  look(patient: Patient, signal: AbortSignal): Promise<Finding[]>;
}

/** Runs a check, and resolves in time in any case. */
export async function runCheck(check: Check, patient: Patient): Promise<Finding[]> {
  const { group, what, limitMs, cure } = check;
  const { bad, doubt } = findingsOf(group);
  const late = new Error('timed out');
  try {
    return await deadline({ limitMs, late: () => late }, signal => check.look(patient, signal));
  } catch (error) {
    if (error === late) return [doubt(what, `no answer within ${limitMs / 1000} s`, cure)];
    return [bad(what, error instanceof Error ? error.message : String(error), cure)];
  }
}
