import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { Clock } from '../../../core/contract/model.ts';
import type { SttHints } from '../../../core/contract/plugin.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { growingUtterance, sttChecks, utteranceOf } from '../../../plugins/kit/suites/stt.ts';
import customStt from '../../../plugins/stt/custom-stt/index.ts';
import deepgram from '../../../plugins/stt/deepgram/index.ts';
import { piecesOf, readResults } from '../../../plugins/stt/deepgram/results.ts';
import vosk from '../../../plugins/stt/vosk/index.ts';
import { SPEECH } from '../../helpers/known-speech.ts';
import { type Fault, type Protocol, type SttServer, startSttServer } from '../../helpers/stt-servers.ts';
import { type Running, run } from './context.ts';

const never = new AbortController().signal;
const [hello] = SPEECH;
const samples = hello?.samples ?? new Int16Array(0);
const FROM = 480_000;
const KEY = 'key-not-to-be-seen';

/** Each with a server that implements its protocol on a real socket, and the options to reach it. */
const RECOGNISERS: Record<Protocol, (options: object, clock?: Clock) => Promise<Running>> = {
  vosk: (options, clock) => run(vosk, options, undefined, clock),
  'custom-stt': (options, clock) => run(customStt, { apiKey: KEY, ...options }, undefined, clock),
  deepgram: (options, clock) => run(deepgram, { apiKey: KEY, ...options }, undefined, clock),
};

async function open(t: ExecutionContext, name: Protocol, server: SttServer, options: object = {}) {
  const running = await RECOGNISERS[name]({ url: server.url, ...options });
  t.teardown(running.stop);
  return running.stt;
}

async function started(t: ExecutionContext, name: Protocol, options?: Parameters<typeof startSttServer>[1]) {
  const server = await startSttServer(name, options);
  t.teardown(server.close);
  return server;
}

async function transcribe(stt: Awaited<ReturnType<typeof open>>, hints: Partial<SttHints> = {}) {
  const session = await stt.open({ language: 'en', signal: never, ...hints });
  try {
    const pieces = [];
    for await (const piece of session.transcribe(utteranceOf(samples, FROM), never)) pieces.push(piece);
    return pieces;
  } finally {
    await session.close();
  }
}

for (const name of Object.keys(RECOGNISERS) as Protocol[]) {
  test(`${name} passes the recogniser suite, over a real WebSocket to a server written from the vendor's documentation`, async t => {
    const server = await started(t, name);
    const provider = await open(t, name, server);
    const { crash } = server;
    for (const check of sttChecks)
      await t.notThrowsAsync(check.run({ provider, language: 'en', speech: SPEECH, crash }), check.title);
  });

  test(`${name} reports a server that is slow, faulty, half open, or refuses, without quoting it`, async t => {
    const server = await started(t, name);
    const patient = await open(t, name, server);
    const hasty = await open(t, name, server, { timeoutMs: 500 });
    const outcomes: [Fault, string][] = [
      ['mute', 'timeout'],
      ['deaf', 'timeout'],
      ['garbage', 'upstream_error'],
      ['huge', 'upstream_error'],
      ['hangs-up', 'upstream_error'],
      ['goes-away', 'upstream_error'],
      ['refuses', 'config_error'],
    ];
    for (const [fault, code] of outcomes) {
      server.fault = fault;
      const subject = code === 'timeout' ? hasty : patient;
      const error = await t.throwsAsync(transcribe(subject), { instanceOf: AppError }, fault);
      t.is((error as AppError).code, code as AppError['code'], `${fault}: ${error?.message}`);
      t.notRegex(error?.message ?? '', /no JSON at all|key-not/);
    }
    server.fault = null;
    const well = await transcribe(patient);
    t.is(well.map(({ text }) => text).join(' '), 'good morning', 'and it is well again');
  });

  test(`${name} treats a connection closed cleanly during speech as a failure`, async t => {
    const server = await started(t, name);
    const stt = await open(t, name, server);
    const session = await stt.open({ language: 'en', signal: never });
    server.fault = 'ends-early';
    const growing = growingUtterance(FROM);
    growing.push(samples);
    const hearing = (async () => {
      for await (const _ of session.transcribe(growing.utterance, never));
    })();
    await t.throwsAsync(hearing, { code: 'upstream_error', message: /closed/ });
    server.fault = null;
    t.is((await transcribe(stt)).map(({ text }) => text).join(' '), 'good morning');
    await session.close();
  });

  test(`${name} reopens when its server is back, and never trusts a wrong certificate`, async t => {
    const first = await startSttServer(name);
    const stt = await open(t, name, first);
    await first.close();
    await t.throwsAsync(transcribe(stt), { code: 'upstream_error', message: /cannot be reached/ });
    const second = await started(t, name, { port: first.port });
    t.is((await transcribe(stt))[0]?.text, 'good morning');
    t.true(second.requests.length > 0);

    const secure = await started(t, name, { tls: true });
    const error = await t.throwsAsync(transcribe(await open(t, name, secure)), { code: 'config_error' });
    t.regex(error?.message ?? '', /untrusted certificate/);
    t.is(secure.requests.length, 0, 'neither key nor speech was sent');
  });

  test(`${name} keeps no timer for a connection that broke off before its answer`, async t => {
    const server = await started(t, name);
    const sleepers = new Set<object>();
    const clock: Clock = {
      now: Date.now,
      sleep(ms, signal) {
        const sleeping = sleep(ms, undefined, signal ? { signal } : {});
        sleepers.add(sleeping);
        return sleeping.finally(() => sleepers.delete(sleeping));
      },
    };
    const running = await RECOGNISERS[name]({ url: server.url }, clock);
    t.teardown(running.stop);
    server.fault = 'mute';
    const transcribed = transcribe(running.stt);
    transcribed.catch(() => undefined); // awaited below
    await server.heard(name === 'vosk' ? 'eof' : name === 'deepgram' ? 'Finalize' : 'CloseStream');
    t.true(sleepers.size > 0, 'an answer is required');
    server.crash();
    await t.throwsAsync(transcribed, { code: 'upstream_error' });
    await setImmediate(); // what was cancelled is settled
    t.is(sleepers.size, 0);
  });
}

