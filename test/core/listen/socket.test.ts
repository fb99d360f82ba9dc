import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fastClock } from '../../helpers/fast-clock.ts';
import { connectListen, type ListenClient, refusedListen } from '../../helpers/listen-client.ts';
import { buildServer, countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const test = anyTest as TestFn<{ server: TestServer }>;

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 20 };
const CHUNK_SAMPLES = 1600;
const MiB = 1024 * 1024;

/** Sends in messages of 100 ms, as fast as possible. */
function send(client: ListenClient, samples: Int16Array): number {
  let messages = 0;
  for (let at = 0; at < samples.length; at += CHUNK_SAMPLES) {
    client.socket.send(samplesToBytes(samples.subarray(at, at + CHUNK_SAMPLES)));
    messages += 1;
  }
  return messages;
}

const say = (client: ListenClient, message: unknown) => client.socket.send(JSON.stringify(message));

interface Stored {
  status: string;
  started_at: string;
  transcript_segments: { id: string; text: string; start: number; end: number }[];
}

async function stored(server: TestServer, id: string): Promise<Stored> {
  const { body } = await server.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  return body as Stored;
}

test.before(async t => {
  t.context.server = await buildServer(countingStt());
});
test.after.always(t => t.context.server.stop());

test('speech becomes segments, then a finished conversation that REST returns', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, PCM);
  const session = await client.until('conversation_session');
  t.is(session.status, 'in_progress');
  t.is((await client.until('service_status', event => event.status === 'ready')).provider, 'counting');
  send(client, joined(speech('tomorrow'), silence(21)));
  await client.until('memory_processing_started');
  const created = await client.until('memory_created');
  t.is(created.memory.id, session.conversation_id);
  const next = await client.until(
    'conversation_session',
    event => event.conversation_id !== session.conversation_id,
  );
  t.is(next.status, 'in_progress');
  client.socket.close();
  t.is((await client.closed).code, 1005);

  const conversation = await stored(server, created.memory.id);
  t.is(conversation.status, 'completed');
  const texts = conversation.transcript_segments.map(({ id, text }) => ({ id, text }));
  t.deepEqual(
    texts,
    client.segments().map(({ id, text }) => ({ id, text })),
  );
  t.true(texts.length > 0);
});

test('the events of a connection come in the documented order', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, { ...PCM, client_device_id: 'order' });
  await client.until('service_status', event => event.status === 'ready');
  const order = client.events.map(event =>
    'status' in event ? `${event.type} ${event.status}` : event.type,
  );
  t.deepEqual(order, [
    'service_status initiating',
    'conversation_session in_progress',
    'service_status stt_initiating',
    'service_status ready',
  ]);
  client.socket.close();
});

const refusals: { title: string; query: Record<string, string | number>; code: number; reason: RegExp }[] = [
  { title: 'an unknown codec', query: { codec: 'mp3' }, code: 1003, reason: /mp3.*pcm16/ },
  {
    title: 'a rate unsupported by the codec',
    query: { codec: 'opus', sample_rate: 44100 },
    code: 1003,
    reason: /44100.*48000/,
  },
  {
    title: 'a rate that is not a number',
    query: { codec: 'pcm16', sample_rate: 'fast' },
    code: 1003,
    reason: /^sample_rate "fast" is no whole number$/,
  },
  {
    title: 'a timeout out of range',
    query: { ...PCM, conversation_timeout: 1 },
    code: 1008,
    reason: /conversation_timeout.*2 to 14400/,
  },
  {
    title: 'a language without a recogniser',
    query: { ...PCM, language: 'fi' },
    code: 1008,
    reason: /language fi/,
  },
  {
    title: 'a recording that starts in the future',
    query: { ...PCM, started_at: '2199-01-01T00:00:00Z' },
    code: 1008,
    reason: /future/,
  },
  { title: 'three channels', query: { ...PCM, channels: 3 }, code: 1008, reason: /channels/ },
];
for (const { title, query, code, reason } of refusals) {
  test(`${title} is refused with ${code} and the reason`, async t => {
    const { server } = t.context;
    const client = await connectListen(server.url, server.key, query);
    const closed = await client.closed;
    t.is(closed.code, code);
    t.regex(closed.reason, reason);
  });
}

