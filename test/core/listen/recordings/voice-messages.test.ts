import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { encodeWav, samplesToBytes } from '../../../../core/audio/pcm.ts';
import { packetsOf } from '../../../../core/cli/stream/recording.ts';
import { accountOf } from '../../../helpers/accounts.ts';
import { say as answer, startChatServer } from '../../../helpers/chat-server.ts';
import { countingStt, openServer, type TestServer } from '../../../helpers/services.ts';
import { join as joined, random, silence, speech } from '../../../helpers/sound.ts';

const RECORDINGS = join(import.meta.dirname, '../../../fixtures/recordings');
const ROUTE = '/v2/voice-message/transcribe';
const SAID = joined(silence(0.5), speech('budget'), silence(1));

interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

function form(files: Record<string, Uint8Array>, fields: Record<string, string> = {}): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  for (const [name, bytes] of Object.entries(files))
    data.append('files', new Blob([bytes as Uint8Array<ArrayBuffer>]), name);
  return data;
}

async function send(
  { url, key }: Pick<TestServer, 'url' | 'key'>,
  body: FormData | Uint8Array<ArrayBuffer> | string | null,
  { query = '', type }: { query?: string; type?: string } = {},
): Promise<Answer> {
  const response = await fetch(`${url}${ROUTE}?${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, ...(type ? { 'Content-Type': type } : {}) },
    body,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer['body'],
  };
}

const RAW = 'application/octet-stream';
const tenths = ({ body }: Answer) => Number.parseInt(String(body.transcript), 10);
const leftovers = ({ dataDir }: TestServer) => readdir(join(dataDir, 'uploads'));

const FAILURE_KEYS = ['error', 'message', 'outcome', 'provider', 'retryable'];

/** Behaviour of the recogniser, and the result that both routes report. */
const FAILURES = [
  ['mute', 502, 'stt_empty_unexpected', 'empty_unexpected', true],
  ['timeout', 504, 'stt_timeout', 'timeout', true],
  ['upstream_error', 502, 'stt_upstream_error', 'upstream_error', true],
  ['config_error', 503, 'stt_provider_configuration_error', 'config_error', false],
] as const;

/** A server with a recogniser whose behaviour the test sets. */
async function moodyServer(t: ExecutionContext) {
  const mood = join(tmpdir(), `earshot-mood-${randomUUID()}`);
  await writeFile(mood, 'well');
  t.teardown(() => rm(mood, { force: true }));
  const use = join(import.meta.dirname, '../../../fixtures/plugins/moody-stt.ts');
  const server = await openServer(t, { stt: ['moody'], plugins: { moody: { use, mood } } });
  async function become(word: string) {
    await writeFile(`${mood}.next`, word);
    await rename(`${mood}.next`, mood); // written atomically
  }
  return { server, become };
}

test('a recording is transcribed in every format that phones use', async t => {
  const server = await openServer(t, countingStt());
  for (const file of await readdir(RECORDINGS)) {
    if (file === 'umbrella-vorbis.ogg') continue;
    const answer = await send(
      server,
      form({ [file]: await readFile(join(RECORDINGS, file)) }, { language: 'en' }),
    );
    t.is(answer.status, 200, `${file}: ${JSON.stringify(answer.body)}`);
    const { transcript, ...rest } = answer.body;
    t.deepEqual(
      rest,
      { outcome: 'success', stt_provider: 'counting', stt_model: null, language: 'en' },
      file,
    );
    t.true(tenths(answer) >= 18 && tenths(answer) <= 25, `${file}: ${transcript}, of 2.4 s`);
  }
  t.deepEqual(await leftovers(server), []);
});

test('WAV files, raw samples and packets of a wearable are accepted unchanged, several at once', async t => {
  const server = await openServer(t, countingStt());
  const wav = encodeWav(SAID);
  const one = await send(server, form({ 'talk.wav': wav }));
  const length = tenths(one);
  t.true(length > 30, JSON.stringify(one.body));

  const endless = Buffer.from(wav);
  endless.writeUInt32LE(0, 40); // a recorder that lost power
  t.is(tenths(await send(server, form({ 'cut.wav': endless }))), length);

  const pcm = samplesToBytes(SAID);
  t.is(tenths(await send(server, pcm, { type: RAW, query: 'sample_rate=16000&channels=1' })), length);
  t.is(tenths(await send(server, form({ 'note_pcm16_16000_1.bin': pcm }))), length);

  const packets = [...packetsOf({ samples: SAID, channels: 1, sampleRate: 16_000 }, 'opus_fs320')].map(
    ({ bytes }) => Buffer.concat([Buffer.from(Uint32Array.of(bytes.length).buffer), bytes]),
  );
  const opus = await send(
    server,
    form({ 'audio_opus_16000_1_fs320_1767225600.bin': Buffer.concat(packets) }),
  );
  t.true(Math.abs(tenths(opus) - length) <= 2, JSON.stringify(opus.body));

  const several = await send(server, form({ 'a.wav': wav, 'b.wav': encodeWav(silence(1)), 'c.wav': wav }));
  t.is(several.body.transcript, `${one.body.transcript} ${one.body.transcript}`);
});

test('silence is a result, and every failure has its outcome, its status, and exactly five fields', async t => {
  const { server, become } = await moodyServer(t);
  const quiet = await send(server, samplesToBytes(silence(2)), { type: RAW });
  t.is(quiet.status, 200);
  t.like(quiet.body, { outcome: 'expected_silence', transcript: '', stt_provider: 'moody' });

  const said = samplesToBytes(SAID);
  t.like((await send(server, said, { type: RAW })).body, { outcome: 'success', transcript: 'words' });

  for (const [mood, status, error, outcome, retryable] of FAILURES) {
    await become(mood);
    const answer = await send(server, said, { type: RAW });
    t.is(answer.status, status, mood);
    const { message, ...rest } = answer.body;
    t.deepEqual(rest, { error, outcome, provider: 'moody', retryable }, mood);
    t.is(typeof message, 'string');
  }
});

test('undecodable data, and data that the route does not accept, is invalid input', async t => {
  const server = await openServer(t, countingStt());
  const noise = Buffer.from(Uint8Array.from({ length: 5000 }, () => random(7)() * 255));
  const broken = Buffer.from(await readFile(join(RECORDINGS, 'umbrella.m4a'))).fill(0, 40);
  const pcm = samplesToBytes(silence(1));
  const wrong: [string, () => Promise<Answer>, RegExp][] = [
    ['no body', () => send(server, null), /multipart\/form-data/],
    ['an empty body', () => send(server, '', { type: RAW }), /no recording/i],
    ['a form without files', () => send(server, form({}, { language: 'en' })), /no recording/i],
    ['noise', () => send(server, form({ 'noise.m4a': noise })), /noise\.m4a/],
    ['a damaged file', () => send(server, form({ 'broken.m4a': broken })), /broken\.m4a/],
    [
      'a header only',
      () => send(server, form({ 'head.wav': encodeWav(silence(0)).subarray(0, 20) })),
      /head\.wav/,
    ],
    ['text', () => send(server, '{}', { type: 'application/json' }), /multipart\/form-data/],
    ['no boundary', () => send(server, 'x', { type: 'multipart/form-data' }), /boundary|form/],
    [
      'half a form',
      () => send(server, '--x\r\nContent-', { type: 'multipart/form-data; boundary=x' }),
      /form/,
    ],
    ['a rate', () => send(server, pcm, { type: RAW, query: 'sample_rate=7999' }), /sample_rate/],
    ['channels', () => send(server, pcm, { type: RAW, query: 'channels=3' }), /channels/],
    ['a language', () => send(server, pcm, { type: RAW, query: 'language=qq' }), /language/],
  ];
  for (const [what, asked, message] of wrong) {
    const { status, body } = await asked();
    t.is(status, 400, `${what}: ${JSON.stringify(body)}`);
    t.deepEqual(Object.keys(body).sort(), FAILURE_KEYS, what);
    t.like(
      body,
      { error: 'stt_invalid_input', outcome: 'invalid_input', provider: null, retryable: false },
      what,
    );
    t.regex(String(body.message), message, what);
  }
  t.deepEqual(await leftovers(server), []);
});

test('a language without a recogniser, and the lack of any recogniser, are configuration errors', async t => {
  const server = await openServer(t, countingStt());
  const pcm = samplesToBytes(silence(1));
  const japanese = await send(server, pcm, { type: RAW, query: 'language=ja' });
  t.is(japanese.status, 503);
  t.like(japanese.body, { outcome: 'config_error', retryable: false });
  const deaf = await openServer(t, { stt: [] });
  const answer = await send(deaf, pcm, { type: RAW });
  t.is(answer.status, 503);
  t.like(answer.body, { error: 'stt_provider_configuration_error', provider: null });
});

test('an invalid credential, and a body that is too large, are refused as on other routes', async t => {
  const server = await openServer(t, countingStt());
  const pcm = samplesToBytes(silence(1));
  t.deepEqual(Object.keys((await send({ ...server, key: 'nobody' }, pcm, { type: RAW })).body), ['detail']);
  const { key } = await server.app.commands.key({ user: 'owner', scopes: ['memories:read'] });
  t.is((await send({ ...server, key }, pcm, { type: RAW })).status, 403);

  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; text: string }>();
  const asked = request(`${server.url}${ROUTE}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${server.key}`,
      'Content-Type': RAW,
      'Content-Length': 51 * 1024 * 1024,
    },
  });
  asked.on('error', reject).on('response', async answer => {
    let text = '';
    for await (const piece of answer) text += piece;
    resolve({ status: answer.statusCode, text });
  });
  asked.write('first bytes of many');
  const { status, text } = await promise;
  asked.destroy();
  t.is(status, 413);
  t.deepEqual(Object.keys(JSON.parse(text)), ['detail']);
});

test.serial('other formats are passed to ffmpeg if it is installed', async t => {
  const dir = join(tmpdir(), `earshot-ffmpeg-${randomUUID()}`);
  const server = await openServer(t, countingStt());
  await mkdir(dir);
  const { PATH } = process.env;
  t.teardown(async () => {
    process.env.PATH = PATH;
    await rm(dir, { recursive: true });
  });
  process.env.PATH = dir;
  const vorbis = form({ 'talk.ogg': await readFile(join(RECORDINGS, 'umbrella-vorbis.ogg')) });
  const without = await send(server, vorbis);
  t.is(without.status, 400);
  t.regex(String(without.body.message), /vorbis.*need ffmpeg/);
  await writeFile(join(dir, 'samples'), samplesToBytes(SAID));
  await writeFile(join(dir, 'ffmpeg'), `#!/bin/sh\n/bin/cat ${dir}/samples\n`, { mode: 0o755 });
  t.true(tenths(await send(server, vorbis)) > 30);
});

