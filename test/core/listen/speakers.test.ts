import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import type { WireSegment } from '../../../core/listen/protocol.ts';
import { questions } from '../../fixtures/plugins/noting-speakers.ts';
import { accountOf } from '../../helpers/accounts.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { buildServer, countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence } from '../../helpers/sound.ts';
import { patient, sentence, type VoiceName, voiceModelOptions } from '../../helpers/voices.ts';

const DEVICE = { client_device_id: 'pendant_1', conversation_timeout: 600 };
const AUDIO = { codec: 'pcm16', sample_rate: 16000, language: 'en', ...DEVICE };

/**
 * A server whose recogniser does not separate voices, with sherpa's extractor; `again` restarts it on its
 * data.
 */
async function open(t: ExecutionContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-voices-'));
  const prompt = { use: join(import.meta.dirname, '../../fixtures/plugins/prompt-stt.ts') };
  const overrides = {
    dataDir,
    stt: ['prompt'],
    speakers: ['sherpa-speakers'],
    plugins: { prompt, 'sherpa-speakers': await voiceModelOptions(t) },
  };
  let instance = await buildServer(overrides, { clock: patient });
  t.teardown(async () => {
    await instance.stop();
    await rm(dataDir, { recursive: true });
  });
  return {
    get instance() {
      return instance;
    },
    async again() {
      await instance.stop();
      instance = await buildServer(overrides, { clock: patient });
    },
  };
}

const connect = ({ url, key }: TestServer, query = {}) => connectListen(url, key, { ...AUDIO, ...query });

/** Plays one sentence, and resolves when its text has arrived. */
async function say(client: ListenClient, name: VoiceName): Promise<WireSegment> {
  const before = new Set(client.segments().map(({ id }) => id));
  client.socket.send(samplesToBytes(joined(sentence(name), silence(4)))); // a separate segment
  const { segments } = await client.until('segments', ({ segments }) =>
    segments.some(({ id }) => !before.has(id)),
  );
  const said = segments.find(({ id }) => !before.has(id));
  if (!said) throw new Error('it was not new');
  return said;
}

async function transcript(instance: TestServer, client: ListenClient): Promise<WireSegment[]> {
  const { conversation_id: id } = await client.until('conversation_session');
  const { body } = await instance.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  return (body as { transcript_segments: WireSegment[] }).transcript_segments;
}

const labels = (segments: WireSegment[]) => segments.map(({ speaker }) => speaker);
const assigned = (speaker_id: number, person_id: string, person_name = '', segment_ids: string[] = []) =>
  JSON.stringify({ type: 'speaker_assigned', speaker_id, person_id, person_name, segment_ids });

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise(resolve => setTimeout(resolve, 50));
}

