import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createClock } from '../../../bridge/clock.ts';
import { readDataLength } from '../../../bridge/commands/data-length.ts';
import {
  examineBluetooth,
  examineCore,
  examineProxies,
  renderDiagnoses,
} from '../../../bridge/commands/doctor.ts';
import { createController } from '../../../bridge/simulator/controller.ts';
import { createPendant } from '../../../bridge/simulator/pendant.ts';
import { bluetoothCheck } from '../../../core/cli/doctor/bluetooth.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { startProxy } from '../../helpers/esphome-proxy.ts';
import { patientOf } from '../../helpers/patient.ts';
import { countingStt, openServer } from '../../helpers/services.ts';

/** A simulated system: path below its root → content. */
async function find(
  t: ExecutionContext,
  files: Record<string, string>,
  radios?: string[],
  hasDataLength = async (_deviceId: number) => true,
) {
  const root = await temporaryDirectory(t);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), `${content}\n`);
  }
  const system = { sys: join(root, 'sys'), proc: join(root, 'proc') };
  const findings = await examineBluetooth(system, radios, hasDataLength);
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

test('without an adapter, the report suggests a simulated one', async t => {
  const found = await find(t, {});
  t.is(found.adapter?.level, 'note');
  t.regex(found.adapter?.detail ?? '', /earshot bridge --simulate/);
});

test('an adapter that is on and accessible passes', async t => {
  const found = await find(t, { ...hci0('0', '0'), ...capabilities('0000000000003000') });
  t.deepEqual([found.hci0?.level, found.permission?.level], ['good', 'good']);
  t.is(found['hci0:64'], undefined);
  t.is(found.library?.level, 'good', found.library?.detail);
});

test('an adapter that is off is reported with its cause and how to turn it on', async t => {
  t.like((await find(t, hci0('1', '0'))).hci0, { level: 'doubt', cure: 'rfkill unblock bluetooth' });
  t.like((await find(t, hci0('0', '1'))).hci0, {
    level: 'doubt',
    detail: 'it is switched off by a switch or key',
  });
});

test('an account that may not open raw sockets gets the one command that permits it', async t => {
  const { permission } = await find(t, { ...hci0('0', '0'), ...capabilities('0000000000001000') });
  t.like(permission, {
    level: 'doubt',
    cure: `sudo setcap cap_net_raw,cap_net_admin+eip ${process.execPath}`,
  });
  t.is((await find(t, hci0('0', '0'))).permission?.level, 'note');
});

test('bluetoothd is detected by its process: bluez needs it, and noble shares the adapter with it', async t => {
  const runs = { ...hci0('0', '0'), 'proc/812/comm': 'bluetoothd', 'proc/9/comm': 'node' };
  t.is((await find(t, runs)).bluetoothd?.level, 'note');
  t.is((await find(t, hci0('0', '0'))).bluetoothd?.level, 'good');
  const found = await find(t, runs, ['bluez', 'lan']);
  t.is(found.bluetoothd?.level, 'good');
  t.is(found.permission, undefined);
  const without = await find(t, hci0('0', '0'), ['bluez']);
  t.like(without.bluetoothd, { level: 'doubt', cure: 'sudo systemctl start bluetooth' });
});

