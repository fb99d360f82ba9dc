import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { AppError, type ErrorCode } from '../../../core/runtime/errors.ts';
import { promptOf } from '../../../plugins/kit/engine/whisper-answer.ts';
import { growingUtterance, sttChecks, utteranceOf } from '../../../plugins/kit/suites/stt.ts';
import openai from '../../../plugins/stt/openai/index.ts';
import { SPEECH } from '../../helpers/known-speech.ts';
import { type OpenAiServer, recognise, reply, startOpenAiServer } from '../../helpers/openai-server.ts';
import { run } from './context.ts';

const never = new AbortController().signal;
const KEY = 'sk-not-to-be-seen';
const [hello] = SPEECH;
const samples = hello?.samples ?? new Int16Array(0);
const FROM = 480_000;

/** The plugin, set up with its own server. */
async function open(t: ExecutionContext, options: Record<string, unknown> = {}) {
  const server = await startOpenAiServer();
  t.teardown(server.close);
  const running = await run(openai, { baseUrl: server.baseUrl, ...options });
  t.teardown(running.stop);
  return { server, running, provider: running.stt };
}

/** One with short time limits, on the same server. */
async function hasty(t: ExecutionContext, { server }: Pick<Awaited<ReturnType<typeof open>>, 'server'>) {
  const running = await run(openai, { baseUrl: server.baseUrl, timeoutMs: 300 });
  t.teardown(running.stop);
  return { provider: running.stt };
}

async function transcribe(
  { provider }: Pick<Awaited<ReturnType<typeof open>>, 'provider'>,
  language = 'en',
  said = samples,
) {
  const session = await provider.open({ language, signal: never });
  const pieces = [];
  for await (const piece of session.transcribe(utteranceOf(said, FROM), never)) pieces.push(piece);
  return pieces;
}

async function failure(t: ExecutionContext, doing: Promise<unknown>): Promise<AppError> {
  const error = await t.throwsAsync(doing, { instanceOf: AppError });
  t.false(error?.message.includes(KEY), error?.message);
  t.false(
    `${error?.message} ${error?.cause}`.includes('the words of the vendor'),
    'neither message nor log quotes them',
  );
  return error ?? new AppError('internal', 'nothing was thrown');
}

for (const responseFormat of ['auto', 'json']) {
  // The protocol sends nothing during speech, so a server cannot fail before the end: that check does not
  // apply.
  for (const check of sttChecks.filter(({ title }) => !title.includes('engine dies'))) {
    test(`openai with ${responseFormat} answers, over a real socket: ${check.title}`, async t => {
      const { provider } = await open(t, { responseFormat });
      await t.notThrowsAsync(check.run({ provider, language: 'en', speech: SPEECH }));
    });
  }
}

test('openai sends the utterance as a WAV file with model, language, prompt and key', async t => {
  const setup = await open(t, { apiKey: KEY, model: 'base', prompt: 'Earshot' });
  await transcribe(setup, 'pt-BR');
  await transcribe(setup, 'multi');

  const [spoken, unknown] = setup.server.asked;
  t.deepEqual(spoken?.fields, {
    model: 'base',
    response_format: 'verbose_json',
    language: 'pt',
    prompt: 'Earshot',
  });
  t.is(spoken?.fileType, 'audio/wav');
  t.is(spoken?.fileName, 'utterance.wav');
  t.deepEqual(spoken?.pcm, Buffer.from(samples.buffer));
  t.false(Object.hasOwn(unknown?.fields ?? {}, 'language'), 'the server finds the language out');
  const { requests } = setup.server;
  t.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/models', '/v1/audio/transcriptions', '/v1/models', '/v1/audio/transcriptions'],
  );
  t.true(requests.every(({ authorization }) => authorization === `Bearer ${KEY}`));
});

