import { join } from 'node:path';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { Codec } from '../../../../core/audio/codecs.ts';
import sentences from '../../../fixtures/sentences.json' with { type: 'json' };
import { type CoreProcess, coreProcess } from '../../../helpers/core-process.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../../helpers/listen-client.ts';
import { adtsFrames, messagesOf } from '../../../helpers/packets.ts';
import {
  buildServer,
  countingStt,
  failingStt,
  openServer,
  type TestServer,
} from '../../../helpers/services.ts';
import { join as joined, type Sound, silence, speech } from '../../../helpers/sound.ts';
import { openDatabase } from '../../../helpers/sqlite.ts';
import { isThorough } from '../../../helpers/thorough.ts';
import { wordErrorRate } from '../../../helpers/word-error-rate.ts';

const test = anyTest as TestFn<{ server: TestServer }>;

const CALL = {
  codec: 'pcm16',
  sample_rate: 16000,
  channels: 2,
  source: 'phone_call',
  conversation_timeout: 600,
};

const OWNER = { tag: 1, speaker: 'SPEAKER_00', is_user: true };
const OTHER = { tag: 2, speaker: 'SPEAKER_01', is_user: false };

/** Recordings of the two sides with the same start. */
interface Talk {
  owner: Sound;
  other: Sound;
}

const tagged = (tag: number, message: Uint8Array) => Buffer.concat([Buffer.of(tag), message]);

/** The two sides, interleaved as their device sends them. */
function interleave(owner: Uint8Array[], other: Uint8Array[]): Buffer[] {
  return Array.from({ length: Math.max(owner.length, other.length) }, (_, i) => [
    ...(owner[i] ? [tagged(OWNER.tag, owner[i])] : []),
    ...(other[i] ? [tagged(OTHER.tag, other[i])] : []),
  ]).flat();
}

const messagesIn = ({ owner, other }: Talk) =>
  interleave(messagesOf(owner, 'pcm16'), messagesOf(other, 'pcm16'));

function send(client: ListenClient, messages: Uint8Array[]): void {
  for (const message of messages) client.socket.send(message);
}

const say = (client: ListenClient, message: unknown) => client.socket.send(JSON.stringify(message));

interface Spoken {
  text: string;
  start: number;
  end: number;
  speaker_id: number;
}

interface Stored {
  id: string;
  transcript_segments: Spoken[];
}

const of = <T extends { speaker_id: number }>(segments: T[], { tag }: { tag: number }) =>
  segments.filter(({ speaker_id: speaker }) => speaker === tag - 1);

/** Seconds of audio that the counting recogniser received. */
const heard = (segments: { text: string }[]) =>
  segments
    .flatMap(({ text }) => [...text.matchAll(/(\d+) tenths/g)].map(([, tenths]) => Number(tenths) / 10))
    .reduce((sum, seconds) => sum + seconds, 0);

async function stored(core: Pick<TestServer, 'get'>, id: string): Promise<Stored> {
  const { body } = await core.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  return body as Stored;
}

