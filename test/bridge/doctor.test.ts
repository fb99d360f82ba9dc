import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { examineBluetooth, renderDiagnoses } from '../../bridge/doctor.ts';
import { bluetoothCheck } from '../../core/cli/doctor/bluetooth.ts';
import { temporaryDirectory } from '../helpers/domain.ts';
import { patientOf } from '../helpers/patient.ts';

/** A system that tells this of itself: path below its root → content. */
async function find(t: ExecutionContext, files: Record<string, string>) {
  const root = await temporaryDirectory(t);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `${content}\n`);
  }
  const findings = await examineBluetooth({ sys: join(root, 'sys'), proc: join(root, 'proc') });
  return Object.fromEntries(findings.map(finding => [finding.what, finding]));
}

const hci0 = (soft: string, hard: string) => ({
  'sys/class/bluetooth/hci0/rfkill3/soft': soft,
  'sys/class/bluetooth/hci0/rfkill3/hard': hard,
  'sys/class/bluetooth/hci0:64/type': 'a connection, no adapter',
});
const capabilities = (effective: string) => ({
  'proc/self/status': `Name:\tnode\nCapEff:\t${effective}\nSeccomp:\t0`,
});

test('where there is no adapter, a simulated one is the way out', async t => {
  const found = await find(t, {});
  t.is(found.adapter?.level, 'note');
  t.regex(found.adapter?.detail ?? '', /earshot bridge --simulate/);
});

test('an adapter that is on, and may be used, is good', async t => {
  const found = await find(t, { ...hci0('0', '0'), ...capabilities('0000000000003000') });
  t.deepEqual([found.hci0?.level, found.permission?.level], ['good', 'good']);
  t.is(found['hci0:64'], undefined);
  t.is(found.library?.level, 'good', found.library?.detail);
});

test('one that is switched off says how, and by what', async t => {
  t.like((await find(t, hci0('1', '0'))).hci0, { level: 'doubt', cure: 'rfkill unblock bluetooth' });
  t.like((await find(t, hci0('0', '1'))).hci0, {
    level: 'doubt',
    detail: 'it is switched off by a switch or key',
  });
});

test('an account that may not open raw sockets is told the one command', async t => {
  const { permission } = await find(t, { ...hci0('0', '0'), ...capabilities('0000000000001000') });
  t.like(permission, {
    level: 'doubt',
    cure: `sudo setcap cap_net_raw,cap_net_admin+eip ${process.execPath}`,
  });
  t.is((await find(t, hci0('0', '0'))).permission?.level, 'note');
});

test('what is found is printed with what to do about it', async t => {
  const text = renderDiagnoses(Object.values(await find(t, hci0('1', '0'))));
  t.regex(text, /^! hci0: it is switched off\n {2}→ rfkill unblock bluetooth\n/);
});

test("the server's doctor asks the bridge as a process", async t => {
  const { signal } = new AbortController(); // without the check's own limit: a start may be slow
  const found = await bluetoothCheck.look(await patientOf(t), signal);
  t.true(found.every(({ group }) => group === 'Bluetooth'));
  t.is(found.find(({ what }) => what === 'library')?.level, 'good');
  t.true(found.length > 1, 'it tells of an adapter, or that there is none');
});