test('voices keep their labels through reconnects and a restart, and a name applies to past and future speech', async t => {
  const server = await open(t);
  const first = await connect(server.instance);
  for (const name of ['slt-1', 'rms-1', 'slt-2'] as const) await say(first, name);
  t.deepEqual(labels(first.segments()), ['SPEAKER_00', 'SPEAKER_01', 'SPEAKER_00']);
  first.socket.close();
  await first.closed;
  await server.again();

  const client = await connect(server.instance);
  const place = async (of: ListenClient) => (await of.until('conversation_session')).conversation_id;
  t.is(await place(client), await place(first), 'the conversation goes on');
  for (const seconds of [0.1, 25]) client.socket.send(samplesToBytes(silence(seconds))); // the first arrived together
  t.is((await say(client, 'rms-2')).speaker, 'SPEAKER_01');
  t.is((await say(client, 'awb-1')).speaker, 'SPEAKER_02');
  const { post } = await accountOf(server.instance, 'owner');
  const eve = (await post('/v1/people', { name: 'Eve' })).id as string;
  client.socket.send(assigned(0, eve, 'Eve'));
  client.socket.send(assigned(1, 'user'));
  await until(() => client.segments().some(({ is_user: isUser }) => isUser));
  t.is((await say(client, 'slt-1')).speaker_name, 'Eve');
  t.is((await say(client, 'rms-1')).is_user, true);
  t.deepEqual(
    (await transcript(server.instance, client)).map(({ speaker, is_user: isUser, person_id: person }) => [
      speaker,
      isUser,
      person === eve,
    ]),
    [
      ['SPEAKER_00', false, true],
      ['SPEAKER_01', true, false],
      ['SPEAKER_00', false, true],
      ['SPEAKER_01', true, false],
      ['SPEAKER_02', false, false],
      ['SPEAKER_00', false, true],
      ['SPEAKER_01', true, false],
    ],
  );

  // In the next conversation they are recognised by their voices; a stranger gets no name.
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await client.until('conversation_finished');
  client.socket.close();
  const next = await connect(server.instance);
  const byEve = await say(next, 'slt-2');
  t.like(byEve, {
    speaker: 'SPEAKER_00',
    person_id: eve,
    speaker_name: 'Eve',
    speech_profile_processed: true,
  });
  const { type: _, ...suggestion } = await next.until('speaker_label_suggestion');
  t.deepEqual(suggestion, { speaker_id: 0, person_id: eve, person_name: 'Eve', segment_id: byEve.id });
  t.like(await say(next, 'rms-2'), { speaker: 'SPEAKER_01', is_user: true, person_id: null });
  t.like(await say(next, 'awb-2'), { speaker: 'SPEAKER_02', is_user: false, person_id: null });
  next.socket.close();

  // A connection can opt out of recognising the owner; deleting a person deletes the voice.
  const { token } = await accountOf(server.instance, 'owner');
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const ask = (method: string, path: string, body?: object) =>
    fetch(server.instance.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  t.is((await ask('DELETE', `/v1/people/${eve}`)).status, 200);
  const last = await connect(server.instance, { include_speech_profile: 'false', source: 'friend' });
  t.like(await say(last, 'slt-1'), { person_id: null, speech_profile_processed: false });
  t.like(await say(last, 'rms-1'), {
    is_user: false,
    speaker: 'SPEAKER_01',
    speech_profile_processed: false,
  });

  // If voices are turned off, they are not separated, and their data is deleted.
  t.like(await (await ask('PATCH', '/v1/users/speech-settings', { label_voices: false })).json(), {
    label_voices: false,
  });
  t.like(await say(last, 'awb-1'), { speaker: 'SPEAKER_00', is_user: false });
  await ask('PATCH', '/v1/users/speech-settings', { label_voices: true });
  const forgotten = await connect(server.instance, { source: 'bee' });
  t.like(await say(forgotten, 'rms-2'), { is_user: false, speech_profile_processed: false });
});

test('naming a voice after an unknown person is rejected, and nothing changes', async t => {
  const { instance } = await open(t);
  const client = await connect(instance);
  const said = await say(client, 'slt-1');
  const wrong: [string, RegExp][] = [
    [assigned(0, '0199d4a5-2b00-7000-8000-000000000000'), /Person not found/],
    [assigned(0, 'nobody'), /Person not found/],
    [JSON.stringify({ type: 'speaker_assigned', speaker_id: -1, person_id: 'user' }), /speaker_id/],
    [JSON.stringify({ type: 'speaker_assigned', speaker_id: 0 }), /person_id/],
    [assigned(0, 'user', '', Array(1001).fill(said.id)), /segment_ids/],
  ];
  for (const [message, reason] of wrong) {
    const told = client.events.length;
    client.socket.send(message);
    await until(() =>
      client.events.slice(told).some(event => event.type === 'error' && reason.test(event.message ?? '')),
    );
  }
  t.deepEqual(
    (await transcript(instance, client)).map(({ is_user: isUser, person_id: person }) => [isUser, person]),
    [[false, null]],
  );
  client.socket.send(assigned(5, 'user', 'me', [said.id])); // a segment by its id, whatever speaker it had
  await until(() => client.segments().some(({ is_user: isUser }) => isUser));
  t.is(client.socket.readyState, 1);
});

test('the speaker is determined before the silence that ends an utterance is over, and once', async t => {
  const asked: number[] = [];
  const note = (samples: number) => asked.push(samples);
  questions.on('asked', note);
  t.teardown(() => questions.off('asked', note));
  const plugins = Object.fromEntries(
    [
      ['prompt', 'prompt-stt'],
      ['noting', 'noting-speakers'],
    ].map(([name, file]) => [name, { use: join(import.meta.dirname, `../../fixtures/plugins/${file}.ts`) }]),
  );
  const server = await openServer(t, { stt: ['prompt'], speakers: ['noting'], plugins }, { clock: patient });
  const client = await connect(server);
  const whole = sentence('slt-1');
  const spoken = whole.subarray(0, whole.findLastIndex(sample => Math.abs(sample) > 1000) + 1);
  const early = once(questions, 'asked');
  client.socket.send(samplesToBytes(joined(spoken, silence(0.3))));
  await early;
  t.deepEqual(client.segments(), []);
  client.socket.send(samplesToBytes(silence(1)));
  const { segments } = await client.until('segments', ({ segments }) => segments.length === 1);
  const [start = 0, end = 0] = (segments[0]?.text ?? '').split(':').map(Number);
  t.is(segments[0]?.speaker, 'SPEAKER_00');
  t.is(asked.length, 1);
  t.true((asked[0] ?? 0) < end - start - 0.4 * 16_000, 'without the silence');
  client.socket.close();
});

test('if the recogniser separates voices, its labels count, whatever the speaker model says', async t => {
  const { plugins, stt } = countingStt({ speakers: 2 });
  const voices = { 'sherpa-speakers': await voiceModelOptions(t) };
  const overrides = { stt, speakers: ['sherpa-speakers'], plugins: { ...plugins, ...voices } };
  const server = await openServer(t, overrides, { clock: patient });
  const client = await connect(server);
  client.socket.send(samplesToBytes(joined(sentence('slt-1'), silence(4)))); // one voice, in two pieces
  await client.until('segments', () => client.segments().length === 2);
  t.deepEqual(labels(client.segments()).sort(), ['SPEAKER_00', 'SPEAKER_01']);
  client.socket.close();
});
