import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { samplesToBytes } from '../../../../core/audio/pcm.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { openServer, type TestServer } from '../../../helpers/services.ts';
import { join as joined, silence } from '../../../helpers/sound.ts';
import { patient, sentence, type VoiceName, voiceModelOptions } from '../../../helpers/voices.ts';

interface Assignment {
  id: string;
  state: string;
  person_id: string | null;
  conversations: number;
  segments: number;
}
type Names = { speaker_id: number; is_user: boolean; person_id: string | null };

async function open(t: ExecutionContext) {
  const prompt = { use: join(import.meta.dirname, '../../../fixtures/plugins/prompt-stt.ts') };
  const plugins = { prompt, 'sherpa-speakers': await voiceModelOptions(t) };
  const overrides = { stt: ['prompt'], speakers: ['sherpa-speakers'], plugins };
  const server = await openServer(t, overrides, { clock: patient });
  const account = await accountOf(server, 'owner');
  const put = async (method: string, path: string, body?: object) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { Authorization: `Bearer ${account.token}`, 'Content-Type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as Assignment };
  };
  return { server, put, ...account };
}

/** Creates a conversation with these voices and returns its id. */
async function talk({ url, key }: TestServer, source: string, ...names: VoiceName[]): Promise<string> {
  const client = await connectListen(url, key, { codec: 'pcm16', sample_rate: 16_000, source });
  for (const name of names) client.socket.send(samplesToBytes(joined(sentence(name), silence(4))));
  await client.until('segments', () => client.segments().length === names.length);
  const { conversation_id: id } = await client.until('conversation_session');
  client.socket.send(JSON.stringify({ type: 'finish_conversation' }));
  await client.until('conversation_finished');
  client.socket.close();
  return id;
}

test('a job names a voice in all recent conversations, and the assignment can be undone', async t => {
  const { server, post, get, put } = await open(t);
  const first = await talk(server, 'omi', 'slt-1', 'rms-1');
  const second = await talk(server, 'bee', 'rms-2', 'slt-2');
  const third = await talk(server, 'frame', 'awb-1', 'slt-1');
  const names = async (id: string) => {
    const found = await get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
    const segments = found.transcript_segments as Names[];
    return segments.map(({ is_user, person_id }) => (is_user ? 'user' : person_id));
  };
  const eve = (await post('/v1/people', { name: 'Eve' })).id as string;
  const bob = (await post('/v1/people', { name: 'Bob' })).id as string;
  // The owner's own assignment in the third conversation is kept.
  t.is((await put('POST', `/v1/conversations/${third}/speakers/1`, { person_id: bob })).body.segments, 1);

  const began = await put('POST', `/v1/conversations/${first}/speakers/0`, { person_id: eve, days: 30 });
  t.is(began.status, 200);
  t.like(began.body, { person_id: eve, state: 'running' });
  const look = async () => (await get(`/v1/voice-assignments/${began.body.id}`)) as unknown as Assignment;
  const done = await eventually(look, ({ state }) => state === 'done');
  t.like(done, { conversations: 2, segments: 2 });
  t.deepEqual(await names(first), [eve, null]);
  t.deepEqual(await names(second), [null, eve]);
  t.deepEqual(await names(third), [null, bob]);
  const samples = async (person: string) => (await get(`/v1/people/${person}/samples`)).length;
  t.is(await samples(eve), 1, 'learnt from what was said, not from what was found');

  t.like((await put('POST', `/v1/voice-assignments/${done.id}/undo`)).body, { state: 'undone' });
  t.like((await put('POST', `/v1/voice-assignments/${done.id}/undo`)).body, { state: 'undone' });
  t.deepEqual(await names(first), [null, null]);
  t.deepEqual(await names(second), [null, null]);
  t.deepEqual(await names(third), [null, bob]);
  t.is(await samples(eve), 0, 'nothing is learnt from what was taken back');
  t.is((await get('/v1/voice-assignments')).length, 2);

  // Merges two people.
  await put('POST', `/v1/conversations/${first}/speakers/0`, { person_id: eve });
  t.is((await put('POST', `/v1/people/${bob}/merge`, { other_person_id: eve })).status, 200);
  t.deepEqual(await names(first), [bob, null]);
  t.is(await samples(bob), 2);
  t.deepEqual(
    (await get('/v1/people')).map(({ id }) => id),
    [bob],
  );
  t.is((await put('POST', `/v1/people/${bob}/merge`, { other_person_id: bob })).status, 422);

  // Deleting a person deletes the voice too.
  t.is((await put('DELETE', `/v1/people/${bob}`)).status, 200);
  t.deepEqual(await names(third), [null, null]);
  t.is((await put('GET', `/v1/people/${bob}/samples`)).status, 404);
});

test('an unknown voice is not found elsewhere, and undoing an assignment also covers later segments', async t => {
  const { server, put, get } = await open(t);
  const client = await connectListen(server.url, server.key, { codec: 'pcm16', sample_rate: 16_000 });
  const say = async (name: VoiceName, count: number) => {
    client.socket.send(samplesToBytes(joined(sentence(name), silence(4))));
    await client.until('segments', () => client.segments().length === count);
  };
  await say('slt-1', 1);
  const { conversation_id: id } = await client.until('conversation_session');
  t.is((await put('POST', `/v1/conversations/${id}/speakers/7`, { person_id: 'user', days: 3 })).status, 409);
  t.deepEqual(await get('/v1/voice-assignments'), [] as never, 'nothing of it was done');
  const { body } = await put('POST', `/v1/conversations/${id}/speakers/0`, { person_id: 'user' });
  await say('slt-2', 2);
  t.true(client.segments().every(({ is_user: isUser }) => isUser) || client.segments()[1]?.is_user);
  await put('POST', `/v1/voice-assignments/${body.id}/undo`);
  const found = await get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  t.deepEqual(
    (found.transcript_segments as Names[]).map(({ is_user: isUser }) => isUser),
    [false, false],
  );
  client.socket.close();
});
