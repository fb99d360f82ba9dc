import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { ConfigError, type LoadedConfig } from '../../config/load.ts';
import { callControl, controlPath } from '../control.ts';
import type { Patient } from '../doctor/examination.ts';
import type { Finding } from '../doctor/finding.ts';
import { AppError } from '../errors.ts';
import { paperFor, render, summary } from './doctor-report.ts';
import { settingsOf } from './house.ts';

/** A server that is busy has this long to say what it is doing. */
const ANSWER_MS = 5000;

/** `doctor`: everything that a home server can have wrong, and the way out. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('look at everything that can be wrong, and tell the cure; changes nothing')
    .option('--json', 'answer as one JSON object')
    .addHelpText('after', '\nExample: earshot doctor')
    .action(async ({ json }: { json?: boolean }, command: Command) => {
      const paper = paperFor(process.stdout);
      const write = (text: string) => process.stdout.write(`${text}\n`);
      const findings = await diagnose(command, found => json || write(render(found, paper)));
      const bad = findings.filter(({ level }) => level === 'bad').length;
      write(json ? JSON.stringify({ ok: bad === 0, findings }) : `\n${summary(findings, paper)}`);
      if (bad > 0) throw new AppError('config_error', `${bad} of ${findings.length} findings are bad`);
    });
}

async function diagnose(command: Command, tell: (findings: Finding[]) => void): Promise<Finding[]> {
  const { examine } = await import('../doctor/checks.ts'); // much to load
  const findings: Finding[] = [];
  const add = (found: Finding[]) => {
    findings.push(...found);
    if (found.length > 0) tell(found);
  };
  const loaded = await readSettings(command, add);
  if (loaded) await examine(await patientOf(loaded), add);
  return findings;
}

/** Without a configuration there is nothing to look at but what is wrong with it. */
async function readSettings(command: Command, add: (found: Finding[]) => void): Promise<LoadedConfig | null> {
  try {
    return settingsOf(command);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { problemsIn } = await import('../doctor/configuration.ts');
    add(problemsIn(error));
    return null;
  }
}

async function patientOf(loaded: LoadedConfig): Promise<Patient> {
  const path = controlPath(loaded.config.dataDir);
  const server = await callControl(path, 'status', {}, { timeLimitMs: ANSWER_MS }).catch(error => ({
    problem: error instanceof Error ? error.message : String(error),
  }));
  return {
    loaded,
    server,
    clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
    sys: '/sys',
    proc: '/proc',
    run: '/run',
    fetch,
  };
}