/** The sum of a metric's series. */
async function metric(server: TestServer, name: string): Promise<number> {
  const text = await (await fetch(new URL('/metrics', server.url))).text();
  return text
    .split('\n')
    .filter(line => line.startsWith(`earshot_${name}{`) || line.startsWith(`earshot_${name} `))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

test.before(async t => {
  t.context.server = await buildServer(countingStt());
});
test.after.always(t => t.context.server?.stop());

test.serial(
  'two simultaneous speakers are both transcribed, under their own names and at their times',
  async t => {
    const server = await openServer(t, { stt: ['pocketsphinx'] });
    const client = await connectListen(server.url, server.key, CALL);
    send(
      client,
      messagesIn({
        owner: joined(silence(0.5), speech('budget'), silence(4)),
        other: joined(silence(3.5), speech('health'), silence(1.2)),
      }),
    );
    say(client, { type: 'finish_conversation' });
    await client.until('memory_created');
    const segments = client.segments();
    for (const [side, said, start] of [
      [OWNER, 'budget', 0.5],
      [OTHER, 'health', 3.5],
    ] as const) {
      const own = of(segments, side);
      const text = own.map(segment => segment.text).join(' ');
      const wer = wordErrorRate(sentences[said].text, text);
      t.true(wer <= 0.15, `${(wer * 100).toFixed(0)} % of words wrong: ${text}`);
      for (const { speaker, is_user } of own) t.like({ speaker, is_user }, { ...side, tag: undefined });
      t.true(Math.abs((own[0]?.start ?? 0) - start) < 0.5, `${said} at ${own[0]?.start} s`);
    }
    client.socket.close();
  },
);

const SAID = joined(silence(0.5), speech('garden'), silence(2));
const SAID_LATER = joined(silence(1.5), speech('garden'), silence(1));
const atHalfRate = (sound: Sound) => sound.filter((_, i) => i % 2 === 0);
const SPOKEN: Record<Codec, { owner: Uint8Array[]; other: Uint8Array[]; seconds: number; rate?: number }> = {
  pcm8: {
    owner: messagesOf(atHalfRate(SAID), 'pcm8'),
    other: messagesOf(atHalfRate(SAID_LATER), 'pcm8'),
    seconds: 5.27,
    rate: 8000,
  },
  pcm16: { owner: messagesOf(SAID, 'pcm16'), other: messagesOf(SAID_LATER, 'pcm16'), seconds: 5.27 },
  opus: { owner: messagesOf(SAID, 'opus'), other: messagesOf(SAID_LATER, 'opus'), seconds: 5.27 },
  opus_fs320: {
    owner: messagesOf(SAID, 'opus_fs320'),
    other: messagesOf(SAID_LATER, 'opus_fs320'),
    seconds: 5.27,
  },
  aac: { owner: adtsFrames('tomorrow.aac'), other: adtsFrames('tomorrow.aac'), seconds: 6.5 },
  lc3: { owner: messagesOf(SAID, 'lc3'), other: messagesOf(SAID_LATER, 'lc3'), seconds: 5.27 },
  lc3_fs1030: {
    owner: messagesOf(SAID, 'lc3_fs1030'),
    other: messagesOf(SAID_LATER, 'lc3_fs1030'),
    seconds: 5.27,
  },
};
/** A codec with state between packets, and one with several frames per message. */
const USUAL: readonly string[] = ['opus', 'lc3_fs1030'];
for (const [codec, { owner, other, seconds, rate = 16_000 }] of Object.entries(SPOKEN)) {
  if (!isThorough && !USUAL.includes(codec)) continue;
  test(`two channels of ${codec} are decoded separately`, async t => {
    const { server } = t.context;
    const query = { ...CALL, codec, sample_rate: rate, source: 'desktop', client_device_id: codec };
    const client = await connectListen(server.url, server.key, query);
    send(client, interleave(owner, other));
    say(client, { type: 'finish_conversation' });
    await client.until('memory_created');
    for (const side of [OWNER, OTHER]) {
      const length = heard(of(client.segments(), side));
      t.true(length > seconds - 1 && length < seconds + 1.5, `${length} s of channel ${side.tag}`);
    }
    client.socket.close();
  });
}

test('a call is one stream with one message count, and a byte for an unknown channel is a bad frame', async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, server.key, CALL);
  const messages = messagesIn({ owner: SAID, other: SAID_LATER });
  messages.splice(40, 0, tagged(0, silenceBytes()), tagged(3, silenceBytes()), tagged(255, silenceBytes()));
  send(client, messages);
  say(client, { type: 'finish_conversation' });
  await client.until('conversation_finished');
  t.is(await metric(server, 'streams_open'), 1);
  t.is(await metric(server, 'stream_bad_frames_total'), 3);
  t.is(await metric(server, 'stream_messages_total'), messages.length - 3);
  t.is(of(client.segments(), OWNER).length, 1);
  t.is(of(client.segments(), OTHER).length, 1);
  client.socket.close();
  await eventually(async () => (await metric(server, 'streams_open')) === 0);
});
const silenceBytes = () => new Uint8Array(3200);

