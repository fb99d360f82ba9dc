import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { pngOf } from '../../helpers/photo.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';

const PCM = { codec: 'pcm16', sample_rate: 16_000, conversation_timeout: 600 };
const CAREFUL = { ...PCM, stream: 'walk', ack: 'enabled', client_device_id: 'pendant' };
const LIST = '/v1/dev/user/conversations?include_transcript=true';
const MESSAGE = 1600;
const said = joined(speech('budget').subarray(0, 32_000), silence(1.5));
const SECONDS = said.length / 16_000;

const secret = speech('health').subarray(0, 32_000);

const say = (client: ListenClient, message: unknown) => client.socket.send(JSON.stringify(message));

/** Sends it in messages of 100 ms; returns their number. */
function send(client: ListenClient, samples: Int16Array, tag?: number): number {
  let count = 0;
  for (let at = 0; at < samples.length; at += MESSAGE, count++) {
    const bytes = samplesToBytes(samples.subarray(at, at + MESSAGE));
    client.socket.send(tag === undefined ? bytes : Buffer.concat([Buffer.of(tag), bytes]));
  }
  return count;
}

const pause = (server: TestServer) =>
  server.app.commands['listening.pause']({ user: 'owner', minutes: null });
const resume = (server: TestServer) => server.app.commands['listening.resume']({ user: 'owner' });
const toldOf = (client: ListenClient, paused: boolean) =>
  client.until('listening', event => event.paused === paused);
const acked = (client: ListenClient, messages: number) =>
  client.until('ack', event => event.messages >= messages);

async function segmentsOf(server: TestServer) {
  const { body } = await server.get(LIST);
  const list = body as { transcript_segments: { text: string; start: number; end: number }[] }[];
  return list.flatMap(({ transcript_segments: segments }) => segments);
}

/** Reads all audio that the server has stored on disk. */
async function bytesOnDisk(server: TestServer): Promise<Buffer> {
  const dir = join(server.dataDir, 'audio');
  const files = (await readdir(dir, { withFileTypes: true })).filter(file => file.isFile());
  return Buffer.concat(await Promise.all(files.map(({ name }) => readFile(join(dir, name)))));
}

test('audio during a pause is acknowledged but neither stored nor transcribed; other audio is both', async t => {
  const server = await openServer(t, countingStt());
  const client = await connectListen(server.url, server.key, CAREFUL);
  let sent = send(client, said);
  await client.until('segments');
  t.false(client.events.some(({ type }) => type === 'listening'));

  await pause(server);
  t.is((await toldOf(client, true)).until, null);
  sent += send(client, secret); // which ends in speech: its text would not be stored yet
  const { samples } = await acked(client, sent);
  t.is(samples, said.length + secret.length);
  t.false((await bytesOnDisk(server)).includes(Buffer.from(samplesToBytes(secret.subarray(16_000, 16_100)))));
  client.socket.close();
  await client.closed;

  const again = await connectListen(server.url, server.key, CAREFUL);
  t.is((await again.until('conversation_session')).received, sent, 'nothing of it is asked for again');
  await toldOf(again, true);
  sent += send(again, secret);
  await acked(again, sent);
  await resume(server);
  await toldOf(again, false);
  send(again, said);
  await again.until('segments');
  say(again, { type: 'finish_conversation' });
  await again.until('memory_created');

  const segments = await segmentsOf(server);
  t.is(segments.length, 2);
  const [first, second] = segments;
  const apart = (second?.start ?? 0) - (first?.start ?? 0);
  t.true(
    Math.abs(apart - (SECONDS + (2 * secret.length) / 16_000)) < 0.05,
    `the time of the pause passes: ${apart} s`,
  );
});

test('both sides of a call are dropped, and their time passes once', async t => {
  const server = await openServer(t, countingStt());
  const query = { ...CAREFUL, channels: 2, source: 'phone_call' };
  const client = await connectListen(server.url, server.key, query);
  let sent = 0;
  const both = () => {
    for (let at = 0; at < said.length; at += MESSAGE)
      for (const tag of [1, 2]) sent += send(client, said.subarray(at, at + MESSAGE), tag);
  };
  sent += send(client, said, 1);
  sent += send(client, silence(SECONDS), 2);
  await client.until('segments');
  await pause(server);
  await toldOf(client, true);
  both();
  await acked(client, sent);
  await resume(server);
  await toldOf(client, false);
  sent += send(client, said, 1);
  await client.until('segments', () => client.segments().length === 2);
  const [first, second] = client.segments();
  const apart = (second?.start ?? 0) - (first?.start ?? 0);
  t.true(Math.abs(apart - 2 * SECONDS) < 0.05, `${apart} s`);
  client.socket.close();
});

test('a recording is judged by its recording time, not by its arrival', async t => {
  const server = await openServer(t, countingStt());
  await pause(server);
  const record = async (startedAt: number) => {
    const query = { ...PCM, started_at: new Date(startedAt).toISOString() };
    const client = await connectListen(server.url, server.key, { ...query, stream: `${startedAt}` });
    send(client, said);
    say(client, { type: 'finish_conversation' });
    const { conversation_id: id } = await client.until('conversation_finished');
    t.false(client.events.some(({ type }) => type === 'listening'));
    client.socket.close();
    return id;
  };
  const now = Date.now();
  t.is(await record(now + 30_000), null, 'in the pause, within what clocks may differ');
  t.not(await record(now - 3_600_000), null);
});

test('text and pictures from a client are dropped during a pause as well', async t => {
  const server = await openServer(t, countingStt());
  await pause(server);
  const client = await connectListen(server.url, server.key, { ...PCM, custom_stt: 'enabled' });
  await toldOf(client, true);
  const suggest = (text: string) =>
    say(client, {
      type: 'suggested_transcript',
      stt_provider: 'phone',
      segments: [{ text, speaker: 'SPEAKER_00', start: 0, end: 1 }],
    });
  const image = (await pngOf(64, 48)).toString('base64');
  suggest('secret');
  say(client, { type: 'image_chunk', id: 'one', index: 0, total: 1, data: image });
  say(client, { type: 'nonsense' });
  say(client, { type: 'image_chunk', id: 'two', index: 5, total: 1, data: image });
  say(client, { type: 'gap', ms: -1 });
  await client.until('error', ({ code }) => code === 'invalid_message'); // everything before it has been processed
  await resume(server);
  await toldOf(client, false);
  suggest('public');
  await client.until('segments');
  t.deepEqual(
    client.segments().map(({ text }) => text),
    ['public'],
  );
  t.false(client.events.some(({ type }) => type === 'photo_processing'));
  client.socket.close();
});

test('a pause of one account does not affect another', async t => {
  const server = await openServer(t, countingStt());
  await server.app.commands['user.add']({ name: 'ben' });
  await server.app.commands['listening.pause']({ user: 'ben', minutes: 60 });
  const { key } = await server.app.commands.key({ user: 'ben', scopes: ['listen'] });
  const bens = await connectListen(server.url, key, PCM);
  const { until } = await toldOf(bens, true);
  t.true(Date.parse(until ?? '') > Date.now());
  const client = await connectListen(server.url, server.key, PCM);
  send(bens, said);
  send(client, said);
  await client.until('segments');
  t.false(client.events.some(({ type }) => type === 'listening'));
  t.is(bens.segments().length, 0);
  bens.socket.close();
  client.socket.close();
});
