import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { callControl, controlPath } from '../../../core/control/control.ts';
import { type CoreProcess, coreProcess } from '../../helpers/core-process.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { compilePreload, type Preload } from '../../helpers/preload.ts';
import { countingStt } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { openDatabase } from '../../helpers/sqlite.ts';

const MiB = 1024 * 1024;
const MESSAGE_BYTES = MiB - 64;
/** Three times the limit of bytes waiting for the disk, and more than the kernel buffers for both sides. */
const FLOOD_MESSAGES = 48;
const MAX_PENDING_BYTES = 16 * MiB;
const MAX_QUEUED_BYTES = 4 * MiB;
const FLOOD_RATE = 48_000;
const FLOOD_S = (FLOOD_MESSAGES * MESSAGE_BYTES) / 2 / FLOOD_RATE;
const SAID = samplesToBytes(joined(speech('budget'), silence(2)));
const PENDANTS = 5;
const SLOW_MS = 100;
const LOG = 'earshot.db-wal';
const PENDING = 'earshot_spool_bytes{state="pending"}';

const preload = compilePreload('slow-disk');

if (preload instanceof Error) {
  test('a disk can be slowed down, or this is not CI and the slow-disk tests are skipped', t => {
    t.log(`SKIPPED: what a slow disk does to clients, for none can be made slow here. ${preload}`);
    t.falsy(process.env.CI, String(preload));
  });
} else {
  testsWith(preload);
}

/** @param of part of the paths that are slow, or that fail */
async function coreOnSlowDisk(
  t: ExecutionContext,
  preload: Preload,
  { of, ms }: { of: string; ms: number | 'fails' },
) {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-slow-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const file = join(directory, 'now');
  const settings = { ...preload, SLOW_DISK: file, SLOW_DISK_OF: of, SLOW_DISK_MS: `${ms}` };
  const launcher = ['env', ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)];
  const core = await coreProcess(t, countingStt(), () => launcher);
  return { core, slowDown: () => writeFile(file, ''), speedUp: () => rm(file) };
}

async function connect(
  { url, key }: CoreProcess,
  device: string,
  query: Record<string, string | number> = {},
) {
  const client = await connectListen(url, key, {
    ...{ codec: 'pcm16', sample_rate: 16_000, conversation_timeout: 600, ack: 'enabled' },
    ...{ client_device_id: device, stream: device },
    ...query,
  });
  await client.until('service_status', event => event.status === 'ready');
  return client;
}

const acked = (client: ListenClient) =>
  Math.max(0, ...client.events.map(event => (event.type === 'ack' ? event.messages : 0)));

function makeKey({ dataDir }: CoreProcess) {
  return callControl(controlPath(dataDir), 'key', { user: 'owner', scopes: ['listen'] });
}

/**
 * A second without a write: a disk that is slow during the clean-up at the start would delay every writer.
 */
async function quiet(file: string): Promise<void> {
  let [written, since] = [0, performance.now()];
  await eventually(async () => {
    const { mtimeMs } = await stat(file);
    if (mtimeMs !== written) [written, since] = [mtimeMs, performance.now()];
    return performance.now() - since > 1000;
  });
}