test('a conversation is silent when both sides are', async t => {
  const { server } = t.context;
  const query = { ...CALL, conversation_timeout: 10, client_device_id: 'quiet' };
  const client = await connectListen(server.url, server.key, query);
  const { conversation_id: id } = await client.until('conversation_session');
  const owner = joined(speech('garden'), silence(21), speech('garden'), silence(12));
  const other = joined(silence(12), speech('budget'), silence(25));
  send(client, messagesIn({ owner, other }));
  t.is((await client.until('memory_created')).memory.id, id);
  const { transcript_segments: segments } = await stored(server, id);
  t.is(of(segments, OWNER).length, 2);
  t.is(of(segments, OTHER).length, 1);
  client.socket.close();
});

test.serial('a requested end of a conversation comes after what both sides said before', async t => {
  const server = await openServer(t, countingStt({ msPerSecond: 100 }));
  const client = await connectListen(server.url, server.key, CALL);
  const { conversation_id: id } = await client.until('conversation_session');
  send(client, messagesIn({ owner: speech('garden'), other: joined(silence(4), speech('budget')) }));
  say(client, { type: 'finish_conversation' });
  send(client, messagesIn({ owner: speech('health'), other: silence(6) }));
  say(client, { type: 'finish_conversation' });
  const next = await client.until('conversation_finished', ({ conversation_id: ended }) => ended !== id);
  const first = (await stored(server, id)).transcript_segments;
  const second = (await stored(server, String(next.conversation_id))).transcript_segments;
  t.deepEqual(new Set(first.map(segment => segment.speaker_id)), new Set([0, 1]));
  t.deepEqual(new Set(second.map(segment => segment.speaker_id)), new Set([0]));
  t.true(second[0] && second[0].start < 1, `${second[0]?.start} s`);
  client.socket.close();
});

test('a side that never sends does not delay the other', async t => {
  const server = await openServer(t, countingStt());
  const query = { ...CALL, stream: 'alone', ack: 'enabled' };
  const client = await connectListen(server.url, server.key, query);
  const messages = interleave(messagesOf(SAID, 'pcm16'), []);
  send(client, messages);
  await client.until('ack', ack => ack.messages === messages.length);
  say(client, { type: 'finish_conversation' });
  await client.until('conversation_finished');
  t.is(client.segments().length, 1);
  client.socket.close();
  await client.closed;
  await eventually(async () => (await metric(server, 'streams_open')) === 0);
  const database = openDatabase(join(server.dataDir, 'earshot.db'), { readonly: true });
  const rows = database.prepare('select channel, received from streams order by channel').all();
  database.close();
  t.deepEqual(
    rows.map(({ channel, received }) => ({ channel, received })),
    [1, 2].map(channel => ({ channel, received: messages.length })),
  );
  const again = await connectListen(server.url, server.key, query);
  t.is((await again.until('conversation_session')).received, messages.length);
  again.socket.close();
});

test('speech of a side that stops sending becomes text while the other continues', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, { ...CALL, client_device_id: 'stops' });
  send(client, messagesIn({ owner: silence(4), other: speech('garden').subarray(0, 4 * 16_000) as Sound }));
  const goesOn = setInterval(() => client.socket.send(tagged(OWNER.tag, silenceBytes())), 100);
  await client.until('segments', ({ segments }) => of(segments, OTHER).length > 0);
  clearInterval(goesOn);
  t.is(of(client.segments(), OWNER).length, 0);
  client.socket.close();
});

test('two channels of another source are stereo, and mixed', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, { ...CALL, source: 'omi' });
  const stereo = Int16Array.from({ length: SAID.length * 2 }, (_, i) => SAID[i >> 1] ?? 0);
  send(client, messagesOf(stereo, 'pcm16'));
  say(client, { type: 'finish_conversation' });
  await client.until('memory_created');
  t.deepEqual(
    client.segments().map(({ speaker, is_user }) => ({ speaker, is_user })),
    [{ speaker: 'SPEAKER_00', is_user: false }],
  );
  client.socket.close();
});

// ── reconnects ──────────────────────────────────────────────────────────────────────────────────────────────────────

