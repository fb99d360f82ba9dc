/** Messages that real clients send to `/v4/listen`, and the answers that they need. */
import anyTest, { type TestFn } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { keptLog } from '../../helpers/discretion.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { buildServer, countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const test = anyTest as TestFn<{ instance: TestServer }>;

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const OWN_STT = { ...PCM, custom_stt: 'enabled' };
const SAID = samplesToBytes(joined(speech('budget'), silence(2)));

test.before(async t => {
  t.context.instance = await buildServer({
    ...countingStt({ languages: ['en', 'multi'], heard: 'de-AT' }),
    sources: ['kitchen_mic'],
  });
});
test.after.always(t => t.context.instance.stop());

const say = (client: ListenClient, message: unknown) => client.socket.send(JSON.stringify(message));
const ready = (client: ListenClient) => client.until('service_status', event => event.status === 'ready');

function suggest(client: ListenClient, ...segments: object[]) {
  say(client, { type: 'suggested_transcript', stt_provider: 'phone', segments });
}

const TAKEN: Record<string, string>[] = [
  { codec: 'linear16' },
  { codec: 'pcm' },
  { language: 'EN' },
  { language: 'en-us' },
  { language: 'Auto' },
  { include_speech_profile: 'True' },
  { include_speech_profile: 'FALSE' },
  { conversation_timeout: '-1' },
];
for (const query of TAKEN)
  test(`${JSON.stringify(query)} is accepted`, async t => {
    const { instance } = t.context;
    const [device] = Object.entries(query).flat();
    const client = await connectListen(instance.url, instance.key, {
      ...PCM,
      ...query,
      client_device_id: `${device}`,
    });
    t.is((await ready(client)).provider, 'counting');
    client.socket.close();
  });

const REFUSED: { query: Record<string, string>; code: number; reason: RegExp }[] = [
  { query: { language: 'english' }, code: 1008, reason: /language "english"/ },
  { query: { language: 'qq' }, code: 1008, reason: /language "qq"/ },
  { query: { sample_rate: '1e4' }, code: 1003, reason: /sample_rate "1e4"/ },
  { query: { sample_rate: '16000.0' }, code: 1003, reason: /sample_rate "16000\.0"/ },
];
for (const { query, code, reason } of REFUSED)
  test(`${JSON.stringify(query)} is refused with ${code}`, async t => {
    const { instance } = t.context;
    const client = await connectListen(instance.url, instance.key, { ...PCM, ...query });
    const closed = await client.closed;
    t.is(closed.code, code);
    t.regex(closed.reason, reason);
  });

test('a source added by the configuration is stored, live and over REST; any other is unknown', async t => {
  const { instance } = t.context;
  for (const [source, stored] of [
    ['kitchen_mic', 'kitchen_mic'],
    ['garden_mic', 'unknown'],
  ] as const) {
    const client = await connectListen(instance.url, instance.key, {
      ...OWN_STT,
      source,
      client_device_id: source,
    });
    await ready(client);
    suggest(client, { text: 'hello', start: 0, end: 1 });
    say(client, { type: 'finish_conversation' });
    t.is((await client.until('memory_created')).memory.source, stored);
    client.socket.close();
  }
  const { token } = await instance.app.commands.token({ user: 'owner' });
  const sent = async (source: string) => {
    const response = await fetch(`${instance.url}/v1/dev/user/conversations/from-segments`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ transcript_segments: [{ text: 'hello', start: 0, end: 1 }], source }),
    });
    return response.status;
  };
  t.deepEqual([await sent('kitchen_mic'), await sent('garden_mic')], [200, 422]);
});

test('suggested segments keep their person and speaker, and may omit both', async t => {
  const { instance } = t.context;
  const { token } = await instance.app.commands.token({ user: 'owner' });
  const made = await fetch(`${instance.url}/v1/people`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Eve' }),
  });
  const { id: person } = (await made.json()) as { id: string };
  const client = await connectListen(instance.url, instance.key, {
    ...OWN_STT,
    client_device_id: 'suggests',
  });
  await ready(client);
  suggest(
    client,
    { text: 'one', speaker: 'SPEAKER_03', speaker_id: 7, person_id: person, start: 0, end: 1 },
    { text: 'two', start: 10, end: 11 },
    { text: 'three', speaker_id: 5, person_id: null, start: 20, end: 21 },
    { text: 'four', person_id: 'user', start: 30, end: 31 },
  );
  await client.until('segments');
  const [one, two, three, four] = client.segments();
  t.like(one, {
    speaker: 'SPEAKER_03',
    speaker_id: 7,
    person_id: person,
    speaker_name: 'Eve',
    is_user: false,
  });
  t.like(two, { speaker: 'SPEAKER_00', speaker_id: 0, person_id: null, speaker_name: 'Speaker 0' });
  t.like(three, { speaker: 'SPEAKER_05', speaker_id: 5, person_id: null });
  t.like(four, { is_user: true, person_id: null, speaker_name: 'owner' });

  suggest(client, { text: 'five', person_id: '01890000-0000-7000-8000-000000000000', start: 40, end: 41 });
  t.regex((await client.until('error')).message ?? '', /person_id "01890000/);
  client.socket.close();
});