test('an upgrade without a valid credential is refused before it is accepted', async t => {
  const { server } = t.context;
  const none = await refusedListen(server.url, null, PCM);
  t.is(none.status, 401);
  t.is(none.headers['www-authenticate'], 'Bearer');
  t.regex(JSON.stringify(none.body), /detail.*Bearer/);
  t.is((await refusedListen(server.url, 'omi_dev_00000000000000000000000000000000', PCM)).status, 401);
  t.is((await refusedListen(server.url, 'nonsense', PCM)).status, 401);

  const { key } = await server.app.commands.key({ user: 'owner', scopes: ['conversations:read'] });
  const scopeless = await refusedListen(server.url, key, PCM);
  t.is(scopeless.status, 403);
  t.deepEqual(scopeless.body, { detail: 'Insufficient permissions. Required scope: listen' });

  const other = await refusedListen(server.url, server.key, {
    ...PCM,
    uid: '01890000-0000-7000-8000-000000000000',
  });
  t.is(other.status, 403);
});

test('an ID token opens a connection for its own uid', async t => {
  const { server } = t.context;
  const { token } = await server.app.commands.token({ user: 'owner' });
  const client = await connectListen(server.url, token, {
    ...PCM,
    uid: server.userId,
    client_device_id: 'token',
  });
  t.is((await client.until('service_status', event => event.status === 'ready')).provider, 'counting');
  client.socket.close();
});

test('a browser signs in with its first message', async t => {
  const { server } = t.context;
  const { token } = await server.app.commands.token({ user: 'owner' });
  const client = await connectListen(server.url, null, { ...PCM, client_device_id: 'web' }, '/v4/web/listen');
  say(client, { type: 'auth', token });
  t.true((await client.until('auth_response')).success);
  await client.until('service_status', event => event.status === 'ready');
  client.socket.close();

  const stranger = await connectListen(server.url, null, PCM, '/v4/web/listen');
  say(stranger, { type: 'auth', token: 'nonsense' });
  t.false((await stranger.until('auth_response')).success);
  t.is((await stranger.closed).code, 1008);
});

test('random bytes as Opus are silence, and the session continues', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, {
    codec: 'opus_fs320',
    conversation_timeout: 20,
    client_device_id: 'noise',
  });
  await client.until('service_status', event => event.status === 'ready');
  let seed = 1;
  for (let i = 0; i < 500; i++) {
    const packet = Buffer.alloc(3 + (i % 150));
    for (let j = 0; j < packet.length; j++) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      packet[j] = seed >> 16;
    }
    client.socket.send(packet);
  }
  say(client, { type: 'finish_conversation' });
  await client.received();
  t.is(client.socket.readyState, client.socket.OPEN);
  client.socket.close();
});

test('text that is not a message is answered with an error, and the socket stays open', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, { ...PCM, client_device_id: 'text' });
  client.socket.send('this is not JSON');
  t.is((await client.until('error')).code, 'invalid_message');
  say(client, { type: 'from_the_future', value: 1 });
  say(client, { type: 'gap', ms: -1 });
  say(client, { type: 'suggested_transcript', stt_provider: 'x', segments: [] });
  await client.until('error', event => /custom_stt/.test(event.message ?? ''));
  t.is(client.events.filter(event => event.type === 'error').length, 3);
  t.is(client.socket.readyState, client.socket.OPEN);
  client.socket.close();
});

test('a message over 1 MiB closes with 1009', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, { ...PCM, client_device_id: 'big' });
  client.socket.send(Buffer.alloc(MiB + 1));
  t.is((await client.closed).code, 1009);
});

