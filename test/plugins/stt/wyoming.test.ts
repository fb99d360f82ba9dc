import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import type { Utterance } from '../../../core/contract/plugin.ts';
import { AppError, type ErrorCode } from '../../../core/runtime/errors.ts';
import { growingUtterance, sttChecks, utteranceOf } from '../../../plugins/kit/suites/stt.ts';
import wyoming from '../../../plugins/stt/wyoming/index.ts';
import { SPEECH } from '../../helpers/known-speech.ts';
import { startWyomingServer, wyomingEvent, wyomingInfo } from '../../helpers/wyoming-server.ts';
import { run } from './context.ts';

const never = new AbortController().signal;
const [hello] = SPEECH;
const samples = hello?.samples ?? new Int16Array(0);
const FROM = 480_000;

/** The plugin, set up with its own server. */
async function open(t: ExecutionContext, options: Record<string, unknown> = {}, info?: unknown) {
  const server = await startWyomingServer();
  t.teardown(server.close);
  server.info = info ?? server.info;
  const running = await run(wyoming, { port: server.port, ...options });
  t.teardown(running.stop);
  return { server, running, provider: running.stt };
}

type Setup = Awaited<ReturnType<typeof open>>;

/** One with short time limits, on the same server; it is set up while that still answers. */
async function hasty(t: ExecutionContext, { server }: Pick<Setup, 'server'>) {
  const answers = server.intercept;
  server.intercept = () => false;
  const running = await run(wyoming, { port: server.port, timeoutMs: 1000 });
  t.teardown(running.stop);
  server.intercept = answers;
  return { server, running, provider: running.stt };
}

async function transcribe({ provider }: Pick<Setup, 'provider'>, language = 'en', utterance?: Utterance) {
  const session = await provider.open({ language, signal: never });
  const pieces = [];
  for await (const piece of session.transcribe(utterance ?? utteranceOf(samples, FROM), never))
    pieces.push(piece);
  return pieces;
}

async function failure(t: ExecutionContext, doing: Promise<unknown>): Promise<AppError> {
  const error = await t.throwsAsync(doing, { instanceOf: AppError });
  t.false(
    `${error?.message} ${error?.cause}`.includes('the words of the server'),
    'neither message nor log quotes them',
  );
  return error ?? new AppError('internal', 'nothing was thrown');
}

for (const check of sttChecks) {
  test(`wyoming answers, over a real TCP socket: ${check.title}`, async t => {
    const { server, provider } = await open(t);
    const { crash } = server;
    await t.notThrowsAsync(check.run({ provider, language: 'en', speech: SPEECH, crash }));
  });
}

test('wyoming opens a separate connection for each utterance, as the protocol requires', async t => {
  const setup = await open(t, { model: 'tiny' });
  t.deepEqual(await transcribe(setup, 'pt-BR'), [
    { text: 'good morning', startSample: FROM, endSample: FROM + samples.length, final: true },
  ]);
  await transcribe(setup, 'multi');

  const format = { rate: 16000, width: 2, channels: 1 };
  const asking = setup.server.callers.filter(({ pcm }) => pcm.length > 0);
  t.deepEqual(
    asking.map(({ events }) => events),
    [{ name: 'tiny', language: 'pt' }, { name: 'tiny' }].map(data => [
      { type: 'transcribe', data },
      { type: 'audio-start', data: format },
      { type: 'audio-chunk', data: format },
      { type: 'audio-stop', data: {} },
    ]),
  );
  for (const { pcm } of asking) t.deepEqual(Buffer.concat(pcm), Buffer.from(samples.buffer));
});

test('wyoming streams speech while it is spoken', async t => {
  const { server, provider } = await open(t);
  const session = await provider.open({ language: 'en', signal: never });
  const growing = growingUtterance(0);
  growing.push(samples.subarray(0, 8000));
  const answer = session.transcribe(growing.utterance, never)[Symbol.asyncIterator]().next();
  const { events } = await server.called('audio-chunk');
  t.false(events.some(({ type }) => type === 'audio-stop'));
  growing.push(samples.subarray(8000));
  growing.end();
  t.is((await answer).value?.text, 'good morning');
});

