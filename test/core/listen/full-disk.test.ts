import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { reportSkipped } from '../../helpers/skips.ts';
import { HOW_TO_GET_A_DISK, mountSmallDisk, type SmallDisk } from '../../helpers/small-disk.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { openDatabase } from '../../helpers/sqlite.ts';

const MiB = 1024 * 1024;
const DISK_BYTES = 16 * MiB;
const UTTERANCES = 6;
const TALK = joined(...Array.from({ length: UTTERANCES }, () => [speech('budget'), silence(4)]).flat());
const CHUNK_SAMPLES = 1600;
const MESSAGES = Math.ceil(TALK.length / CHUNK_SAMPLES);

const full = mountSmallDisk(DISK_BYTES);
const low = mountSmallDisk(DISK_BYTES);
test.after.always(() => {
  for (const disk of [full, low]) disk?.unmount();
});

const connect = (server: TestServer, stream: string, from = 0) =>
  connectListen(server.url, server.key, {
    ...{ codec: 'pcm16', sample_rate: 16000, conversation_timeout: 14400, ack: 'enabled' },
    ...{ client_device_id: stream, stream, from },
  });

/** Sends its messages from `from` on, at 20 times real time, as long as it is connected. */
async function talk(client: ListenClient, from: number): Promise<void> {
  for (let number = from; number < MESSAGES && client.socket.readyState === client.socket.OPEN; number++) {
    const at = number * CHUNK_SAMPLES;
    client.socket.send(samplesToBytes(TALK.subarray(at, at + CHUNK_SAMPLES)));
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

const acked = (client: ListenClient) =>
  Math.max(0, ...client.events.map(event => (event.type === 'ack' ? event.messages : 0)));

interface Stored {
  transcript_segments: { start: number; end: number }[];
}

async function starts(server: TestServer, id: string): Promise<number[]> {
  const { body } = await server.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  return (body as Stored).transcript_segments.map(({ start }) => start);
}

const spoolWith = (minFreeBytes: number) => ({
  spool: { maxBytes: 2 ** 30, maxBytesPerUser: 2 ** 30, minFreeBytes },
});

/** Runs a test on a small disk. */
function testOn(
  disk: SmallDisk | null,
  title: string,
  run: (t: ExecutionContext, disk: SmallDisk) => Promise<void>,
) {
  test(title, t =>
    disk ? run(t, disk) : reportSkipped(t, 'disk', 'a test on a full disk', HOW_TO_GET_A_DISK),
  );
}

testOn(
  full,
  'what was acknowledged outlives a full disk, and all goes on at once when there is room again',
  async (t, disk) => {
    const server = await openServer(t, { ...countingStt(), dataDir: disk.dir, listen: spoolWith(MiB) });
    const returning = await connect(server, 'returning');
    const gone = await connect(server, 'gone');
    const talking = [talk(returning, 0), talk(gone, 0)];
    const spoken = (client: ListenClient) => () => client.segments().length === 2;
    for (const client of [returning, gone]) await client.until('segments', spoken(client));
    let isOver = false;
    const over = Promise.all([...talking, returning.closed, gone.closed]).then(() => (isOver = true));
    while (!isOver) await disk.fill(); // transcribed audio frees space again
    await over;
    for (const client of [returning, gone]) {
      t.is((await client.closed).code, 1013);
      t.is(client.events.findLast(event => event.type === 'error')?.code, 'storage_full');
      t.true(acked(client) > 0 && acked(client) < MESSAGES);
    }
    const late = await connect(server, 'late');
    t.is((await late.closed).code, 1013);
    t.like(late.events.at(-1), { type: 'error', code: 'storage_full' });

    await disk.empty();
    const fresh = await connect(server, 'fresh');
    await talk(fresh, 0);
    await fresh.until('segments', () => fresh.segments().length === UTTERANCES);

    const again = await connect(server, 'returning', acked(returning));
    const { received = 0, conversation_id: id } = await again.until('conversation_session');
    t.true(received >= acked(returning), `${received} of ${acked(returning)} are there`);
    await talk(again, acked(returning));
    again.socket.send(JSON.stringify({ type: 'finish_conversation' }));
    await again.until('memory_created');
    const found = await starts(server, id);
    t.is(found.length, UTTERANCES);
    for (const [i, { start }] of fresh.segments().entries())
      t.true(Math.abs((found[i] ?? 0) - start) <= 0.1, `utterance ${i} at ${found[i]} s, not ${start} s`);

    // All utterances of the client that does not reconnect whose audio was fully acknowledged.
    const heldSeconds = (acked(gone) * CHUNK_SAMPLES) / 16_000;
    const whole = fresh.segments().filter(({ end }) => end + 1 < heldSeconds).length;
    t.true(whole > 0);
    const { conversation_id: goneId } = await gone.until('conversation_session');
    await eventually(
      () => starts(server, goneId),
      ({ length }) => length >= whole,
    );

    const database = openDatabase(join(disk.dir, 'earshot.db'), { readonly: true });
    t.is(database.prepare('pragma integrity_check').get()?.integrity_check, 'ok');
    database.close();
  },
);

testOn(
  low,
  'while the disk has little room new streams are refused and open ones end, and what was acknowledged is kept',
  async (t, disk) => {
    const server = await openServer(t, { ...countingStt(), dataDir: disk.dir, listen: spoolWith(6 * MiB) });
    const running = await connect(server, 'running');
    const talking = talk(running, 0);
    await running.until('segments');
    await disk.fill(4 * MiB);
    const late = await connect(server, 'late');
    t.is((await late.closed).code, 1013);
    const refusal = late.events.at(-1);
    t.like(refusal, { type: 'error', code: 'storage_full' });
    t.regex(JSON.stringify(refusal), /has [0-4] MiB left .listen.spool.minFreeBytes/);

    await talking;
    t.is((await running.closed).code, 1013);
    t.is(running.events.findLast(event => event.type === 'error')?.code, 'storage_full');
    t.true(acked(running) < MESSAGES);
    await disk.empty();
    const again = await connect(server, 'running', acked(running));
    const { conversation_id: id } = await again.until('conversation_session');
    await talk(again, acked(running));
    again.socket.send(JSON.stringify({ type: 'finish_conversation' }));
    await again.until('memory_created');
    t.is((await starts(server, id)).length, UTTERANCES);
    const next = await connect(server, 'next');
    await next.until('service_status', event => event.status === 'ready');
  },
);

test('a new stream is refused with a reason while the disk has too little space for it', async t => {
  const server = await openServer(t, { ...countingStt(), listen: spoolWith(Number.MAX_SAFE_INTEGER) });
  const client = await connect(server, 'walk');
  t.is((await client.closed).code, 1013);
  const refusal = client.events.at(-1);
  t.like(refusal, { type: 'error', code: 'storage_full' });
  t.regex(JSON.stringify(refusal), /minFreeBytes/);
});
