import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { encodeWav, SAMPLE_RATE, samplesToBytes } from '../../../../core/audio/pcm.ts';
import { callControl, controlPath } from '../../../../core/control/control.ts';
import { timeInName } from '../../../../core/domain/recordings/recorded-at.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { command, earshot } from '../../../helpers/cli.ts';
import { coreProcess } from '../../../helpers/core-process.ts';
import { temporaryDirectory } from '../../../helpers/domain.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { connectListen } from '../../../helpers/listen-client.ts';
import { failingStt, openServer, prepareData, type TestServer } from '../../../helpers/services.ts';
import { join as joined, type Sound, silence } from '../../../helpers/sound.ts';
import { patient, sentence, voiceModelOptions } from '../../../helpers/voices.ts';

const FROM_AUDIO = '/v1/conversations/from-audio';
const BEGAN = Date.parse('2026-03-01T09:00:00Z');
const RECORDINGS = join(import.meta.dirname, '../../../fixtures/recordings');

/** Returns one piece per utterance, whose text is its start and end. */
const prompt = (options = {}) => ({
  stt: ['prompt'],
  plugins: {
    prompt: { use: join(import.meta.dirname, '../../../fixtures/plugins/prompt-stt.ts'), ...options },
  },
});

interface Recording {
  id: string;
  state: string;
  progress: number;
  error: string | null;
  started_at: string | null;
  duration_seconds: number | null;
  conversation_ids: string[];
}
interface Conversation {
  id: string;
  started_at: string;
  finished_at: string;
  status: string;
  source: string;
  transcript_segments: { text: string; start: number; end: number; speaker: string }[];
}