test('wyoming has the languages and the model that the server announces', async t => {
  const known = async (models: Parameters<typeof wyomingInfo>[0], options = {}) => {
    const { provider } = await open(t, options, wyomingInfo(models));
    return [provider.languages, provider.model];
  };
  const de = { name: 'de-small', languages: ['de-DE'] };
  const whisper = { name: 'whisper', languages: ['en', 'fr', 'zh_TW', 'fr'] };
  t.deepEqual(await known([de]), [['de'], 'de-small']);
  t.deepEqual(await known([whisper]), [['en', 'fr', 'zh', 'multi'], 'whisper']);
  t.deepEqual(await known([de, whisper]), [['de', 'en', 'fr', 'zh', 'multi'], null]);
  t.deepEqual(await known([de, whisper], { model: 'de-small' }), [['de'], 'de-small']);
  t.deepEqual(await known([{ ...whisper, installed: false }, de]), [['de'], 'de-small']);
  t.deepEqual(await known([{ ...de, installed: false }]), [['de'], 'de-small']);
  t.deepEqual(await known([{ name: 'any', languages: [] }]), ['any', 'any']);
});

test('wyoming reads an answer that arrives byte by byte, with data in the header, a payload and other events before it', async t => {
  const setup = await open(t);
  const header = (more: object) => Buffer.from(`${JSON.stringify(more)}\n`);
  setup.server.intercept = ({ type }, { socket }) => {
    if (type !== 'audio-stop') return false;
    const bytes = Buffer.concat([
      wyomingEvent('transcript-start'),
      header({ type: 'noise', payload_length: 5 }),
      Buffer.from('{}\n\n{'),
      header({ type: 'transcript', data: { text: ' guten\nMörgen ' }, data_length: null }),
    ]);
    socket.setNoDelay(true);
    for (const byte of bytes) socket.write(Buffer.of(byte));
    return true;
  };
  t.deepEqual(
    (await transcribe(setup)).map(({ text }) => text),
    ['guten Mörgen'],
  );
});

test('wyoming cannot be set up without a server, and setup can be retried', async t => {
  const server = await startWyomingServer();
  const { port } = server;
  await server.close();
  const gone = await failure(t, run(wyoming, { port }));
  t.is(
    gone.message,
    `wyoming: 127.0.0.1:${port} cannot be reached, or broke off; start the server there, or correct plugins.wyoming.host and plugins.wyoming.port`,
  );
  t.is(gone.code, 'upstream_error');
  t.true(gone.retryable);

  const back = await startWyomingServer(port);
  t.teardown(back.close);
  back.intercept = () => true;
  t.is(
    (await failure(t, run(wyoming, { port, timeoutMs: 150 }))).code,
    'upstream_error',
    'a server that hangs',
  );
  back.intercept = () => false;
  const running = await run(wyoming, { port });
  t.is(running.stt.model, 'tiny');
  await running.stop();
});

test('wyoming reports a server without speech recognition, or without this model', async t => {
  const nothing = await failure(t, open(t, {}, { tts: [] }));
  t.is(nothing.code, 'config_error');
  t.regex(nothing.message, /recognises no speech; correct plugins\.wyoming\.host/);
  const model = await failure(t, open(t, { model: 'large' }));
  t.is(model.code, 'config_error');
  t.regex(model.message, /has no model large; correct .* plugins\.wyoming\.model/);
});

test('wyoming opens only once the server has answered again', async t => {
  const { server, provider } = await open(t);
  const impatient = await hasty(t, { server });
  server.intercept = () => true;
  t.is((await failure(t, transcribe(impatient))).code, 'timeout');
  const opening = () => provider.open({ language: 'en', signal: never });
  server.intercept = (_, { socket }) => Boolean(socket.destroy());
  t.is((await failure(t, opening())).code, 'upstream_error');
  await server.close();
  t.is((await failure(t, opening())).code, 'upstream_error');
});