test('a client may end the conversation, and the next one follows', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, {
    ...PCM,
    conversation_timeout: 600,
    client_device_id: 'ender',
  });
  send(client, speech('budget'));
  say(client, { type: 'finish_conversation' });
  const first = await client.until('memory_created');
  send(client, speech('health'));
  say(client, { type: 'finish_conversation' });
  const second = await client.until('memory_created', event => event.memory.id !== first.memory.id);
  t.not(second.memory.id, first.memory.id);
  client.socket.close();
});

test('a request to end a conversation is answered once everything before it is text', async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, server.key, { ...PCM, conversation_timeout: 600 });
  const { conversation_id: id } = await client.until('conversation_session');
  send(client, joined(speech('budget'), silence(5), speech('budget'), silence(1)));
  say(client, { type: 'finish_conversation' });
  say(client, { type: 'finish_conversation' });
  t.is((await client.until('conversation_finished')).conversation_id, id);
  t.is(client.segments().length, 2);
  await client.until('conversation_finished', event => event.conversation_id === null);
  client.socket.close();
});

test('speech that stops without silence is transcribed, and its conversation ends', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, {
    ...PCM,
    conversation_timeout: 4,
    client_device_id: 'broken off',
  });
  send(client, speech('budget'));
  const keepAlive = setInterval(() => client.socket.send(Buffer.alloc(2)), 500);
  await client.until('segments');
  await client.until('memory_created');
  t.true(client.segments().length > 0);
  clearInterval(keepAlive);
  client.socket.close();
});

test('while audio arrives slower than real time, silence is measured in its own time', async t => {
  const clock = fastClock(t); // on which a busy machine causes no pause
  const server = await openServer(t, countingStt(), { clock });
  const client = await connectListen(server.url, server.key, { ...PCM, conversation_timeout: 5 });
  const { conversation_id: id } = await client.until('conversation_session');
  clock.hasten(4);
  for (const startedAt = clock.now(); clock.now() - startedAt < 6000; ) {
    send(client, silence(0.1));
    await clock.sleep(250);
  }
  clock.hasten(1);
  send(client, speech('budget'));
  say(client, { type: 'finish_conversation' });
  t.is((await client.until('memory_created')).memory.id, id);
  client.socket.close();
});

test('a client that does not describe its audio gets the documented defaults', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, { client_device_id: 'default' });
  const samples = speech('budget').filter((_, i) => i % 2 === 0);
  client.socket.send(Uint8Array.from(samples, sample => (sample >> 8) + 128));
  say(client, { type: 'finish_conversation' });
  await client.until('memory_created');
  const seconds = (client.segments()[0]?.end ?? 0) - (client.segments()[0]?.start ?? 0);
  t.true(Math.abs(seconds - speech('budget').length / 16_000) < 1, `${seconds} s`);
  client.socket.close();
});

test('a gap advances the clock without audio', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, {
    ...PCM,
    conversation_timeout: 600,
    client_device_id: 'gap',
  });
  send(client, joined(speech('budget'), silence(1)));
  say(client, { type: 'gap', ms: 60_000 });
  send(client, speech('budget'));
  say(client, { type: 'finish_conversation' });
  const { memory } = await client.until('memory_created');
  const { transcript_segments: segments } = await stored(server, memory.id);
  const [first, last] = [segments.at(0), segments.at(-1)];
  const spoken = speech('budget').length / 16_000;
  const apart = (last?.start ?? 0) - (first?.start ?? 0);
  t.true(Math.abs(apart - (spoken + 1 + 60)) < 0.3, `${apart} s apart`);
  client.socket.close();
});

