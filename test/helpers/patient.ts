import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { loadConfig, type Overrides } from '../../config/load.ts';
import { type Check, type Patient, runCheck } from '../../core/cli/doctor/examination.ts';
import type { Finding } from '../../core/cli/doctor/finding.ts';
import { UNHURRIED } from './services.ts';

/** A stopped server with its own data directory on this machine, for the doctor to examine. */
export async function patientOf(
  t: ExecutionContext,
  overrides: Overrides = {},
  changes: Partial<Patient> = {},
): Promise<Patient> {
  const cwd = await mkdtemp(join(tmpdir(), 'earshot-patient-'));
  t.teardown(() => rm(cwd, { recursive: true, force: true }));
  return {
    loaded: loadConfig({ env: {}, cwd, overrides: { dataDir: cwd, port: 0, ...overrides } }),
    server: 'absent',
    clock: { now: () => Date.now(), sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}) },
    proc: '/proc',
    run: '/run',
    pluginLimits: UNHURRIED,
    fetch,
    ...changes,
  };
}

/** Runs a check and returns its findings by name. Every fault must come with a remedy. */
export async function look(
  t: ExecutionContext,
  check: Check,
  patient: Patient,
): Promise<Record<string, Finding>> {
  const findings = await runCheck({ ...check, limitMs: UNHURRIED.setupMs }, patient);
  for (const { what, level, cure } of findings) {
    const isWrong = level === 'bad' || level === 'doubt';
    t.is(typeof cure === 'string' && cure.trim() !== '', isWrong, `${what}: ${cure}`);
  }
  return Object.fromEntries(findings.map(finding => [finding.what, finding]));
}
