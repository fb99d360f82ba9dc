import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { samplesToBytes } from '../../core/audio/pcm.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { eventually } from '../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../helpers/listen-client.ts';
import { countingStt } from '../helpers/services.ts';
import { join as joined, silence, speech } from '../helpers/sound.ts';
import { amount } from '../helpers/thorough.ts';

const MiB = 1024 * 1024;
const UTTERANCES = 20;
const PART = joined(speech('budget'), silence(4));
const PART_S = PART.length / 16_000;
/** Six times the bytes of the same audio: 48 kHz, two channels. */
const WIDE = samplesToBytes(
  Int16Array.from({ length: PART.length * 6 }, (_, i) => PART[Math.floor(i / 6)] ?? 0),
);
const MESSAGE_BYTES = 38_400;
/** Each sends more than 35 MiB. */
const ROUNDS = amount(2, 7);
const LEAST_MIB = 35 * ROUNDS;
/**
 * Records each second the memory of the process after a garbage collection, as the memory from the system
 * says more.
 */
const COLLECT = `data:text/javascript,${encodeURIComponent(
  `import { writeFileSync, renameSync } from 'node:fs';
  import v8 from 'node:v8';
  import { runInNewContext } from 'node:vm';
  import { isMainThread } from 'node:worker_threads';
  v8.setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const file = process.env.HELD + '/' + process.pid;
  function note() {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    writeFileSync(file + '.new', String(heapUsed + external));
    renameSync(file + '.new', file);
  }
  if (isMainThread) setInterval(note, 1000).unref();`,
)}`;
/** A client that is busy sending answers pings late. */
const PATIENT = { heartbeatMs: 600_000 };
const QUERY = {
  codec: 'pcm16',
  sample_rate: 48_000,
  channels: 2,
  conversation_timeout: 8,
  ack: 'enabled',
  client_device_id: 'pendant',
};

interface Stored {
  status: string;
  transcript_segments: { end: number }[];
}

/** Sends as fast as possible; resolves when all of it is on the server's disk. */
async function send(client: ListenClient, before: number): Promise<number> {
  let messages = before;
  for (let part = 0; part < UTTERANCES; part++)
    for (let at = 0; at < WIDE.length; at += MESSAGE_BYTES) {
      client.socket.send(WIDE.subarray(at, at + MESSAGE_BYTES));
      messages += 1;
    }
  await client.until('ack', event => event.messages === messages);
  return messages;
}

test('audio for a recogniser slower than real time waits on disk, and all of it is transcribed', async t => {
  const maxQueuedBytes = 64 * 1024;
  const core = await coreProcess(t, {
    ...countingStt({ msPerSecond: 40 }),
    listen: { ...PATIENT, maxQueuedBytes },
  });
  const client = await connectListen(core.url, core.key, QUERY);
  const sent = await send(client, 0);
  const onDisk = await core.metric('earshot_spool_bytes{state="disk"}');
  t.true(onDisk > UTTERANCES * WIDE.length, `${onDisk / MiB} MiB on disk`);
  let inMemory = 0;
  while (client.segments().length < UTTERANCES) {
    for (const queue of ['messages', 'speech'])
      inMemory = Math.max(inMemory, await core.metric(`earshot_queue_bytes{queue="${queue}"}`));
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  const utteranceBytes = 2 * PART.length;
  t.true(inMemory > maxQueuedBytes, 'it is slow');
  t.true(inMemory < maxQueuedBytes + 2 * utteranceBytes, `${inMemory} bytes in memory`);

  await send(client, sent);
  client.socket.terminate();
  const list = await finished(core);
  t.is(list.length, 1);
  const ends = list[0]?.transcript_segments.map(({ end }) => end) ?? [];
  t.is(ends.length, 2 * UTTERANCES, 'each once');
  for (const [i, end] of ends.entries())
    t.true(Math.abs(end - (ends[0] ?? 0) - i * PART_S) <= 0.1, `segment ${i} ends at ${end} s`);
});

/** All conversations once the server has finished one without a client. */
async function finished(core: CoreProcess): Promise<Stored[]> {
  const path = '/v1/dev/user/conversations?include_transcript=true';
  return eventually(
    async () => (await core.get(path)) as Stored[],
    ({ length }) => length > 0,
  );
}

test('audio that no recogniser accepts uses disk space and no memory, also after a restart', async t => {
  const held = await mkdtemp(join(tmpdir(), 'earshot-held-'));
  t.teardown(() => rm(held, { recursive: true }));
  const core = await coreProcess(t, { ...countingStt({ behaviour: 'hangs' }), listen: PATIENT }, () => [
    'env',
    `HELD=${held}`,
    `NODE_OPTIONS=--import=${COLLECT}`,
  ]);
  const client = await connectListen(core.url, core.key, QUERY);
  await client.until('service_status', ({ status }) => status === 'ready');
  const heldMiB = () => readHeld(join(held, String(core.process().pid)));
  const before = await heldMiB();
  let sent = 0;
  for (let i = 0; i < ROUNDS; i++) sent = await send(client, sent);
  const onDisk = (await core.metric('earshot_spool_bytes{state="disk"}')) / MiB;
  t.true(onDisk > LEAST_MIB, `${onDisk} MiB on disk`);
  // Garbage is freed late; referenced memory would not be freed at all.
  const settled = async () => {
    await eventually(heldMiB, now => now - before <= onDisk / 2);
  };
  await settled();

  await core.kill();
  await core.start();
  t.true((await core.metric('earshot_spool_bytes{state="disk"}')) / MiB > LEAST_MIB);
  await settled();
});

async function readHeld(file: string): Promise<number> {
  const read = async () => Number(await readFile(file, 'utf8').catch(() => Number.NaN));
  return (await eventually(read, bytes => bytes > 0)) / MiB; // it may have just started
}