// The custom-stt protocol lets a service without a result close silently.
for (const name of ['vosk', 'deepgram'] as const) {
  test(`${name} treats speech as transcribed only if its end was acknowledged`, async t => {
    const server = await started(t, name);
    const stt = await open(t, name, server);
    server.fault = 'ends-unanswered';
    await t.throwsAsync(transcribe(stt), {
      code: 'upstream_error',
      message: /closed before it had answered/,
    });
  });
}

test('vosk reports the position of each piece, and announces its sample rate', async t => {
  const server = await started(t, 'vosk');
  t.deepEqual(await transcribe(await open(t, 'vosk', server)), [
    { text: 'good morning', startSample: FROM, endSample: FROM + samples.length, final: true },
  ]);
  t.deepEqual(server.said, ['{"config":{"sample_rate":16000,"words":true}}', '{"eof" : 1}']);
});

test('custom-stt implements the protocol of external services: binary audio, CloseStream, segments with speakers', async t => {
  const server = await started(t, 'custom-stt');
  const stt = await open(t, 'custom-stt', server, { url: `${server.url}/in/{language}` });
  t.deepEqual(await transcribe(stt, { language: 'pt-BR' }), [
    {
      ...{ text: 'good morning', speaker: 'SPEAKER_01' },
      ...{ startSample: FROM, endSample: FROM + samples.length, final: true },
    },
  ]);
  t.deepEqual(server.said, ['{"type":"CloseStream"}']);
  const asked = server.requests.map(({ url, headers }) => [url.pathname, headers.authorization]);
  t.deepEqual(asked.at(-1), ['/in/pt-BR', `Bearer ${KEY}`]);
});

test('deepgram keeps one connection for its session, with language, model, diarisation and key terms', async t => {
  const server = await started(t, 'deepgram');
  const stt = await open(t, 'deepgram', server);
  const hints = { language: 'multi', vocabulary: ['Anna', 'Dr. Okonkwo'], signal: never };
  const session = await stt.open(hints);
  for (const at of [FROM, 2 * FROM]) {
    const pieces = [];
    for await (const piece of session.transcribe(utteranceOf(samples, at), never)) pieces.push(piece);
    t.is(pieces.map(({ text }) => text).join(' '), 'good morning');
    t.is(pieces[0]?.startSample, at, 'times are of the stream, not of the connection');
    t.is(pieces.at(-1)?.endSample, at + samples.length);
    t.is(pieces[0]?.speaker, 'SPEAKER_00');
  }
  t.is(server.requests.length, 1);
  server.crash(); // the next connection that carries audio
  await t.throwsAsync(async () => {
    for await (const _ of session.transcribe(utteranceOf(samples, FROM), never));
  });
  for await (const { speaker } of session.transcribe(utteranceOf(samples, FROM), never))
    t.is(speaker, 'SPEAKER_01', 'voices of another connection are not taken for those of the first');
  await session.close();
  const { url, headers } = server.requests[0] ?? t.fail();
  t.is(headers.authorization, `Token ${KEY}`);
  t.deepEqual(url.searchParams.getAll('keyterm'), ['Anna', 'Dr. Okonkwo']);
  const told = ['language', 'model', 'diarize', 'encoding', 'sample_rate', 'interim_results'].map(name =>
    url.searchParams.get(name),
  );
  t.deepEqual(told, ['multi', 'nova-3', 'true', 'linear16', '16000', 'true']);
});

test('deepgram sends keep-alives during silence', async t => {
  const server = await started(t, 'deepgram');
  const session = await (await open(t, 'deepgram', server)).open({ language: 'en', signal: never });
  await server.heard('KeepAlive');
  await session.close();
  await t.notThrowsAsync(server.heard('CloseStream'));
});

test('deepgram makes a piece of each speaker turn, within the utterance', t => {
  const words = [
    { word: 'hello', punctuated_word: 'Hello', start: 9, end: 10.5, speaker: 0 },
    { word: 'there', punctuated_word: 'there.', start: 10.5, end: 10.8, speaker: 0 },
    { word: 'hi', punctuated_word: 'Hi.', start: 11, end: 99, speaker: 1 },
  ];
  const alternatives = [{ transcript: 'Hello there. Hi.', words, languages: ['de'] }];
  const results = readResults(
    JSON.stringify({ type: 'Results', start: 10, duration: 2, is_final: true, channel: { alternatives } }),
  );
  if (!results) return t.fail();
  const utterance = utteranceOf(new Int16Array(32_000), FROM);
  const piece = { final: true, language: 'de' };
  t.deepEqual(piecesOf(results, { utterance, base: 160_000, through: FROM, firstSpeaker: 0 }), [
    { ...piece, text: 'Hello there.', startSample: FROM, endSample: FROM + 12_800, speaker: 'SPEAKER_00' },
    { ...piece, text: 'Hi.', startSample: FROM + 16_000, endSample: FROM + 32_000, speaker: 'SPEAKER_01' },
  ]);
  t.is(readResults('[]'), null);
  t.is(readResults('{"type":"Results","channel":{}}'), null);
  t.is(readResults('{"type":"Metadata"}')?.isFinal, false);
});
