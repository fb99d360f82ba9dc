import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { bridgeCheck } from '../../../../core/cli/doctor/bridge.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { look, patientOf } from '../../../helpers/patient.ts';
import { startPlainProxy } from '../../../helpers/plain-proxy.ts';
import { openServer } from '../../../helpers/services.ts';

const DAY_MS = 24 * 3600 * 1000;

/** A data directory in which a bridge has run, with this key. */
async function bridgeDirectory(t: ExecutionContext, key?: string): Promise<string> {
  const dataDir = await temporaryDirectory(t);
  await mkdir(join(dataDir, 'bridge'));
  if (key !== undefined) await writeFile(join(dataDir, 'bridge/key'), `${key}\n`);
  return dataDir;
}

async function record(dataDir: string, startedAt: number, bytes: number): Promise<void> {
  const directory = join(dataDir, 'bridge/spool', `${String(startedAt).padStart(14, '0')}-12345678`);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, '0.audio'), Buffer.alloc(bytes));
}

test('without a bridge there is nothing to check', async t => {
  t.like(await look(t, bridgeCheck, await patientOf(t)), { bridge: { level: 'note' } });
});

test('core answers, and accepts the key, even with the listen scope only', async t => {
  const instance = await openServer(t);
  const { key } = await instance.app.commands.key({ user: 'owner', scopes: ['listen'] });
  const server = await instance.app.commands.status({});
  const found = await look(
    t,
    bridgeCheck,
    await patientOf(t, { dataDir: await bridgeDirectory(t, key) }, { server }),
  );
  t.deepEqual([found.core?.level, found.key?.level, found.spool?.level], ['good', 'good', 'good']);
  t.regex(found.key?.detail ?? '', /^core accepts the one in .*bridge\/key$/);
});

test('a key that core does not know fails, whatever its source', async t => {
  const { url } = await openServer(t);
  const core = url.replace('http', 'ws');
  const dataDir = await bridgeDirectory(t, 'omi_dev_00000000000000000000000000000000');
  const file = join(dataDir, 'bridge/key');
  const kept = await look(t, bridgeCheck, await patientOf(t, { dataDir, bridge: { core } }));
  t.like(kept.key, { level: 'bad', cure: `rm ${file}, and start the bridge again` });
  const set = await look(t, bridgeCheck, await patientOf(t, { bridge: { core, key: 'wrong' } }));
  t.like(set.key, { level: 'bad', cure: 'set bridge.key to one that core accepts' });
});

test('an unreachable core is a warning: the audio is kept', async t => {
  const dataDir = await bridgeDirectory(t);
  const found = await look(
    t,
    bridgeCheck,
    await patientOf(t, { dataDir, bridge: { core: 'ws://127.0.0.1:1' } }),
  );
  t.like(found.core, {
    level: 'doubt',
    detail: 'does not answer on http://127.0.0.1:1; audio is stored meanwhile',
  });
  t.is(found.key?.level, 'note');
});

test('an unreadable key fails', async t => {
  const dataDir = await bridgeDirectory(t);
  await mkdir(join(dataDir, 'bridge/key'));
  const found = await look(t, bridgeCheck, await patientOf(t, { dataDir }));
  t.is(found.key?.level, 'bad');
  t.regex(found.key?.detail ?? '', /cannot be read \(EISDIR\)/);
});

test('audio that has waited for a day, or fills half of the spool, is a warning', async t => {
  const fresh = await bridgeDirectory(t);
  await record(fresh, Date.now() - 5 * 60_000, 70_000);
  const spoolBytes = 200_000;
  const spool = async (dataDir: string) =>
    (await look(t, bridgeCheck, await patientOf(t, { dataDir, bridge: { spoolBytes } }))).spool;
  t.like(await spool(fresh), {
    level: 'good',
    detail: '70 KB of audio is waiting, of at most 200 KB, the oldest for 5 minutes',
  });
  await record(fresh, Date.now(), 70_000);
  t.is((await spool(fresh))?.level, 'doubt');
  const old = await bridgeDirectory(t);
  await record(old, Date.now() - 2 * DAY_MS, 10);
  t.like(await spool(old), {
    level: 'doubt',
    detail: '10 bytes of audio is waiting, of at most 200 KB, the oldest for 2 days',
  });
});

test('a proxy in front of core that blocks WebSockets fails, with the nginx settings it needs', async t => {
  const instance = await openServer(t);
  const proxy = await startPlainProxy(t, instance.url);
  const core = proxy.replace('http', 'ws');
  const { core: found } = await look(t, bridgeCheck, await patientOf(t, { bridge: { core } }));
  t.is(found?.level, 'bad');
  t.regex(found?.detail ?? '', /does not pass on the headers Upgrade and Connection/);
  t.regex(
    found?.cure ?? '',
    /proxy_set_header Upgrade \$http_upgrade; proxy_set_header Connection "upgrade";/,
  );
});