const of = async (server: { url: string }, token: string) => {
  const headers = { Authorization: `Bearer ${token}` };
  return {
    async send(files: Record<string, Uint8Array>, query = '') {
      const body = new FormData();
      for (const [name, bytes] of Object.entries(files))
        body.append('files', new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
      const response = await fetch(`${server.url}${FROM_AUDIO}?${query}`, { method: 'POST', headers, body });
      return { status: response.status, body: (await response.json()) as Recording[] };
    },
    async ask<T>(method: string, path: string) {
      const response = await fetch(server.url + path, { method, headers });
      return { status: response.status, body: (await response.json()) as T };
    },
    async until(id: string, state: string) {
      const path = `${server.url}/v1/recordings/${id}`;
      const look = async () => (await (await fetch(path, { headers })).json()) as Recording;
      return eventually(look, found => found.state === state);
    },
    /** Oldest first. */
    async conversations() {
      const path = `${server.url}/v1/dev/user/conversations?include_transcript=true&limit=1000`;
      const all = (await (await fetch(path, { headers })).json()) as Conversation[];
      return all.sort((a, b) => Date.parse(a.started_at) - Date.parse(b.started_at));
    },
  };
};
const owner = async (server: TestServer) => of(server, (await accountOf(server, 'owner')).token);

const seconds = (from: string) => (Date.parse(from) - BEGAN) / 1000;
const near = (t: ExecutionContext, value: number, wanted: number) =>
  t.true(Math.abs(value - wanted) < 1.5, `${value}, not ${wanted}`);

test('a recording becomes conversations, split at long pauses, with the times at which they were spoken', async t => {
  const speakers = { 'sherpa-speakers': await voiceModelOptions(t) };
  const { stt, plugins } = prompt();
  const server = await openServer(
    t,
    { stt, speakers: ['sherpa-speakers'], plugins: { ...plugins, ...speakers } },
    { clock: patient },
  );
  const user = await owner(server);
  const sound = joined(
    ...[silence(5), sentence('slt-1'), silence(30), sentence('rms-1'), silence(200)],
    ...[sentence('awb-1'), silence(10)],
  );
  const query = new URLSearchParams({ started_at: new Date(BEGAN).toISOString(), source: 'phone' });
  const { status, body } = await user.send({ 'memo.wav': encodeWav(sound) }, String(query));
  t.is(status, 200, JSON.stringify(body));
  t.like(body, [{ name: 'memo.wav', error: null, started_at: new Date(BEGAN).toISOString() }]);
  const done = await user.until(body[0]?.id ?? '', 'done');
  t.is(done.progress, 1);
  near(t, done.duration_seconds ?? 0, sound.length / SAMPLE_RATE);
  const [first, second, ...more] = await eventually(user.conversations, found => found.length === 2);
  t.deepEqual(more, []);
  t.deepEqual(done.conversation_ids, [first?.id, second?.id] as string[]);
  t.like(first, { status: 'completed', source: 'phone' });
  const beforeSecond = (sound.length - sentence('awb-1').length) / SAMPLE_RATE - 10;
  near(t, seconds(first?.started_at ?? ''), 5);
  near(t, seconds(second?.started_at ?? ''), beforeSecond);
  t.deepEqual(
    first?.transcript_segments.map(({ speaker }) => speaker),
    ['SPEAKER_00', 'SPEAKER_01'],
  );
  near(t, first?.transcript_segments[1]?.start ?? 0, 30 + sentence('slt-1').length / SAMPLE_RATE);
  t.deepEqual(await readdir(join(server.dataDir, 'recordings', server.userId)), []);
  t.deepEqual(
    (await user.ask<Recording[]>('GET', '/v1/recordings')).body.map(({ id }) => id),
    [done.id],
  );
});

test('if the server is killed repeatedly during a recording, everything is stored once', async t => {
  const turns = Array.from({ length: 24 }, () => [sentence('slt-1'), silence(4)]).flat();
  const core = await coreProcess(t, prompt({ answerMs: 120 }));
  const made = await callControl(controlPath(core.dataDir), 'token', { user: 'owner' });
  if (made === 'absent') throw new Error('the server does not answer');
  const user = await of(core, made.token);
  const { body } = await user.send(
    { 'day.wav': encodeWav(joined(...turns)) },
    `started_at=${new Date(BEGAN).toISOString()}`,
  );
  const id = body[0]?.id ?? '';
  const heard = async () => {
    const found = (await user.ask<Recording>('GET', `/v1/recordings/${id}`)).body.conversation_ids[0];
    if (found === undefined) return 0;
    const path = `/v1/dev/user/conversations/${found}?include_transcript=true`;
    return (await user.ask<Conversation>('GET', path)).body.transcript_segments.length;
  };
  for (const least of [3, 9]) {
    await eventually(heard, count => count >= least);
    await core.kill();
    await core.start();
  }
  await user.until(id, 'done');
  const [conversation, ...more] = await eventually(user.conversations, found => found.length > 0);
  t.deepEqual(more, []);
  const spans = (conversation?.transcript_segments ?? []).flatMap(({ text }) =>
    text.split(' ').map(span => span.split(':').map(Number) as [number, number]),
  );
  t.true(spans.length >= 24, `${spans.length}`);
  for (const [i, [start]] of spans.entries()) t.true(start >= (spans[i - 1]?.[1] ?? 0), 'nothing twice');
  const spoken = spans.reduce((sum, [start, end]) => sum + end - start, 0) / SAMPLE_RATE;
  t.true(spoken > (24 * sentence('slt-1').length) / SAMPLE_RATE - 5, `${spoken} s`);
  for (const folder of await readdir(join(core.dataDir, 'recordings')))
    t.deepEqual(await readdir(join(core.dataDir, 'recordings', folder)), []);
});

test('an undecodable file fails with the reason, a damaged one is read as far as possible, and phone formats are accepted', async t => {
  const server = await openServer(t, prompt());
  const user = await owner(server);
  const flac = await readFile(join(RECORDINGS, 'umbrella.flac'));
  const files = { 'noise.m4a': new Uint8Array(5000).fill(7), '2026-03-01_09-00-00.flac': flac };
  const { body } = await user.send(files);
  const [noise, good] = body.map(({ id }) => id);
  t.regex((await user.until(noise ?? '', 'failed')).error ?? '', /noise\.m4a/);
  const done = await user.until(good ?? '', 'done');
  t.is(Date.parse(done.started_at ?? ''), new Date(2026, 2, 1, 9).getTime());
  t.is(done.conversation_ids.length, 1);

  const broken = Buffer.from(await readFile(join(RECORDINGS, 'umbrella.m4a')));
  const cut = await user.send({ 'cut.m4a': broken.subarray(0, broken.length - 3000) });
  const found = await eventually(
    async () => (await user.ask<Recording>('GET', `/v1/recordings/${cut.body[0]?.id}`)).body,
    ({ state }) => state === 'done' || state === 'failed',
  );
  t.truthy(found.error ?? found.conversation_ids.length, JSON.stringify(found));
});

test('errors in a request are reported at once, and nobody sees recordings of others', async t => {
  const server = await openServer(t, prompt());
  const user = await owner(server);
  const wav = encodeWav(joined(silence(1), sentence('slt-1'), silence(1)));
  const future = new Date(Date.now() + 3_600_000).toISOString();
  for (const query of ['silence=1', 'language=klingonish', `started_at=${future}`, 'started_at=soon'])
    t.is((await user.send({ 'a.wav': wav }, query)).status, 422, query);
  const both = { 'a.wav': wav, 'b.wav': wav };
  t.is((await user.send(both, `started_at=${new Date(BEGAN).toISOString()}`)).status, 422);
  t.is((await user.send({})).status, 422);
  await server.app.commands['user.add']({ name: 'ben' });
  const ben = await of(server, (await accountOf(server, 'ben')).token);
  const id = (await user.send({ 'a.wav': wav })).body[0]?.id;
  t.is((await ben.ask('GET', `/v1/recordings/${id}`)).status, 404);
  t.is((await ben.ask('DELETE', `/v1/recordings/${id}`)).status, 404);
  t.deepEqual((await ben.ask('GET', '/v1/recordings')).body, []);
  await user.until(id ?? '', 'done');
});

test('deleting a recording stops it, keeps its text and leaves no file; live speech does not wait for it', async t => {
  const server = await openServer(t, { ...prompt({ answerMs: 300 }), rateLimits: { transcript: 60_000 } });
  const user = await owner(server);
  const turns: Sound[] = Array.from({ length: 40 }, () => [sentence('slt-1'), silence(4)]).flat();
  const id = (await user.send({ 'long.wav': encodeWav(joined(...turns)) })).body[0]?.id ?? '';
  await eventually(
    async () => (await user.ask<Recording>('GET', `/v1/recordings/${id}`)).body,
    ({ conversation_ids: ids }) => ids.length > 0,
  );
  const live = await connectListen(server.url, server.key, { codec: 'pcm16', sample_rate: 16_000 });
  live.socket.send(samplesToBytes(joined(sentence('rms-1'), silence(2))));
  t.is((await live.until('segments')).segments.length, 1);
  live.socket.close();
  t.not((await user.ask<Recording>('GET', `/v1/recordings/${id}`)).body.state, 'done');
  t.is((await user.ask('DELETE', `/v1/recordings/${id}`)).status, 200);
  t.is((await user.ask('GET', `/v1/recordings/${id}`)).status, 404);
  t.deepEqual(await readdir(join(server.dataDir, 'recordings', server.userId)), []);
  const kept = await eventually(user.conversations, found => found.length > 0);
  t.true((kept[0]?.transcript_segments.length ?? 0) > 0);
});

test('a recording waits for an unavailable recogniser', async t => {
  const outage = await failingStt(t);
  await outage.begin();
  const { stt, plugins } = outage;
  const server = await openServer(t, { stt, plugins });
  const user = await owner(server);
  const id =
    (await user.send({ 'a.wav': encodeWav(joined(sentence('slt-1'), silence(1))) })).body[0]?.id ?? '';
  await user.until(id, 'running');
  await outage.end();
  t.is((await user.until(id, 'done')).error, null);
});

test('import-audio hands files to the running server, or stores them for the next start', async t => {
  const dataDir = await temporaryDirectory(t);
  await prepareData(dataDir);
  const file = join(dataDir, 'walk.wav');
  await writeFile(file, encodeWav(joined(silence(1), sentence('slt-1'), silence(2))));
  const ended = new Date('2026-03-01T10:00:00Z');
  await utimes(file, ended, ended);
  const env = { EARSHOT_DATA_DIR: dataDir };
  await command(['user', 'add', 'ada'], env);
  const left = await command(['import-audio', file, '--user', 'ada'], env);
  t.regex(left.stdout, /walk\.wav +waiting[\s\S]*No server is running/);

  const server = await openServer(t, { ...prompt(), dataDir });
  const ada = await of(server, (await accountOf(server, 'ada')).token);
  const [first] = (await ada.ask<Recording[]>('GET', '/v1/recordings')).body;
  const done = await ada.until(first?.id ?? '', 'done');
  const { size } = await stat(file);
  const began = ended.getTime() - Math.round((size - 44) / 32);
  t.true(Math.abs(Date.parse(done.started_at ?? '') - began) < 5, 'it ended when the file was last changed');
  const again = await earshot(
    ['import-audio', file, '--user', 'ada', '--started-at', '2026-03-01T07:00Z', '--json'],
    env,
  );
  t.like(JSON.parse(again.stdout), { recordings: [{ state: 'done', conversations: 1 }] });
  t.regex((await command(['import-audio', '/nowhere.wav', '--user', 'ada'], env)).stderr, /cannot be read/);
  t.regex((await command(['import-audio', file, '--user', 'eve'], env)).stderr, /eve/);
});

test('the recording time is read from the file name', t => {
  const now = Date.parse('2026-11-01T00:00:00Z');
  const at = new Date(2026, 2, 1, 9, 5, 7).getTime();
  for (const name of [
    '2026-03-01_09-05-07.m4a',
    'Recording 20260301_090507.wav',
    '2026-03-01 09.05.07.mp3',
    'R20260301-090507.WAV',
    '2026-03-01T09:05:07.ogg',
  ])
    t.is(timeInName(name, now), at, name);
  t.is(timeInName('audio_opus_16000_1_fs320_1767225600.bin', now), 1_767_225_600_000);
  for (const name of ['memo.m4a', '2027-03-01_09-05-07.wav', '1234.wav', '2026-13-01_09-05-07.wav', ''])
    t.is(timeInName(name, now), null, name);
});
