import { readFile } from 'node:fs/promises';
import test from 'ava';
import { samplesToBytes } from '../../core/audio/pcm.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { countingStt } from '../helpers/house.ts';
import { connectListen, type ListenClient } from '../helpers/listen-client.ts';
import { join as joined, silence, speech } from '../helpers/sound.ts';

const MiB = 1024 * 1024;
const UTTERANCES = 20;
const PART = joined(speech('budget'), silence(4));
const PART_S = PART.length / 16_000;
/** Six times the bytes of the same sound: 48 kHz, two channels. */
const WIDE = samplesToBytes(
  Int16Array.from({ length: PART.length * 6 }, (_, i) => PART[Math.floor(i / 6)] ?? 0),
);
const MESSAGE_BYTES = 38_400;
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

/** As fast as it goes; resolves when all of it is on the disk of the server. */
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

test('for a recogniser that is slower than speech audio waits on disk, and all of it becomes text', async t => {
  t.timeout(400_000);
  const maxQueuedBytes = 64 * 1024;
  const core = await coreProcess(t, { ...countingStt({ msPerSecond: 40 }), listen: { maxQueuedBytes } });
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

/** All conversations once the server, by itself, has finished one. */
async function finished(core: CoreProcess): Promise<Stored[]> {
  for (;;) {
    const list = (await core.get('/v1/dev/user/conversations?include_transcript=true')) as Stored[];
    if (list.length > 0) return list;
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}

test('audio that no recogniser takes costs disk, and no memory, also after a restart', async t => {
  t.timeout(400_000);
  const core = await coreProcess(t, countingStt({ behaviour: 'hangs' }));
  const client = await connectListen(core.url, core.key, QUERY);
  await client.until('service_status', ({ status }) => status === 'ready');
  const before = await rssMiB(core);
  let sent = 0;
  for (let i = 0; i < 7; i++) sent = await send(client, sent);
  const onDisk = (await core.metric('earshot_spool_bytes{state="disk"}')) / MiB;
  t.true(onDisk > 250, `${onDisk} MiB on disk`);
  // What was garbage at once may go late; what is held would not go at all.
  const settled = async () => {
    while ((await rssMiB(core)) - before > onDisk / 2) await new Promise(resolve => setTimeout(resolve, 100));
  };
  await settled();

  await core.kill();
  await core.start();
  t.true((await core.metric('earshot_spool_bytes{state="disk"}')) / MiB > 250);
  await settled();
});

async function rssMiB(core: CoreProcess): Promise<number> {
  const status = await readFile(`/proc/${core.process().pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