function testsWith(preload: Preload): void {
  test('while the disk accepts no audio a flooding client waits, the others are transcribed, and nothing is lost', async t => {
    const { core, slowDown, speedUp } = await coreOnSlowDisk(t, preload, { of: '/audio/', ms: 2 ** 30 });
    const queued = 'earshot_queue_bytes{queue="messages"}';
    const [flood, neighbour] = [
      await connect(core, 'flood', { sample_rate: FLOOD_RATE }),
      await connect(core, 'neighbour'),
    ];
    await slowDown();
    for (let sent = 0; sent < FLOOD_MESSAGES; sent++) flood.socket.send(Buffer.alloc(MESSAGE_BYTES));
    flood.socket.send(samplesToBytes(joined(...Array(3).fill(speech('budget')), silence(6))));
    flood.socket.send(JSON.stringify({ type: 'finish_conversation' }));
    await eventually(async () => (await core.metric(PENDING)) > MAX_PENDING_BYTES);

    neighbour.socket.send(SAID);
    await neighbour.until('segments');
    t.true(flood.socket.bufferedAmount > 0, 'it is read no more');
    const pending = await core.metric(PENDING);
    t.true(pending <= MAX_PENDING_BYTES + 2 * MiB, `${pending} bytes wait for the disk`);
    t.true((await core.metric(queued)) <= MAX_QUEUED_BYTES + MiB);
    t.is((await fetch(new URL('/healthz', core.url))).status, 200);
    t.is(((await core.get('/v1/dev/user/conversations')) as unknown[]).length, 0, 'none is completed yet');
    // What became text, or was silence, is stored in the database: only that may be acknowledged.
    const promised = [acked(flood), acked(neighbour)];
    const database = openDatabase(join(core.dataDir, 'earshot.db'), { readonly: true });
    const settled = database.prepare('select received from streams where client_stream = ?');
    for (const [index, stream] of ['flood', 'neighbour'].entries()) {
      const received = Number(settled.get(stream)?.received ?? 0);
      t.true((promised[index] ?? 0) <= received, `${promised[index]} are promised, ${received} are settled`);
    }
    database.close();

    await speedUp();
    await flood.until('ack', ({ messages }) => messages === FLOOD_MESSAGES + 1);
    await neighbour.until('ack', ({ messages }) => messages === 1);
    await flood.until('conversation_finished');
    const [said, ...others] = flood.segments();
    t.deepEqual(others, []);
    t.true(Math.abs((said?.start ?? 0) - FLOOD_S) < 1, `begins at ${said?.start} s, not ${FLOOD_S} s`);
  });

  test('while the disk accepts no commit none is acknowledged, and all other clients are transcribed', async t => {
    const { core, slowDown, speedUp } = await coreOnSlowDisk(t, preload, { of: LOG, ms: 2 ** 30 });
    const pendant = await connect(core, 'pendant');
    const database = openDatabase(join(core.dataDir, 'earshot.db'), { readonly: true });
    t.teardown(() => database.close());
    const committed = database.prepare('select count(*) as keys from keys');
    await quiet(join(core.dataDir, LOG));
    await slowDown();
    let isTold = false;
    const made = makeKey(core).finally(() => {
      isTold = true;
    });
    await eventually(async () => committed.get()?.keys === 2);
    pendant.socket.send(SAID);
    await pendant.until('ack', ({ messages }) => messages === 1);
    t.deepEqual(await core.get('/v1/dev/user/conversations'), []);
    t.is((await fetch(new URL('/healthz', core.url))).status, 200);
    t.false(isTold);
    t.deepEqual(pendant.segments(), []);
    await speedUp();
    await made;
    await pendant.until('segments');
  });

  test('after a failed commit there is none until a restart, and nothing is lost', async t => {
    const { core, slowDown, speedUp } = await coreOnSlowDisk(t, preload, { of: LOG, ms: 'fails' });
    const pendant = await connect(core, 'pendant');
    await slowDown();
    const refusal = {
      code: 'unavailable',
      message: /earshot.db takes no more writes.*EIO.*Restart Earshot.*check the disk/,
    };
    await t.throwsAsync(makeKey(core), refusal);
    await speedUp();
    await t.throwsAsync(makeKey(core), refusal);
    t.deepEqual(await core.get('/v1/dev/user/conversations'), []);
    pendant.socket.send(SAID);
    t.is((await pendant.closed).code, 1013);

    await core.stop();
    await core.start();
    await makeKey(core);
    const again = await connect(core, 'pendant');
    const { received } = await again.until('conversation_session');
    if (received === 0) again.socket.send(SAID);
    await again.until('segments');
  });

  test(`on a disk with ${SLOW_MS} ms per sync all is transcribed and stored, and /metrics shows the cause of the delay`, async t => {
    const { core, slowDown } = await coreOnSlowDisk(t, preload, { of: '/earshot-core-', ms: SLOW_MS });
    const pendants = await Promise.all(Array.from({ length: PENDANTS }, (_, i) => connect(core, `p${i}`)));
    await slowDown();
    for (const { socket } of pendants) socket.send(SAID);
    for (const pendant of pendants) {
      await pendant.until('segments');
      await pendant.until('ack', ({ messages }) => messages === 1);
    }
    t.is((await fetch(new URL('/healthz', core.url))).status, 200);
    t.deepEqual(await core.get('/v1/dev/user/conversations'), []);
    const seconds = async (histogram: string, labels = '') =>
      (await core.metric(`${histogram}_sum${labels}`)) / (await core.metric(`${histogram}_count${labels}`));
    t.true((await seconds('earshot_spool_sync_seconds')) >= SLOW_MS / 1000);
    t.true((await seconds('earshot_transaction_seconds', '{name="append segments"}')) >= SLOW_MS / 1000);
  });
}
