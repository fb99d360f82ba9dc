/** Runs the checks in a separate process, because it loads third-party plugins. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, environment, type LoadedConfig, loadConfig } from '../../../config/load.ts';
import { callControl, controlPath } from '../../control/control.ts';
import { examine } from './checks.ts';
import { problemsIn } from './configuration.ts';
import type { Patient } from './examination.ts';
import type { DoctorMessage, DoctorRequest } from './finding.ts';

/** Time limit for the status of a busy server. */
const ANSWER_MS = 5000;

const { file, dataDir }: DoctorRequest = JSON.parse(process.argv[2] ?? '');
const tell = (message: DoctorMessage) => void process.send?.(message);
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

const loaded = readSettings();
if (loaded) await examine(await patientOf(loaded), findings => tell({ type: 'findings', findings }));
tell({ type: 'end' });

/** Loads the configuration, or reports its problems and returns null. */
function readSettings(): LoadedConfig | null {
  try {
    return loadConfig({ env: environment, file, overrides: { dataDir } });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    tell({ type: 'findings', findings: problemsIn(error) });
    return null;
  }
}

async function patientOf(settings: LoadedConfig): Promise<Patient> {
  const path = controlPath(settings.config.dataDir);
  const server = await callControl(path, 'status', {}, { timeLimitMs: ANSWER_MS }).catch(error => ({
    problem: error instanceof Error ? error.message : String(error),
  }));
  return {
    loaded: settings,
    server,
    clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
    proc: '/proc',
    run: '/run',
    fetch,
  };
}