test('an invalid message is answered with an error frame that explains it, and the socket stays open', async t => {
  const { instance } = t.context;
  const client = await connectListen(instance.url, instance.key, { ...PCM, client_device_id: 'errors' });
  const plain = await connectListen(instance.url, instance.key, {
    ...OWN_STT,
    client_device_id: 'errors-own',
  });
  await Promise.all([ready(client), ready(plain)]);
  say(client, { type: 'speaker_assigned', speaker_id: 0, person_id: 'x', person_name: 'X', segment_ids: [] });
  say(client, { type: 'image_chunk', id: 'x', index: 0, total: 1, data: '' });
  client.socket.send('{"type":');
  say(client, [1]);
  say(client, { type: 'gap', ms: -1 });
  say(client, { type: 'of a later version' });
  say(client, { type: 'finish_conversation' });
  await client.until('conversation_finished');
  const errors = client.events.flatMap(event =>
    event.type === 'error' ? [[event.code, event.message]] : [],
  );
  t.deepEqual(
    errors.map(([code]) => code),
    ['invalid_message', 'invalid_message', 'invalid_message', 'invalid_message', 'invalid_message'],
  );
  for (const [at, said] of [/Person not found/, /data: must be Base64/, /JSON/, /type/, /ms/].entries())
    t.regex(errors[at]?.[1] ?? '', said);

  // A megabyte of empty segments: to parse it, and to list the errors of each, would take long.
  const suggested = { type: 'suggested_transcript', stt_provider: 'x' };
  for (const [count, told] of [
    [501, 'segments: at most 500'],
    [300_000, 'A message has at most 16384 values'],
  ] as const) {
    say(plain, { ...suggested, segments: Array(count).fill({}) });
    await t.notThrowsAsync(plain.until('error', ({ message }) => message === told));
  }
  for (const { socket } of [client, plain]) socket.close();
});

test('an ack states messages and samples of the same moment, at the rate of the stream', async t => {
  const { instance } = t.context;
  const formats = [
    { codec: 'pcm16', sample_rate: 8000, bytes: 160, samples: 80 },
    { codec: 'pcm8', sample_rate: 8000, bytes: 80, samples: 80 },
    { codec: 'pcm16', sample_rate: 48000, bytes: 960, samples: 480 },
    { codec: 'opus_fs320', sample_rate: 16000, bytes: 40, samples: 320 },
    { codec: 'lc3_fs1030', sample_rate: 16000, bytes: 60, samples: 320 },
  ];
  for (const { codec, sample_rate, bytes, samples } of formats) {
    const name = `${codec} ${sample_rate}`;
    const query = { codec, sample_rate, ack: 'enabled', stream: name, client_device_id: name };
    const client = await connectListen(instance.url, instance.key, query);
    // 0x48: an Opus packet of one frame of 20 ms
    for (let n = 0; n < 687; n++)
      client.socket.send(Buffer.alloc(bytes, codec.startsWith('opus') ? 0x48 : 0x80));
    await client.until('ack', ack => ack.messages === 687);
    const acks = client.events.flatMap(event => (event.type === 'ack' ? [event] : []));
    for (const ack of acks) t.is(ack.samples, ack.messages * samples, `${name}: ${ack.messages} messages`);
    client.socket.close();
    await client.closed;
    const again = await connectListen(instance.url, instance.key, query);
    const { received } = await again.until('conversation_session');
    t.is(received, 687);
    for (let n = 0; n < 13; n++)
      again.socket.send(Buffer.alloc(bytes, codec.startsWith('opus') ? 0x48 : 0x80));
    t.is((await again.until('ack', ack => ack.messages === 700)).samples, 700 * samples, `${name}, resumed`);
    again.socket.close();
  }
});

test('a client that receives nothing else gets a ping as text', async t => {
  const instance = await openServer(t, { ...countingStt(), listen: { heartbeatMs: 50 } });
  const client = await connectListen(instance.url, instance.key, PCM);
  t.deepEqual(await client.until('ping'), { type: 'ping' });
  client.socket.close();
});