const UTTERANCES = 4;
const times = (count: number, part: Sound) => joined(...Array.from({ length: count }, () => part));
/** Each side interrupts the other; the pauses make each utterance a separate segment. */
const TALK = messagesIn({
  owner: times(UTTERANCES, joined(speech('garden'), silence(4.73))),
  other: times(UTTERANCES, joined(silence(3), speech('budget'), silence(0.56))),
});
const LENGTHS = [
  { side: OWNER, seconds: 5.27 * UTTERANCES, first: 0 },
  { side: OTHER, seconds: 6.44 * UTTERANCES, first: 3 },
];

/** Every utterance of both sides, once, at its place. */
function checkTalk(t: ExecutionContext<{ server: TestServer }>, segments: Spoken[]): void {
  for (const { side, seconds, first } of LENGTHS) {
    const own = of(segments, side);
    t.is(own.length, UTTERANCES, `segments of channel ${side.tag}`);
    const length = heard(own);
    t.true(length > seconds - 2 && length < seconds + 2 * UTTERANCES, `${length} s of ${seconds} s`);
    for (const [i, { start }] of own.entries())
      t.true(Math.abs(start - first - 10 * i) < 0.6, `segment ${i} of channel ${side.tag} at ${start} s`);
  }
}

test("an interrupted call continues at the server's position: nothing is lost or stored twice", async t => {
  const { server } = t.context;
  const query = { ...CALL, stream: 'call', from: 0, ack: 'enabled', client_device_id: 'cut' };
  const first = await connectListen(server.url, server.key, query);
  t.is((await first.until('conversation_session')).received, 0);
  send(first, TALK.slice(0, 397));
  await first.until('segments', () => first.segments().length >= 3);
  first.socket.terminate();

  const second = await connectListen(server.url, server.key, query);
  t.true(((await second.until('conversation_session')).received ?? 0) > 0, 'something is held already');
  send(second, TALK);
  await second.until('ack', ({ messages }) => messages === TALK.length);
  say(second, { type: 'finish_conversation' });
  const { memory } = await second.until('memory_created');
  checkTalk(t, (await stored(server, memory.id)).transcript_segments);
  second.socket.close();
});

async function finished(core: CoreProcess): Promise<Stored[]> {
  const path = '/v1/dev/user/conversations?include_transcript=true';
  return eventually(
    async () => (await core.get(path)) as Stored[],
    ({ length }) => length > 0,
  );
}

test('after a kill in the middle of a call, core transcribes the rest of both sides without its client', async t => {
  const core = await coreProcess(t, countingStt());
  const query = { ...CALL, conversation_timeout: 8, ack: 'enabled' };
  const client = await connectListen(core.url, core.key, query);
  const half = TALK.length / 2;
  send(client, TALK.slice(0, half));
  await client.until('segments', () => client.segments().length >= 3);
  send(client, TALK.slice(half));
  await client.until('ack', ({ messages }) => messages === TALK.length);
  await core.kill();
  await client.closed;

  await core.start();
  const [conversation, ...others] = await finished(core);
  t.deepEqual(others, []);
  checkTalk(t, conversation?.transcript_segments ?? []);
});

/** `crash.test.ts` does the same with one channel. */
function testLong(title: string, run: (t: ExecutionContext<{ server: TestServer }>) => Promise<void>): void {
  if (isThorough) test(title, run);
}

testLong(
  'after a kill before anything was transcribed, core transcribes both sides without the client',
  async t => {
    const { begin, end, ...stt } = await failingStt(t);
    await begin();
    const core = await coreProcess(t, stt);
    const client = await connectListen(core.url, core.key, {
      ...CALL,
      conversation_timeout: 8,
      ack: 'enabled',
    });
    send(client, TALK);
    await client.until('ack', ({ messages }) => messages === TALK.length);
    await core.kill();
    await client.closed;
    t.deepEqual(client.segments(), []);

    await end();
    await core.start();
    const [conversation, ...others] = await finished(core);
    t.deepEqual(others, []);
    checkTalk(t, conversation?.transcript_segments ?? []);
  },
);