test('a recording made earlier keeps its own times, and ends in its own time', async t => {
  const { server } = t.context;
  const query = {
    ...PCM,
    conversation_timeout: 120,
    started_at: '2026-01-02T03:04:05Z',
    client_device_id: 'earlier',
  };
  const client = await connectListen(server.url, server.key, query);
  send(client, speech('garden'));
  say(client, { type: 'gap', ms: 130_000 });
  send(client, silence(1));
  const { memory } = await client.until('memory_created');
  const conversation = await stored(server, memory.id);
  t.is(conversation.started_at, '2026-01-02T03:04:05Z'.replace('05Z', '05.000Z'));
  client.socket.close();
});

test("an interrupted stream continues at the server's position, and nothing is stored twice", async t => {
  const { server } = t.context;
  const query = { ...PCM, conversation_timeout: 600, stream: 'cut', client_device_id: 'cut', ack: 'enabled' };
  const whole = joined(speech('tomorrow'), silence(1), speech('budget'), silence(1));
  const half = Math.round(whole.length / 2 / CHUNK_SAMPLES) * CHUNK_SAMPLES;

  const first = await connectListen(server.url, server.key, { ...query, from: 0 });
  t.is((await first.until('conversation_session')).received, 0);
  const sent = send(first, whole.subarray(0, half));
  const { messages } = await first.until('ack');
  t.true(messages > 0 && messages <= sent);
  first.socket.terminate();

  const second = await connectListen(server.url, server.key, { ...query, from: 0 });
  const session = await second.until('conversation_session');
  t.true((session.received ?? 0) > 0, 'something is held already');
  send(second, whole);
  say(second, { type: 'finish_conversation' });
  const { memory } = await second.until('memory_created');
  const { transcript_segments: segments } = await stored(server, memory.id);
  const heard = segments.flatMap(({ text }) => [...text.matchAll(/(\d+) tenths/g)].map(([, n]) => Number(n)));
  const total = heard.reduce((sum, tenths) => sum + tenths, 0) / 10;
  // Each utterance has its pre-roll and its hangover; speech counted twice would add seconds.
  t.true(total > 9 && total < whole.length / 16_000 + 1, `${total} s heard of ${whole.length / 16_000} s`);
  t.deepEqual(
    [...segments].sort((a, b) => a.start - b.start),
    segments,
  );
  second.socket.close();
});

test('a recording that was fully transcribed need not be sent again', async t => {
  const { server } = t.context;
  const query = { ...PCM, conversation_timeout: 600, stream: 'whole', client_device_id: 'whole' };
  const recording = joined(silence(1), speech('budget'));
  const messages = Math.ceil(recording.length / CHUNK_SAMPLES);
  let received = 0;
  // A busy server may ask for the rest again, but finishes.
  for (let connections = 0; received < messages && connections < 10; connections++) {
    const client = await connectListen(server.url, server.key, query);
    received = (await client.until('conversation_session')).received ?? 0;
    send(client, recording.subarray(received * CHUNK_SAMPLES));
    client.socket.close();
    await client.closed;
  }
  t.is(received, messages);
});

test('a message number too large to store is refused, without affecting others', async t => {
  const { server } = t.context;
  const query = { ...PCM, stream: 'far', client_device_id: 'far' };
  const client = await connectListen(server.url, server.key, { ...query, from: 2 ** 32 });
  send(client, silence(0.1));
  const closed = await client.closed;
  t.is(closed.code, 1008);
  t.regex(closed.reason, /4294967296 messages/);
  const last = await connectListen(server.url, server.key, { ...query, from: 2 ** 32 - 1, ack: 'enabled' });
  send(last, silence(0.1));
  await last.until('ack', ack => ack.messages === 2 ** 32);
  last.socket.close();
});

test('the newest connection of a stream takes it over, and the older one is told', async t => {
  const { server } = t.context;
  const query = { ...PCM, stream: 'twice', client_device_id: 'twice' };
  const older = await connectListen(server.url, server.key, query);
  await older.until('conversation_session');
  const newer = await connectListen(server.url, server.key, query);
  await newer.until('service_status', event => event.status === 'ready');
  const closed = await older.closed;
  t.is(closed.code, 1001);
  t.regex(closed.reason, /newer connection/);
  newer.socket.close();
});