test('two clients of one token without a device name are two devices, and a reconnect is recognised', async t => {
  const { instance } = t.context;
  const { token } = await instance.app.commands.token({ user: 'owner' });
  const first = await connectListen(instance.url, token, PCM);
  const second = await connectListen(instance.url, token, PCM);
  const { conversation_id: one } = await first.until('conversation_session');
  const { conversation_id: two } = await second.until('conversation_session');
  t.not(one, two);
  first.socket.send(SAID);
  await first.until('segments');
  first.socket.close();
  await first.closed;
  const back = await connectListen(instance.url, token, PCM);
  t.is((await back.until('conversation_session')).conversation_id, one);
  for (const { socket } of [second, back]) socket.close();
});

test('a multi-language session stores the detected language, and sends its whole conversation', async t => {
  const { instance } = t.context;
  const query = { ...PCM, language: 'multi', client_device_id: 'multi' };
  const client = await connectListen(instance.url, instance.key, query);
  client.socket.send(SAID);
  await client.until('segments');
  say(client, { type: 'finish_conversation' });
  const { memory } = await client.until('memory_created');
  const { body } = await instance.get(`/v1/dev/user/conversations/${memory.id}?include_transcript=true`);
  t.deepEqual(memory, body);
  t.is((body as { language: string }).language, 'de-AT');
  t.is((memory.transcript_segments as unknown[]).length, client.segments().length);
  client.socket.close();
});

test('a reopened and an unavailable recogniser are reported with every field', async t => {
  const instance = await openServer(t, countingStt({ behaviour: 'fails-once' }));
  const client = await connectListen(instance.url, instance.key, PCM);
  client.socket.send(SAID);
  await client.until('segments');
  const told = client.events.flatMap(event => (event.type === 'service_status' ? [event] : [])).slice(-2);
  t.deepEqual(
    told.map(({ status, status_text }) => [status, typeof status_text]),
    [
      ['stt_initiating', 'string'],
      ['ready', 'string'],
    ],
  );
  client.socket.close();

  const { log, lines } = keptLog();
  const none = await openServer(t, { stt: [] }, { log });
  const failing = await connectListen(none.url, none.key, PCM);
  const failed = await failing.until('service_status', event => event.status === 'stt_failed');
  t.is(failed.provider, null);
  t.regex(
    String(failed.reason),
    /^This server has no speech recogniser that works now\. Send the audio again later.*\(stt\)/,
  );
  t.notRegex(String(failed.reason), /earshot /, 'a client can run no command on the server');
  await failing.closed;
  const logged = lines.filter(line => line.includes('speech recogniser')).map(line => JSON.parse(line));
  t.deepEqual(
    logged.map(({ msg, err }) => [msg, err]),
    [[`a live connection was refused: ${failed.reason}`, undefined]],
  );
});

test('a live conversation that would become too large ends, and continues in the next', async t => {
  const instance = await openServer(t, countingStt());
  const client = await connectListen(instance.url, instance.key, OWN_STT);
  await ready(client);
  const MESSAGES = 9;
  const EACH = 95;
  for (let message = 0; message < MESSAGES; message++)
    suggest(
      client,
      ...Array.from({ length: EACH }, (_, at) => {
        const number = message * EACH + at;
        return { text: `${number} `.padEnd(10_000, 'word '), start: number * 10, end: number * 10 + 5 };
      }),
    );
  const first = (await client.until('conversation_session')).conversation_id;
  await client.until('memory_processing_started', ({ memory }) => memory.id === first);
  const { memory } = await client.until('memory_created');
  const next = await client.until('conversation_session', event => event.conversation_id !== first);
  const last = `${MESSAGES * EACH - 1} `;
  await client.until('segments', ({ segments }) => segments.some(({ text }) => text.startsWith(last)));
  say(client, { type: 'finish_conversation' });
  const second = await client.until('memory_created', event => event.memory.id === next.conversation_id);
  const told = [memory, second.memory].map(each => each.transcript_segments as { text: string }[]);
  const bytes = told.map(segments => segments.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0));
  t.true(
    bytes.every(each => each > 0 && each <= 8_000_000),
    `${bytes} bytes`,
  );
  t.deepEqual(
    told.flat().map(({ text }) => Number.parseInt(text, 10)),
    Array.from({ length: MESSAGES * EACH }, (_, number) => number),
  );
  const order = client.events.map(event =>
    'memory' in event ? `${event.type} ${event.memory.id}` : event.type,
  );
  const started = order.indexOf(`memory_processing_started ${first}`);
  t.true(started < order.indexOf('conversation_session', order.indexOf('segments')), 'the end is told first');
  client.socket.close();
});