test('a client that disconnects cancels the work, and leaves no file', async t => {
  const server = await openServer(t, countingStt({ behaviour: 'hangs' }));
  const gone = new AbortController();
  const asked = fetch(`${server.url}${ROUTE}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${server.key}`, 'Content-Type': RAW },
    body: samplesToBytes(SAID),
    signal: gone.signal,
  });
  const until = async (holds: (files: string[]) => boolean) => {
    while (!holds(await leftovers(server).catch(() => [])))
      await new Promise(resolve => setTimeout(resolve, 20));
  };
  await until(files => files.length === 1);
  gone.abort();
  await t.throwsAsync(asked);
  await until(files => files.length === 0);
  t.deepEqual(await leftovers(server), []);
});

test('a spoken question is answered from conversations, frame by frame, and stored in the chat', async t => {
  const { server, become } = await moodyServer(t);
  const owner = await accountOf(server, 'owner');
  await owner.post('/v1/dev/user/conversations/from-segments', {
    transcript_segments: [{ text: 'Many words were lost in the harbour.', start: 0, end: 4 }],
  });
  const send = async (body: Uint8Array<ArrayBuffer>, query = '') => {
    const response = await fetch(`${server.url}/v2/voice-messages?${query}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${owner.token}`, 'Content-Type': RAW },
      body,
    });
    return {
      status: response.status,
      text: await response.text(),
      type: response.headers.get('content-type'),
    };
  };
  const framesOf = (text: string) =>
    text.split('\n\n').filter(frame => frame !== '' && !frame.startsWith(':'));
  const decode = (frame = '') => JSON.parse(Buffer.from(frame.replace(/^\w+: /, ''), 'base64').toString());

  const said = samplesToBytes(SAID);
  const { status, type, text } = await send(said);
  t.is(status, 200);
  t.is(type, 'text/event-stream; charset=utf-8');
  const frames = framesOf(text);
  t.like(decode(frames[0]), { text: 'words', sender: 'human', type: 'text' });
  t.true(frames[0]?.startsWith('message: ') && frames.at(-1)?.startsWith('done: '));
  t.true(frames.slice(1, -1).every(frame => frame.startsWith('data: ') && !frame.includes('\n')));
  const done = decode(frames.at(-1));
  t.like(done, { sender: 'ai', type: 'text' });
  t.true(
    frames.some(frame => frame.startsWith('data: ') && frame.includes('harbour')),
    text,
  );
  t.is(done.sources[0].type, 'conversation');
  t.deepEqual(
    (await owner.get('/v2/messages')).map(({ text }) => text),
    [done.text, 'words'],
  );

  t.deepEqual(framesOf((await send(samplesToBytes(silence(2)))).text), [], 'silence is an empty stream');
  const failing = async (body: Uint8Array<ArrayBuffer>) => {
    const { status, text } = await send(body);
    t.is(status, 200, 'the stream had begun');
    const failed = framesOf(text);
    t.is(failed.length, 1, 'one last frame, and nothing before it');
    const { message, ...failure } = JSON.parse(failed[0]?.replace(/^error: /, '') ?? '');
    t.is(typeof message, 'string');
    return failure;
  };
  for (const [mood, , error, outcome, retryable] of FAILURES) {
    await become(mood);
    t.deepEqual(await failing(said), { error, outcome, provider: 'moody', retryable }, mood);
  }
  await become('well');
  const broken = Buffer.from(await readFile(join(RECORDINGS, 'umbrella.m4a'))).fill(0, 40);
  t.deepEqual(await failing(broken), {
    ...{ error: 'stt_invalid_input', outcome: 'invalid_input', provider: null, retryable: false },
  });
  const refused = await send(said, 'channels=3');
  t.is(refused.status, 400);
  t.like(JSON.parse(refused.text), { error: 'stt_invalid_input', outcome: 'invalid_input' });
  t.deepEqual(Object.keys(JSON.parse(refused.text)).sort(), FAILURE_KEYS);
  t.deepEqual(await leftovers(server), []);
});