test('a reconnect of the same device continues the same conversation, and another device has its own', async t => {
  const { server } = t.context;
  const query = { ...PCM, conversation_timeout: 600 };
  const idOf = async (device: string) => {
    const client = await connectListen(server.url, server.key, { ...query, client_device_id: device });
    const { conversation_id: id } = await client.until('conversation_session');
    client.socket.close();
    await client.closed;
    return id;
  };
  const first = await idOf('pendant-a');
  t.is(await idOf('pendant-a'), first);
  t.not(await idOf('pendant-b'), first);
});

test('transcripts from the client are stored without a recogniser', async t => {
  const { server } = t.context;
  const query = { ...PCM, custom_stt: 'enabled', client_device_id: 'own-stt' };
  const client = await connectListen(server.url, server.key, query);
  const ready = await client.until('service_status', event => event.status === 'ready');
  t.is(ready.provider, undefined);
  const segments = [{ text: 'hello there', speaker: 'SPEAKER_01', start: 1.5, end: 2.5, is_user: true }];
  say(client, { type: 'suggested_transcript', stt_provider: 'phone', segments });
  await client.until('segments');
  const [segment] = client.segments();
  t.like(segment, {
    text: 'hello there',
    speaker: 'SPEAKER_01',
    speaker_id: 1,
    is_user: true,
    start: 1.5,
    end: 2.5,
    stt_provider: 'phone',
  });
  say(client, {
    type: 'suggested_transcript',
    stt_provider: 'phone',
    segments: [{ ...segments[0], start: 'soon' }],
  });
  await client.until('error');
  say(client, { type: 'finish_conversation' });
  await client.until('memory_created');
  client.socket.close();
});

test('a preference that cannot be met falls back to the configured order, with a message', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, {
    ...PCM,
    stt_service: 'soniox',
    client_device_id: 'wish',
  });
  const ready = await client.until('service_status', event => event.status === 'ready');
  t.is(ready.provider, 'counting');
  t.is(ready.reason, 'fallback_from_soniox');
  client.socket.close();
});

test('an empty conversation leaves nothing behind', async t => {
  const { server } = t.context;
  const client = await connectListen(server.url, server.key, { ...PCM, client_device_id: 'empty' });
  const { conversation_id: id } = await client.until('conversation_session');
  send(client, silence(1));
  say(client, { type: 'finish_conversation' });
  send(client, speech('budget'));
  await client.until('conversation_session', event => event.conversation_id !== id);
  t.is((await server.get(`/v1/dev/user/conversations/${id}`)).status, 404);
  client.socket.close();
});

test('an engine that fails once is reopened, and the client is told both', async t => {
  const server = await openServer(t, countingStt({ behaviour: 'fails-once' }));
  const client = await connectListen(server.url, server.key, PCM);
  send(client, joined(speech('budget'), silence(1)));
  await client.until(
    'service_status',
    event => event.status === 'stt_initiating' && event.reason === 'upstream_error',
  );
  await client.until('segments');
  const states = client.events.flatMap(event => (event.type === 'service_status' ? [event.status] : []));
  t.deepEqual(states.slice(-2), ['stt_initiating', 'ready']);
  client.socket.close();
});

test('without any recogniser the client is told stt_failed, then closed with 1011', async t => {
  const server = await openServer(t, { stt: [] });
  const client = await connectListen(server.url, server.key, PCM);
  const failed = await client.until('service_status', event => event.status === 'stt_failed');
  t.like(failed, { outcome: 'config_error', retryable: false });
  t.is((await client.closed).code, 1011);
});