/** Faults of a server at the end of the audio. */
const FAILURES: Record<string, { write: Buffer | string | null; code: ErrorCode }> = {
  'a server that never answers': { write: '', code: 'timeout' },
  'a server that disconnects': { write: null, code: 'upstream_error' },
  'an answer that never ends': { write: '{"type":"transcript","data_length":100}\n{', code: 'timeout' },
  'an error from the server': {
    write: wyomingEvent('error', { text: 'the words of the server', code: 'bad' }),
    code: 'upstream_error',
  },
  garbage: { write: 'HTTP/1.1 400 Bad Request\r\n\r\n', code: 'upstream_error' },
  'a line that is not an object': { write: '[1]\n', code: 'upstream_error' },
  'an event without a type': { write: '{"data":{}}\n', code: 'upstream_error' },
  'an event with broken data': { write: '{"type":"transcript","data_length":2}\n[]', code: 'upstream_error' },
  'an invalid length': { write: '{"type":"transcript","data_length":-1}\n', code: 'upstream_error' },
  'a header without an end': { write: 'x'.repeat(64 * 1024 + 1), code: 'upstream_error' },
  'a header that is too long': {
    write: `{"type":"transcript","data":{"text":"${'x'.repeat(64 * 1024)}"}}\n`,
    code: 'upstream_error',
  },
  'data that would be too long': { write: '{"type":"x","data_length":1048577}\n', code: 'upstream_error' },
  'a payload that would be too long': {
    write: '{"type":"x","payload_length":1e12}\n',
    code: 'upstream_error',
  },
  'a transcript without text': { write: wyomingEvent('transcript', {}), code: 'upstream_error' },
};

for (const [what, { write, code }] of Object.entries(FAILURES)) {
  test(`wyoming answers ${code} to ${what}, and works again afterwards`, async t => {
    const setup = await open(t);
    setup.server.intercept = ({ type }, { socket }) => {
      if (type !== 'audio-stop') return false;
      if (write === null) socket.destroy();
      else socket.write(write);
      return true;
    };
    const asking = code === 'timeout' ? await hasty(t, setup) : setup;
    t.is((await failure(t, transcribe(asking))).code, code);
    for (const { socket, closed } of setup.server.callers) if (!socket.closed) await closed;
    setup.server.intercept = () => false;
    t.is((await transcribe(setup))[0]?.text, 'good morning');
  });
}

test('wyoming does not take an early answer as the result of unsent speech', async t => {
  const setup = await open(t);
  setup.server.intercept = ({ type }, { socket }) => {
    if (type === 'audio-chunk') socket.write(wyomingEvent('transcript', { text: 'good' }));
    return type === 'audio-chunk';
  };
  const growing = growingUtterance(0);
  growing.push(samples);
  const error = await failure(t, transcribe(setup, 'en', growing.utterance));
  t.is(error.code, 'upstream_error');
  t.regex(error.message, /answered before the speech had ended/);
});

test('wyoming buffers speech that the server does not read, for a limited time', async t => {
  const setup = await hasty(t, await open(t));
  setup.server.intercept = ({ type }, { socket }) => {
    if (type === 'audio-start') socket.pause();
    return false;
  };
  const most = 256;
  let seconds = 0;
  async function* pcm() {
    for (; seconds < most; seconds++) yield new Int16Array(16_000 * 8);
  }
  const endless = { ...utteranceOf(samples, 0), pcm };
  const error = await failure(t, transcribe(setup, 'en', endless));
  t.is(error.code, 'timeout');
  t.regex(error.message, /took no more audio within 1000 ms/);
  t.true(seconds < most, 'not all of it lies in memory');
});

test('wyoming disconnects at once when nobody wants the answer any more, or when it is stopped', async t => {
  const { server, running, provider } = await open(t);
  server.intercept = ({ type }) => type === 'audio-stop';
  const session = await provider.open({ language: 'en', signal: never });
  for (const end of ['reader', 'plugin']) {
    const leaving = new AbortController();
    const answer = session.transcribe(utteranceOf(samples, 0), leaving.signal)[Symbol.asyncIterator]().next();
    const caller = await server.called('audio-stop');
    if (end === 'reader') leaving.abort(new Error('left'));
    else await running.stop();
    if (end === 'reader') await t.throwsAsync(answer, { message: 'left' });
    else await t.throwsAsync(answer, { code: 'upstream_error', message: 'wyoming is stopped' });
    await caller.closed;
    server.callers.length = 0;
  }
  await t.throwsAsync(session.failed, { code: 'upstream_error', message: 'wyoming is stopped' });
});

test('wyoming rejects an invalid port', t => {
  const schema = wyoming.options(z);
  t.false(schema.safeParse({ port: 65_536 }).success);
  t.false(schema.safeParse({ host: ' ' }).success);
  t.like(schema.parse({ port: '10301' }), { host: '127.0.0.1', port: 10_301 });
});
