import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { encodeWav, samplesToBytes } from '../../../../core/audio/pcm.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { command } from '../../../helpers/cli.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { openServer, type TestServer } from '../../../helpers/services.ts';
import { atRms, join as joined, mix, type Sound, silence, whiteNoise } from '../../../helpers/sound.ts';
import { patient, profileRecording, sentence, voiceModelOptions } from '../../../helpers/voices.ts';

const PROFILE = '/v1/users/speech-profile';
const PROMPT = { use: join(import.meta.dirname, '../../../fixtures/plugins/prompt-stt.ts') };

interface Profile {
  has_profile: boolean;
  seconds: number;
  samples: { id: string; seconds: number; conversation_id: string | null; is_usable: boolean }[];
}

async function open(t: ExecutionContext) {
  const plugins = { prompt: PROMPT, 'sherpa-speakers': await voiceModelOptions(t) };
  return openServer(t, { stt: ['prompt'], speakers: ['sherpa-speakers'], plugins }, { clock: patient });
}

async function ask(server: TestServer, method: string, path: string, body?: FormData) {
  const { token } = await accountOf(server, 'owner');
  const response = await fetch(server.url + path, {
    method,
    headers: { Authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.status,
    body: (await response.json()) as Profile & { detail: { type: string }[] },
  };
}

function form(sounds: Sound[]): FormData {
  const data = new FormData();
  for (const [i, sound] of sounds.entries()) data.append('files', new Blob([encodeWav(sound)]), `${i}.wav`);
  return data;
}

const LIVE = { codec: 'pcm16', sample_rate: 16_000, language: 'en' };

test('a recorded voice is recognised in speech unless a connection opts out, and deleted on request', async t => {
  const server = await open(t);
  t.deepEqual((await ask(server, 'GET', PROFILE)).body, {
    has_profile: false,
    seconds: 0,
    samples: [],
  } as never);
  const recorded = await ask(server, 'POST', PROFILE, form([profileRecording('slt')]));
  t.is(recorded.status, 200, JSON.stringify(recorded.body));
  t.true(recorded.body.has_profile && recorded.body.seconds > 10);
  t.like(recorded.body.samples, [{ conversation_id: null, is_usable: true }]);

  async function said(query: object, name: 'slt-1' | 'rms-1') {
    const client = await connectListen(server.url, server.key, { ...LIVE, ...query });
    client.socket.send(samplesToBytes(joined(sentence(name), silence(4))));
    const { segments } = await client.until('segments');
    client.socket.close();
    await client.closed;
    return segments[0];
  }
  t.like(await said({ source: 'omi' }, 'slt-1'), { is_user: true, speech_profile_processed: true });
  t.like(await said({ source: 'bee' }, 'rms-1'), { is_user: false, speech_profile_processed: true });
  t.like(await said({ source: 'frame', include_speech_profile: 'false' }, 'slt-1'), {
    is_user: false,
    speech_profile_processed: false,
  });

  const again = await ask(server, 'POST', PROFILE, form([profileRecording('rms'), sentence('rms-1')]));
  t.is(again.body.samples.length, 1, 'it takes the place of the one before');
  t.like(await said({ source: 'plaud' }, 'slt-1'), { is_user: false, speech_profile_processed: true });
  t.is((await ask(server, 'DELETE', PROFILE)).status, 200);
  t.false((await ask(server, 'GET', PROFILE)).body.has_profile);
  t.like(await said({ source: 'limitless' }, 'rms-1'), { is_user: false, speech_profile_processed: false });
});

test('a recording unsuitable as a profile is rejected with the reason, and the previous one stays', async t => {
  const server = await open(t);
  const good = profileRecording('slt');
  t.is((await ask(server, 'POST', PROFILE, form([good]))).status, 200);
  const noise = atRms(-30, whiteNoise(5));
  const refused: [string, Sound[]][] = [
    ['too_short', [joined(silence(1), sentence('slt-1'), silence(1))]],
    ['too_quiet', [silence(12)]],
    ['too_loud', [good.map(sample => Math.max(-32_768, Math.min(32_767, sample * 30)))]],
    ['too_noisy', [mix(atRms(-25, good), noise)]],
    ['several_voices', [joined(good, profileRecording('rms'))]],
    ['too_long', [joined(...Array<Sound>(24).fill(good))]],
  ];
  for (const [type, sounds] of refused) {
    const { status, body } = await ask(server, 'POST', PROFILE, form(sounds));
    t.is(status, 422, type);
    t.deepEqual(
      body.detail.map(each => each.type),
      [type],
    );
  }
  const broken = new FormData();
  broken.append('files', new Blob([new Uint8Array(5000).fill(7)]), 'me.m4a');
  t.is((await ask(server, 'POST', PROFILE, broken)).body.detail[0]?.type, 'unsupported_media');
  t.is((await ask(server, 'POST', PROFILE, new FormData())).status, 422);
  t.true((await ask(server, 'GET', PROFILE)).body.has_profile);
});

test('a recording of a person is learnt beside others, and only of a person that exists', async t => {
  const server = await open(t);
  const { post } = await accountOf(server, 'owner');
  const path = `/v1/people/${(await post('/v1/people', { name: 'Eve' })).id}/samples`;
  const recorded = await ask(server, 'POST', path, form([profileRecording('slt')]));
  t.is(recorded.status, 200, JSON.stringify(recorded.body));
  t.like(recorded.body, [{ conversation_id: null, speaker_id: null, is_usable: true }]);
  const client = await connectListen(server.url, server.key, { ...LIVE, source: 'omi' });
  client.socket.send(samplesToBytes(joined(sentence('slt-1'), silence(4))));
  const segments = client.until('segments', () => client.segments().some(each => each.person_id !== null));
  await t.notThrowsAsync(segments, 'the voice has her name');
  client.socket.close();

  const several = await ask(server, 'POST', path, form([profileRecording('slt'), profileRecording('rms')]));
  t.is(several.body.detail[0]?.type, 'several_voices');
  const none = `/v1/people/${randomUUID()}/samples`;
  t.is((await ask(server, 'POST', none, form([profileRecording('slt')]))).status, 404);
  for (let number = 2; number <= 5; number += 1)
    t.is((await ask(server, 'POST', path, form([profileRecording('slt')]))).status, 200);
  const many = await ask(server, 'POST', path, form([profileRecording('slt')]));
  t.is(many.status, 409);
  t.is(many.body.detail as unknown, "At most 5 recordings of a person's voice: delete one first");
  t.is(((await ask(server, 'GET', path)).body as unknown as unknown[]).length, 5);
  t.false((await ask(server, 'GET', PROFILE)).body.has_profile, 'it is not the voice of the owner');
});

test('without a speaker model, or for a user who has turned voices off, no voice print is made', async t => {
  const none = await openServer(t, { stt: ['prompt'], plugins: { prompt: PROMPT } });
  t.is((await ask(none, 'POST', PROFILE, form([profileRecording('slt')]))).status, 503);
  const server = await open(t);
  const { token } = await accountOf(server, 'owner');
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const body = '{"label_voices":false}';
  await fetch(`${server.url}/v1/users/speech-settings`, { method: 'PATCH', headers, body });
  t.is((await ask(server, 'POST', PROFILE, form([profileRecording('slt')]))).status, 409);
});

test('the command line records, shows and deletes a voice; a sample is deleted by its id', async t => {
  const server = await open(t);
  const file = join(server.dataDir, 'me.wav');
  await writeFile(file, encodeWav(profileRecording('rms')));
  const voice = (...args: string[]) => command(['voice', ...args], { EARSHOT_DATA_DIR: server.dataDir });
  t.regex((await voice('show', 'owner')).stdout, /not known: .*voice record owner/);
  t.regex((await voice('record', 'owner', file)).stdout, /^The voice of owner is now known, from 1\d\.\d s/);
  t.regex((await voice('show', 'owner')).stdout, /recorded +yes/);
  const [sample] = (await ask(server, 'GET', '/v1/people/user/samples'))
    .body as unknown as Profile['samples'];
  t.is((await ask(server, 'DELETE', `/v1/voice-samples/${sample?.id}`)).status, 200);
  t.is((await ask(server, 'DELETE', `/v1/voice-samples/${sample?.id}`)).status, 404);
  t.deepEqual(JSON.parse((await voice('remove', 'owner', '--json')).stdout), { removed: false });
  t.regex((await voice('record', 'owner', '/nowhere.wav')).stderr, /\/nowhere\.wav cannot be read/);
});