test("openai adds the vocabulary to its own prompt, up to Whisper's limit", async t => {
  const setup = await open(t, { prompt: 'A call' });
  const session = await setup.provider.open({
    language: 'en',
    vocabulary: ['Anna', 'Okonkwo'],
    signal: never,
  });
  for await (const _ of session.transcribe(utteranceOf(samples, FROM), never));
  t.is(setup.server.asked.at(-1)?.fields.prompt, 'A call, Anna, Okonkwo.');
  t.is(promptOf([]), '');
  t.is(promptOf(Array.from({ length: 500 }, () => 'abcdefgh')).length, 599, 'whole words alone');
});

test('openai makes a piece of each segment, in order and within the utterance', async t => {
  const setup = await open(t);
  setup.server.transcribe = (_, response) =>
    reply(response, 200, {
      text: 'one two three four',
      language: 'en',
      segments: [
        { text: ' one', start: -1, end: 0.5 },
        { text: ' two\n', start: 0.4, end: 1 },
        { text: ' [BLANK_AUDIO]', start: 1, end: 1.1 },
        { text: ' three', start: 1.2, end: 99 },
        { text: ' four', start: 99, end: 100 },
        { text: ' no times', start: null },
      ],
    });
  const piece = { final: true, language: 'en' };
  t.deepEqual(await transcribe(setup), [
    { ...piece, text: 'one', startSample: FROM, endSample: FROM + 8000 },
    { ...piece, text: 'two', startSample: FROM + 8000, endSample: FROM + 16_000 },
    { ...piece, text: 'three four', startSample: FROM + 19_200, endSample: FROM + samples.length },
  ]);
});

test('openai makes a single piece if times are missing or inconsistent', async t => {
  const setup = await open(t);
  const whole = { final: true, startSample: FROM, endSample: FROM + samples.length };
  const answers = [
    { text: ' good morning ' },
    { text: 'good morning', segments: [] },
    { text: 'good morning', segments: [{ text: 'good morning', start: 0, end: 0 }] },
    {
      text: '',
      segments: [
        { text: 'good', start: 9, end: 9 },
        { text: 'morning', start: 9, end: 9 },
      ],
    },
  ];
  for (const answer of answers) {
    setup.server.transcribe = (_, response) => reply(response, 200, answer);
    t.deepEqual(await transcribe(setup), [{ ...whole, text: 'good morning' }]);
  }
});

test('openai returns nothing if the server recognised nothing, and sends nothing shorter than a word', async t => {
  const setup = await open(t);
  for (const text of ['', ' \n', '[BLANK_AUDIO]']) {
    setup.server.transcribe = (_, response) => reply(response, 200, { text, segments: [] });
    t.deepEqual(await transcribe(setup), []);
  }
  t.is(setup.server.asked.length, 3);
  t.deepEqual(await transcribe(setup, 'en', samples.subarray(0, 1599)), []);
  t.is(setup.server.asked.length, 3);
});

test('openai requests text only from a model without timestamps, and learns that once', async t => {
  const setup = await open(t);
  setup.server.transcribe = (asked, response) => {
    if (asked.fields.response_format === 'json') recognise(asked, response);
    else reply(response, 400, { error: { message: 'the words of the vendor' } });
  };
  const [first] = await transcribe(setup);
  const [second] = await transcribe(setup);
  t.is(first?.text, 'good morning');
  t.deepEqual(second, first);
  t.deepEqual(
    setup.server.asked.map(({ fields }) => fields.response_format),
    ['verbose_json', 'json', 'json'],
  );
});

test('openai opens only once the server has answered, and reports what prevents it', async t => {
  const { server, provider } = await open(t, { apiKey: KEY });
  const opening = () => provider.open({ language: 'en', signal: never });
  for (const status of [404, 405]) {
    server.listModels = response => reply(response, status, {});
    await t.notThrowsAsync(opening(), 'a server that does not list its models is there all the same');
  }
  server.listModels = response => reply(response, 200, 'x'.repeat(2_000_000));
  await t.notThrowsAsync(opening(), 'one with a great many models is, too');
  const cases: [status: number, code: ErrorCode, message: RegExp][] = [
    [401, 'config_error', /refuses the key \(401\); correct plugins\.openai\.apiKey/],
    [403, 'config_error', /refuses the key \(403\); correct plugins\.openai\.apiKey/],
    [302, 'config_error', /redirects \(302\); set plugins\.openai\.baseUrl to/],
    [429, 'upstream_error', /too many requests \(429\)/],
    [503, 'upstream_error', /failed \(503\)/],
  ];
  for (const [status, code, message] of cases) {
    server.listModels = response =>
      reply(response, status, 'the words of the vendor', { location: 'http://127.0.0.1:1/' });
    const error = await failure(t, opening());
    t.is(error.code, code);
    t.regex(error.message, message);
  }
  server.listModels = () => undefined;
  const impatient = await hasty(t, { server });
  t.is((await failure(t, transcribe(impatient))).code, 'timeout');
});

