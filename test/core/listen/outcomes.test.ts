import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import type { Clock } from '../../../core/contract/model.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fastClock } from '../../helpers/fast-clock.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, type Sound, silence, speech } from '../../helpers/sound.ts';

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const SAID = joined(speech('budget'), silence(1));

/** A server with a recogniser whose behaviour the test sets. */
async function moodyServer(
  t: ExecutionContext,
  { others = [] as string[], clock = null as Clock | null } = {},
) {
  const mood = join(tmpdir(), `earshot-mood-${randomUUID()}`);
  await writeFile(mood, 'well');
  t.teardown(() => rm(mood, { force: true }));
  const use = join(import.meta.dirname, '../../fixtures/plugins/moody-stt.ts');
  const plugins = { ...countingStt().plugins, moody: { use, mood } };
  const server = await openServer(t, { stt: ['moody', ...others], plugins }, clock ? { clock } : {});
  async function become(word: string) {
    await writeFile(`${mood}.next`, word);
    await rename(`${mood}.next`, mood); // written atomically
  }
  return { server, become };
}

const send = (client: ListenClient, sound: Sound) => client.socket.send(samplesToBytes(sound));
const say = (client: ListenClient, message: unknown) => client.socket.send(JSON.stringify(message));

async function counted(server: TestServer): Promise<Record<string, number>> {
  const text = await (await fetch(new URL('/metrics', server.url))).text();
  const found = text.matchAll(/^earshot_utterances_total\{outcome="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]));
}

const statuses = (client: ListenClient) =>
  client.events.flatMap(event => (event.type === 'service_status' ? [event.status] : []));

test('text is success; speech without words is only counted, and is not the end', async t => {
  const { server, become } = await moodyServer(t);
  const client = await connectListen(server.url, server.key, PCM);
  await client.until('service_status', ({ status }) => status === 'ready');
  await become('mute');
  send(client, SAID);
  say(client, { type: 'finish_conversation' });
  t.is((await client.until('conversation_finished')).conversation_id, null);
  t.deepEqual(await counted(server), { empty_unexpected: 1 });
  await become('well');
  send(client, SAID);
  await client.until('segments');
  await eventually(async () => (await counted(server)).success === 1);
  t.is(statuses(client).at(-1), 'ready');
  client.socket.close();
  await client.closed;
  t.deepEqual(await counted(server), { empty_unexpected: 1, success: 1 });
});

test('audio without speech is expected silence, and undecodable audio is invalid input', async t => {
  const { server } = await moodyServer(t);
  const quiet = await connectListen(server.url, server.key, PCM);
  send(quiet, silence(2));
  quiet.socket.close();
  await eventually(async () => (await counted(server)).expected_silence === 1);

  const garbage = await connectListen(server.url, server.key, { codec: 'opus_fs320' });
  for (let i = 0; i < 5; i++) garbage.socket.send(Buffer.from('ff'.repeat(40), 'hex'));
  garbage.socket.close();
  await eventually(async () => (await counted(server)).invalid_input === 1);

  t.is((await (await connectListen(server.url, server.key, { codec: 'mp3' })).closed).code, 1003);
  t.deepEqual(await counted(server), { expected_silence: 1, invalid_input: 2 });
});

test('the replacement of a recogniser is reported with both names', async t => {
  const { server, become } = await moodyServer(t, { others: ['counting'] });
  const client = await connectListen(server.url, server.key, { ...PCM, stt_service: 'moody' });
  await client.until('service_status', ({ status }) => status === 'ready');
  await become('upstream_error');
  await client.until('service_status', ({ provider }) => provider === 'counting');
  const told = client.events.flatMap(event => (event.type === 'service_status' ? [event] : []));
  t.deepEqual(
    told.map(({ status, provider, reason }) => [status, provider, reason]),
    [
      ['initiating', undefined, undefined],
      ['stt_initiating', undefined, undefined],
      ['ready', 'moody', undefined],
      ['stt_initiating', undefined, 'upstream_error'],
      ['ready', 'counting', 'fallback_from_moody'],
    ],
  );
  for (const { status_text: text } of told) t.is(typeof text, 'string');
  client.socket.close();
});

for (const [outcome, retryable] of [
  ['timeout', true],
  ['upstream_error', true],
  ['config_error', false],
] as const)
  test(`a recogniser that does not open is reported as ${outcome}, and counted`, async t => {
    const { server, become } = await moodyServer(t);
    await become(outcome);
    const client = await connectListen(server.url, server.key, PCM);
    const failed = await client.until('service_status', ({ status }) => status === 'stt_failed');
    t.like(failed, { outcome, retryable, provider: 'moody' });
    t.deepEqual(await client.closed, { code: 1011, reason: 'stt_failed' });
    t.false(statuses(client).includes('ready'));
    t.deepEqual(await counted(server), { [outcome]: 1 });
  });

test('a recogniser lost during silence is reported, and so is its return', async t => {
  const { server, become } = await moodyServer(t);
  const client = await connectListen(server.url, server.key, PCM);
  await client.until('service_status', ({ status }) => status === 'ready');
  await become('upstream_error');
  await client.until('service_status', event => event.reason === 'upstream_error');
  await become('well');
  await client.until('service_status', () => statuses(client).at(-1) === 'ready');
  t.deepEqual(statuses(client).slice(-4), ['stt_initiating', 'ready', 'stt_initiating', 'ready']);
  t.like(client.events.at(-1), { status: 'ready', provider: 'moody' });
  send(client, SAID);
  await client.until('segments');
  t.is(statuses(client).at(-1), 'ready');
  client.socket.close();
});

test('a recogniser lost during silence is replaced by another one if there is one', async t => {
  const { server, become } = await moodyServer(t, { others: ['counting'] });
  const client = await connectListen(server.url, server.key, PCM);
  await client.until('service_status', ({ status }) => status === 'ready');
  await become('timeout');
  await client.until(
    'service_status',
    ({ status, provider }) => status === 'ready' && provider === 'counting',
  );
  t.like(
    client.events.find(event => 'reason' in event),
    { status: 'stt_initiating', reason: 'timeout' },
  );
  client.socket.close();
});

test('a recogniser that is lost for good ends the connection, even during silence', async t => {
  const clock = fastClock(t);
  const { server, become } = await moodyServer(t, { clock });
  const call = { ...PCM, channels: 2, source: 'phone_call' };
  const client = await connectListen(server.url, server.key, call);
  await client.until('service_status', ({ status }) => status === 'ready');
  clock.hasten(20);
  await become('upstream_error');
  t.deepEqual(await client.closed, { code: 1011, reason: 'stt_failed' });
  t.like(client.events.at(-1), { status: 'stt_failed', outcome: 'upstream_error', provider: 'moody' });
  t.is(statuses(client).filter(status => status === 'stt_failed').length, 1);
  t.deepEqual(await counted(server), { upstream_error: 1 });
});