test('a remote server is checked for reachability, and for whether it accepts the key', async t => {
  const server = await openServer(t, countingStt());
  const core = server.url.replace('http', 'ws');
  const levels = async (key: string | null) =>
    (await examineCore(core, key)).map(({ what, level }) => `${what} ${level}`);
  t.deepEqual(await levels(server.key), ['core good', 'key good']);
  t.deepEqual(await levels(null), ['core good']);
  t.deepEqual(await levels(`omi_dev_${'0'.repeat(32)}`), ['core good', 'key doubt']);
  const [away] = await examineCore('ws://127.0.0.1:9', server.key);
  t.like(away, { what: 'core', level: 'doubt' });
  t.regex(away?.detail ?? '', /does not answer \(.*ECONNREFUSED|bad port/);
});

test('findings are printed with instructions', async t => {
  const text = renderDiagnoses(Object.values(await find(t, hci0('1', '0'))));
  t.regex(text, /^! hci0: it is switched off\n {2}→ rfkill unblock bluetooth\n/);
});

test("the server's doctor runs the bridge's as a process", async t => {
  const { signal } = new AbortController(); // without the check's own time limit: a start may be slow
  const found = await bluetoothCheck.look(await patientOf(t), signal);
  t.true(found.every(({ group }) => group === 'Bluetooth'));
  t.is(found.find(({ what }) => what === 'library')?.level, 'good');
  t.true(found.length > 1, 'it tells of an adapter, or that there is none');
});

test('the data length of each active adapter is read, and one without it is named', async t => {
  const long = (await find(t, hci0('0', '0')))['data length'];
  t.like(long, { level: 'good', detail: 'hci0 supports long packets' });
  const asked: number[] = [];
  const { 'data length': short } = await find(t, hci0('0', '0'), undefined, async deviceId => {
    asked.push(deviceId);
    return false;
  });
  t.deepEqual(asked, [0]);
  t.like(short, { level: 'doubt', cure: 'use an adapter with Bluetooth 4.2 or newer' });
  const { 'data length': unknown } = await find(t, hci0('0', '0'), undefined, async () => {
    throw new Error('Operation not permitted');
  });
  t.like(unknown, { level: 'note', cure: null });
  t.regex(unknown?.detail ?? '', /whether hci0 supports long packets is unknown: Operation not permitted/);
  t.is((await find(t, hci0('1', '0')))['data length'], undefined);
});

test('a simulated adapter reports its data length, and is not reset for it', async t => {
  for (const dataLength of [true, false]) {
    const controller = createController({ dataLength });
    const load = () =>
      controller.Socket as unknown as ReturnType<NonNullable<Parameters<typeof readDataLength>[1]>>;
    t.is(await readDataLength(0, load), dataLength);
    t.deepEqual(
      controller.commands.map(({ opcode }) => opcode),
      [0x2003],
    );
    controller.setFault('ENODEV');
    await t.throwsAsync(readDataLength(0, load), { message: /No such device/ });
    controller.setFault(undefined);
    controller.setSilent(true);
    await t.throwsAsync(readDataLength(0, load), { message: /asking the adapter took more than/ });
  }
});

test('Bluetooth proxies are queried for their description and free connections, and reported in words', async t => {
  const clock = createClock(Date.now);
  const key = Buffer.alloc(32, 'k').toString('base64');
  const pendant = createPendant({ codecId: 21, frames: null, clock });
  const [sealed, open, full] = [
    await startProxy({ key, devices: [pendant] }),
    await startProxy(),
    await startProxy({ slots: 0 }),
  ];
  for (const proxy of [sealed, open, full]) t.teardown(proxy.stop);
  const host = '127.0.0.1';
  const examine = (esphome: { host: string; port: number; key?: string }[]) =>
    examineProxies({ radios: ['noble', 'esphome'], esphome }, clock);

  const [good, plain, busy, wrong] = await examine([
    { host, port: sealed.port, key },
    { host, port: open.port },
    { host, port: full.port },
    { host, port: sealed.port, key: Buffer.alloc(32, 'o').toString('base64') },
  ]);
  t.deepEqual(good, {
    what: 'proxy 127.0.0.1',
    level: 'good',
    detail: 'proxy, ESPHome 2026.10.0, encrypted, 3 of 3 connections free',
    cure: null,
  });
  t.like(plain, { level: 'note', cure: 'set api: encryption: in its YAML, and its key in bridge.esphome' });
  t.like(busy, {
    level: 'doubt',
    detail: 'proxy, ESPHome 2026.10.0, not encrypted, 0 of 0 connections free',
  });
  t.is(wrong?.level, 'doubt');
  t.regex(wrong?.detail ?? '', /is not that of the board/);
  t.regex(wrong?.cure ?? '', /compare key in bridge\.esphome/);
  const [away] = await examine([{ host, port: 1 }]);
  t.regex(away?.detail ?? '', /cannot be reached: .*ECONNREFUSED/);
  t.regex(away?.cure ?? '', /check that the board is on/);
  t.false(sealed.requests.includes('subscribeAdvertisements'));
  t.like((await examine([]))[0], { level: 'doubt', cure: 'set the host of one' });
  t.deepEqual(await examineProxies({ radios: ['noble'], esphome: [{ host, port: 9 }] }, clock), []);
});