test('openai names an unreachable URL, with instructions', async t => {
  const port = await closedPort();
  const running = await run(openai, { baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: KEY });
  t.teardown(running.stop);
  const error = await failure(t, running.stt.open({ language: 'en', signal: never }));
  t.is(error.code, 'upstream_error');
  t.is(
    error.message,
    `openai: http://127.0.0.1:${port}/v1 cannot be reached, or broke off; start the server there, or correct plugins.openai.baseUrl`,
  );
});

test('openai retries a server that was unreachable, and never trusts a wrong certificate', async t => {
  const first = await startOpenAiServer();
  const running = await run(openai, { baseUrl: first.baseUrl, apiKey: KEY });
  t.teardown(running.stop);
  const provider = running.stt;
  t.is((await transcribe({ provider })).length, 2);
  await first.close();
  t.is((await failure(t, transcribe({ provider }))).code, 'upstream_error');
  const second = await startOpenAiServer({ port: Number(new URL(first.baseUrl).port) });
  t.teardown(second.close);
  t.is((await transcribe({ provider })).length, 2);

  const secure = await startOpenAiServer({ tls: true });
  t.teardown(secure.close);
  const distrusting = await run(openai, { baseUrl: secure.baseUrl, apiKey: KEY });
  t.teardown(distrusting.stop);
  const error = await failure(t, transcribe({ provider: distrusting.stt }));
  t.is(error.code, 'config_error');
  t.regex(error.message, /untrusted certificate .*; correct plugins\.openai\.baseUrl/);
  t.deepEqual(secure.requests, [], 'neither key nor speech was sent');
});

test('openai abandons a server that accepts a connection and does not read from it', async t => {
  const half = createTcpServer(socket => void socket.pause()).listen(0, '127.0.0.1');
  await once(half, 'listening');
  t.teardown(() => half.close());
  const { port } = half.address() as AddressInfo;
  const running = await run(openai, { baseUrl: `http://127.0.0.1:${port}/v1`, timeoutMs: 300 });
  t.teardown(running.stop);
  t.is((await failure(t, transcribe({ provider: running.stt }))).code, 'timeout');
});