test('a language model streams the answer to a spoken question from conversations and memories, with sources', async t => {
  const chat = await startChatServer();
  t.teardown(chat.close);
  const { plugins } = countingStt();
  const server = await openServer(t, {
    ...countingStt(),
    llm: ['openai-llm'],
    understanding: ['plain-understanding'],
    plugins: { ...plugins, 'openai-llm': { baseUrl: chat.baseUrl, model: 'llama3.2' } },
  });
  const owner = await accountOf(server, 'owner');
  await owner.post('/v1/dev/user/memories', { content: 'Some tenths of a second decide a race.' });
  const conversation = await owner.post('/v1/dev/user/conversations/from-segments', {
    transcript_segments: [{ text: 'The race was lost by three tenths.', start: 0, end: 4 }],
  });
  chat.chat = ({ messages }, response) => {
    const given = String(messages.at(-1)?.content);
    const { sources = [] }: { sources?: { number: number; text: string }[] } = JSON.parse(given);
    const [race] = sources.filter(({ text }) => text.includes('lost'));
    t.true(
      sources.some(({ text }) => text.includes('decide a race')),
      'memories are given, too',
    );
    answer(response, `SOURCES: ${race?.number}\nBy three tenths [${race?.number}].\nA pity.`);
  };
  const said = encodeWav(SAID);
  const response = await fetch(`${server.url}/v2/voice-messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${owner.token}` },
    body: form({ 'one.wav': said, 'two.wav': said }, { language: 'en' }),
  });
  const frames = (await response.text())
    .split('\n\n')
    .filter(frame => frame !== '' && !frame.startsWith(':'));
  const decode = (frame = '') => JSON.parse(Buffer.from(frame.replace(/^\w+: /, ''), 'base64').toString());
  t.regex(decode(frames[0]).text, /^\d+ tenths.* \d+ tenths/, 'the words of both files');
  const pieces = frames.slice(1, -1);
  t.true(pieces.length > 1, 'in pieces');
  t.is(pieces.map(frame => frame.replace(/^data: /, '')).join(''), 'By three tenths [1].__CRLF__A pity.');
  t.like(decode(frames.at(-1)), {
    ...{ sender: 'ai', model: 'llama3.2', text: 'By three tenths [1].\nA pity.' },
    sources: [{ type: 'conversation', id: conversation.id }],
  });
});