test('a silent client is closed with 1001; a keep-alive counts as activity', async t => {
  const server = await openServer(t, { ...countingStt(), listen: { idleMs: 3000, heartbeatMs: 100 } });
  const alive = await connectListen(server.url, server.key, { ...PCM, client_device_id: 'alive' });
  const keepAlive = setInterval(() => alive.socket.send(Buffer.alloc(2)), 100);
  const silent = await connectListen(server.url, server.key, { ...PCM, client_device_id: 'silent' });
  t.is((await silent.closed).code, 1001);
  t.is(alive.socket.readyState, alive.socket.OPEN);
  clearInterval(keepAlive);
  t.is((await alive.closed).code, 1001);
});

test('a peer that answers no ping is disconnected once it sends nothing either', async t => {
  const server = await openServer(t, { ...countingStt(), listen: { heartbeatMs: 100 } });
  const client = await connectListen(server.url, server.key, PCM, '/v4/listen', { autoPong: false });
  const sending = setInterval(() => client.socket.send(Buffer.alloc(2)), 20);
  let pings = 0;
  client.socket.on('ping', () => pings++);
  await eventually(() => pings >= 10 || client.socket.readyState !== client.socket.OPEN);
  clearInterval(sending);
  t.true(pings >= 10);
  t.is((await client.closed).code, 1006);
});

test('more live connections than configured are refused before the upgrade', async t => {
  const server = await openServer(t, { ...countingStt(), listen: { maxConnectionsPerUser: 1 } });
  const client = await connectListen(server.url, server.key, PCM);
  await client.until('conversation_session');
  const refused = await refusedListen(server.url, server.key, PCM);
  t.is(refused.status, 429);
  t.regex(JSON.stringify(refused.body), /maxConnectionsPerUser/);
  client.socket.close();
});

test('a reconnect does not count against the limit while the older connection is still being stored', async t => {
  const server = await openServer(t, {
    ...countingStt({ behaviour: 'hangs' }),
    listen: { maxConnectionsPerUser: 1 },
  });
  const open = /^earshot_streams_open\{.*\} 1$/m;
  const walk = { ...PCM, stream: 'walk', client_device_id: 'walk', ack: 'enabled' };
  const dead = await connectListen(server.url, server.key, walk);
  await dead.until('conversation_session');
  t.is((await refusedListen(server.url, server.key, { ...walk, stream: 'another' })).status, 429);
  const alive = await connectListen(server.url, server.key, walk);
  await alive.until('conversation_session');
  t.is((await dead.closed).code, 1001);
  alive.socket.terminate();

  const plain = await connectListen(server.url, server.key, { ...PCM, ack: 'enabled' });
  const sent = send(plain, joined(speech('budget'), silence(1)));
  await plain.until('ack', ack => ack.messages === sent);
  plain.socket.terminate();
  await plain.closed;
  t.regex(await (await fetch(`${server.url}/metrics`)).text(), open, 'it is stuck in what it heard');
  const back = await connectListen(server.url, server.key, PCM);
  await back.until('conversation_session');
  t.is((await refusedListen(server.url, server.key, PCM)).status, 429);
  back.socket.close();
});

test('a stopping server closes with 1012, and no speech is lost', async t => {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const server = await openServer(t, { ...countingStt(), dataDir });
  const client = await connectListen(server.url, server.key, {
    ...PCM,
    conversation_timeout: 600,
    client_device_id: 'pendant',
  });
  await client.until('service_status', event => event.status === 'ready');
  send(client, speech('budget'));
  await client.received();
  await server.app.stop();
  t.is((await client.closed).code, 1012);

  const again = await openServer(t, { ...countingStt(), dataDir: server.dataDir });
  const resumed = await connectListen(again.url, again.key, {
    ...PCM,
    conversation_timeout: 600,
    client_device_id: 'pendant',
  });
  const { conversation_id: id } = await resumed.until('conversation_session');
  // What a stop has no time for is transcribed from disk, for which the end of a conversation does not wait.
  await eventually(async () => (await stored(again, id)).transcript_segments?.length > 0);
  say(resumed, { type: 'finish_conversation' });
  await resumed.until('memory_created');
  t.true((await stored(again, id)).transcript_segments.length > 0);
  resumed.socket.close();
});