const FAILURES: Record<string, { answer: OpenAiServer['transcribe']; code: ErrorCode; retryAfter?: number }> =
  {
    'a server that never answers': { answer: () => undefined, code: 'timeout' },
    'a body that never ends': {
      answer: (_, response) => void response.writeHead(200).write('{"text":'),
      code: 'timeout',
    },
    'a connection cut before the answer': {
      answer: (_, response) => void response.destroy(),
      code: 'upstream_error',
    },
    'a connection cut during the answer': {
      answer: (_, response) =>
        void response.writeHead(200, { 'content-length': 100 }).write('{"text":', () => response.destroy()),
      code: 'upstream_error',
    },
    'a server error': { answer: refusal(500), code: 'upstream_error' },
    'a gateway without a server': { answer: refusal(502), code: 'upstream_error' },
    'too many requests': {
      answer: refusal(429, { 'retry-after': '7' }),
      code: 'upstream_error',
      retryAfter: 7,
    },
    'a retry date in the past': {
      answer: refusal(503, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
      code: 'upstream_error',
      retryAfter: 0,
    },
    'no JSON': { answer: (_, response) => reply(response, 200, 'good morning'), code: 'upstream_error' },
    'JSON without text': {
      answer: (_, response) => reply(response, 200, { error: 'the words of the vendor' }),
      code: 'upstream_error',
    },
    'a body of more than 1 MiB': {
      answer: (_, response) => reply(response, 200, { text: 'x'.repeat(1024 * 1024) }),
      code: 'upstream_error',
    },
    'unreadable audio': { answer: refusal(400), code: 'invalid_input' },
    'audio that is too large': { answer: refusal(413), code: 'invalid_input' },
    'an unsupported format': { answer: refusal(415), code: 'invalid_input' },
    'unsupported fields': { answer: refusal(422), code: 'invalid_input' },
    'an invalid key': { answer: refusal(401), code: 'config_error' },
    'a key without permission': { answer: refusal(403), code: 'config_error' },
    'an unknown model': { answer: refusal(404), code: 'config_error' },
    'a redirect': { answer: refusal(307, { location: 'http://127.0.0.1:1/' }), code: 'config_error' },
  };

function refusal(status: number, headers: Record<string, string> = {}): OpenAiServer['transcribe'] {
  return (_, response) => reply(response, status, 'the words of the vendor', headers);
}

for (const [what, { answer, code, retryAfter }] of Object.entries(FAILURES)) {
  test(`openai answers ${code} to ${what}, and works again afterwards`, async t => {
    const setup = await open(t, { apiKey: KEY });
    setup.server.transcribe = answer;
    const asking = code === 'timeout' ? await hasty(t, setup) : setup;
    const error = await failure(t, transcribe(asking));
    t.is(error.code, code);
    t.is(error.retryAfter, retryAfter);
    t.false(String(error.cause).includes('good morning'), 'what was said is in no log');
    setup.server.transcribe = recognise;
    t.is((await transcribe(setup)).map(({ text }) => text).join(' '), 'good morning');
  });
}

test('openai aborts a request at once when nobody waits for it any more', async t => {
  const { server, provider } = await open(t);
  const session = await provider.open({ language: 'en', signal: never });
  const arrived = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  server.transcribe = (_, response) => {
    response.once('close', closed.resolve);
    arrived.resolve();
  };
  const leaving = new AbortController();
  const pieces = session.transcribe(utteranceOf(samples, 0), leaving.signal)[Symbol.asyncIterator]();
  const answer = pieces.next();
  await arrived.promise;
  const reason = new Error('left');
  leaving.abort(reason);
  t.is(await t.throwsAsync(answer), reason);
  await closed.promise;
  t.pass('the server sees the connection go');
});

test('openai ends its sessions when it is stopped', async t => {
  const { running, provider } = await open(t);
  const session = await provider.open({ language: 'en', signal: never });
  await running.stop();
  await t.throwsAsync(session.failed, { code: 'upstream_error', message: 'openai is stopped' });
});

test('openai sends nothing before the speaker has finished', async t => {
  const { server, provider } = await open(t);
  const session = await provider.open({ language: 'en', signal: never });
  const growing = growingUtterance(0);
  growing.push(samples);
  const answer = session.transcribe(growing.utterance, never)[Symbol.asyncIterator]().next();
  await growing.read;
  t.is(server.asked.length, 0);
  growing.end();
  t.is((await answer).value?.text, 'good');
  t.is(server.asked.length, 1);
});

test('openai rejects a URL with user name and password, and a key that is invalid in a header', t => {
  const schema = openai.options(z);
  const wrong = (options: unknown) => schema.safeParse(options).error?.issues[0]?.path.join('.');
  t.is(wrong({ baseUrl: 'http://me:secret@host/v1' }), 'baseUrl');
  t.is(wrong({ baseUrl: 'ftp://host/v1' }), 'baseUrl');
  t.is(wrong({ baseUrl: 'http://host/v1?key=secret' }), 'baseUrl');
  t.is(wrong({ apiKey: 'two\nlines' }), 'apiKey');
  t.is(wrong({ languages: 'some' }), 'languages');
  t.is(
    schema.parse({ apiKey: `${KEY}\n` }).apiKey,
    KEY,
    'a line end of the file that it comes from is no part of it',
  );
  t.deepEqual(schema.parse({}).languages, 'any');
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise(resolve => server.close(resolve));
  return port;
}
