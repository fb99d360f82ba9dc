import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { ROUNDS } from '../../../../core/cli/doctor/checks.ts';
import { type Check, runCheck } from '../../../../core/cli/doctor/examination.ts';
import { findingsOf } from '../../../../core/cli/doctor/finding.ts';
import { clockCheck, judgeNode, judgeTime, machineCheck } from '../../../../core/cli/doctor/machine.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { look, patientOf } from '../../../helpers/patient.ts';

test('every check has a time limit, and instructions for when it is exceeded', t => {
  const checks = ROUNDS.flat();
  t.true(checks.length >= 9);
  for (const { what, group, cure, limitMs } of checks) {
    t.true(cure.trim().length > 10 && group !== '', what);
    t.true(limitMs > 0 && limitMs <= 90_000, what);
  }
});

test('a check that never ends is aborted; one that throws is a finding', async t => {
  const patient = await patientOf(t);
  const check: Check = { group: 'G', what: 'w', limitMs: 20, cure: 'the cure', look: async () => [] };
  const told = Promise.withResolvers<void>();
  const hangs: Check['look'] = (_, signal) =>
    new Promise(() => signal.addEventListener('abort', () => told.resolve()));
  t.like((await runCheck({ ...check, look: hangs }, patient))[0], { level: 'doubt', cure: 'the cure' });
  await told.promise;
  const throws = () => Promise.reject(new TypeError('nobody thought of that'));
  t.deepEqual(await runCheck({ ...check, look: throws }, patient), [
    findingsOf('G').bad('w', 'nobody thought of that', 'the cure'),
  ]);
});

test('the machine is described, and an old Node fails', async t => {
  const found = await look(t, machineCheck, await patientOf(t));
  t.is(found.Node?.level, 'good');
  t.regex(found.resources?.detail ?? '', /^\d+ processors, load [\d.]+; .* of .* memory free$/);
  t.like(judgeNode('v20.20.2'), { level: 'bad', cure: 'start Earshot with: npm start' });
});

test('a clock at its epoch, or far in the future, fails', t => {
  t.is(judgeTime(Date.UTC(2026, 10, 21)).level, 'good');
  for (const wrong of [0, Date.UTC(2019, 0), Date.UTC(2150, 0)]) {
    t.like(judgeTime(wrong), { level: 'bad' });
    t.regex(judgeTime(wrong).cure ?? '', /timedatectl set-ntp true/);
  }
});

test('a clock that jumps during the check is a warning', async t => {
  let offsetMs = 0;
  const jumping = {
    now: () => Date.now() + offsetMs,
    async sleep(ms: number) {
      await sleep(ms);
      offsetMs = -3600_000;
    },
  };
  const found = await look(t, clockCheck, await patientOf(t, {}, { clock: jumping }));
  t.is(found.steadiness?.level, 'doubt');
  t.regex(found.steadiness?.detail ?? '', /jumped by -3\d{6} ms/);
  t.is((await look(t, clockCheck, await patientOf(t))).steadiness?.level, 'good');
});

test('whether the clock follows a time server is reported if systemd knows', async t => {
  const run = await temporaryDirectory(t);
  const level = async () =>
    (await look(t, clockCheck, await patientOf(t, {}, { run })))['time server']?.level;
  t.is(await level(), 'note');
  await mkdir(join(run, 'systemd/timesync'), { recursive: true });
  t.is(await level(), 'doubt');
  await writeFile(join(run, 'systemd/timesync/synchronized'), '');
  t.is(await level(), 'good');
});
