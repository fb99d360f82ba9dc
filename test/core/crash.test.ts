import test from 'ava';
import { samplesToBytes } from '../../core/audio/pcm.ts';
import { type CoreProcess, coreProcess } from '../helpers/core-process.ts';
import { countingStt, failingStt } from '../helpers/house.ts';
import { connectListen, type ListenClient } from '../helpers/listen-client.ts';
import { join as joined, silence, speech } from '../helpers/sound.ts';

const CHUNK_SAMPLES = 1600;
const QUERY = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 3, client_device_id: 'pendant' };

interface Stored {
  id: string;
  status: string;
  transcript_segments: { id: string; text: string; start: number; end: number }[];
}

/** Utterances with pauses long enough that each is a segment of its own. */
const UTTERANCES = 6;
const TALK = joined(...Array.from({ length: UTTERANCES }, () => [speech('budget'), silence(4)]).flat());

function send(client: ListenClient, samples: Int16Array): void {
  for (let at = 0; at < samples.length; at += CHUNK_SAMPLES)
    client.socket.send(samplesToBytes(samples.subarray(at, at + CHUNK_SAMPLES)));
}

/** All conversations once the server, by itself, has finished them. */
async function finished(core: CoreProcess): Promise<Stored[]> {
  for (;;) {
    const list = (await core.get('/v1/dev/user/conversations?include_transcript=true')) as Stored[];
    if (list.length > 0) return list;
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}

/** Segments after which the kill comes. */
const MOMENTS = [1, 4];

for (const segments of MOMENTS) {
  test(`killed after ${segments} segments, core has each of them once, and ends the conversation by itself`, async t => {
    const core = await coreProcess(t, countingStt());
    const client = await connectListen(core.url, core.key, { ...QUERY, conversation_timeout: 5 });
    send(client, TALK);
    await client.until('segments', () => client.segments().length >= segments);
    await core.kill();
    await client.closed;
    const received = client.segments();

    await core.start();
    const conversations = await finished(core);
    t.is(conversations.length, 1);
    t.is(conversations[0]?.status, 'completed');
    const stored = conversations[0]?.transcript_segments ?? [];
    t.is(new Set(stored.map(({ id }) => id)).size, stored.length, 'no segment is there twice');
    for (const { id, text, start, end } of received)
      t.like(
        stored.find(segment => segment.id === id),
        { text, start, end },
        `segment at ${start} s`,
      );
  });
}

test('a client that resumes after the kill loses nothing and doubles nothing', async t => {
  const core = await coreProcess(t, countingStt());
  const query = { ...QUERY, conversation_timeout: 600, stream: 'talk', from: 0 };
  const first = await connectListen(core.url, core.key, query);
  send(first, TALK);
  await first.until('segments', () => first.segments().length >= 3);
  await core.kill();
  await first.closed;

  await core.start();
  const second = await connectListen(core.url, core.key, query);
  send(second, TALK);
  second.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await second.until('memory_created');
  second.socket.close();

  const control = await connectListen(core.url, core.key, {
    ...query,
    stream: 'control',
    client_device_id: 'control',
  });
  send(control, TALK);
  control.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  const undisturbed = await control.until('memory_created');
  control.socket.close();

  const list = (await core.get('/v1/dev/user/conversations?include_transcript=true')) as Stored[];
  const expected = list.find(({ id }) => id === undisturbed.memory.id)?.transcript_segments ?? [];
  const resumed = list.find(({ id }) => id !== undisturbed.memory.id)?.transcript_segments ?? [];
  t.is(expected.length, UTTERANCES);
  t.is(resumed.length, expected.length);
  for (const [i, segment] of expected.entries()) {
    t.true(Math.abs((resumed[i]?.start ?? 0) - segment.start) <= 0.1, `start of segment ${i}`);
    t.true(Math.abs((resumed[i]?.end ?? 0) - segment.end) <= 0.1, `end of segment ${i}`);
  }
});

test('killed when it has heard nothing of what it took, core transcribes it by itself, without its client', async t => {
  const { begin, end, ...stt } = await failingStt(t);
  await begin();
  const core = await coreProcess(t, stt);
  const client = await connectListen(core.url, core.key, {
    ...QUERY,
    conversation_timeout: 5,
    ack: 'enabled',
  });
  send(client, TALK);
  const messages = Math.ceil(TALK.length / CHUNK_SAMPLES);
  await client.until('ack', event => event.messages === messages);
  await core.kill();
  await client.closed;
  t.deepEqual(client.segments(), []);

  await end();
  await core.start();
  const [conversation, ...others] = await finished(core);
  t.deepEqual(others, []);
  t.is(conversation?.transcript_segments.length, UTTERANCES);
  const every = TALK.length / UTTERANCES / 16_000;
  const [, second, ...starts] = conversation?.transcript_segments.map(({ start }) => start) ?? [];
  for (const [i, start] of starts.entries())
    t.true(Math.abs(start - (second ?? 0) - (i + 1) * every) <= 0.1, `segment ${i + 2} at ${start} s`);
});
