/**
 * `earshot recogniser` as a separate process with pocketsphinx, called by our own plugins over real sockets.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { growingUtterance, sttChecks, wordErrorRate } from '../../../../plugins/kit/suites/stt.ts';
import { encodeEvent } from '../../../../plugins/kit/wyoming/events.ts';
import customStt from '../../../../plugins/stt/custom-stt/index.ts';
import wyoming from '../../../../plugins/stt/wyoming/index.ts';
import { earshot } from '../../../helpers/cli.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { openRaw } from '../../../helpers/raw-socket.ts';
import { recogniserDirectory, startRecogniser, TOKEN } from '../../../helpers/recogniser-process.ts';
import { fixture, run, unhurriedClock } from '../../../plugins/stt/context.ts';

const never = new AbortController().signal;
const FORMAT = { rate: 16_000, width: 2, channels: 1 };
const MiB = 1024 * 1024;
type Test = Pick<ExecutionContext, 'teardown'>;

/** The second sentences of two recordings, which pocketsphinx recognises. */
async function sentences() {
  const [health, garden] = await Promise.all([fixture('health'), fixture('garden')]);
  const wordErrors = 0.2;
  return [
    { samples: health.samples.slice(63_400), text: 'i feel much better this week', wordErrors },
    { samples: garden.samples.slice(52_000), text: 'the weather has been very warm and dry', wordErrors },
  ] as const;
}

/** A raw client: the messages it received, and how it was closed. */
function client(t: Test, url: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  t.teardown(() => socket.terminate());
  const told: { segments?: { text: string; start: number; end: number }[]; message?: string }[] = [];
  socket.on('message', data => told.push(JSON.parse(String(data))));
  socket.on('error', () => undefined);
  const closed = new Promise<{ code: number; reason: string }>(resolve =>
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
  );
  const refused = new Promise<number | undefined>(resolve =>
    socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode)),
  );
  const opened = new Promise<void>(resolve => socket.once('open', resolve));
  return { socket, told, closed, refused, opened };
}

const bytesOf = (samples: Int16Array) => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);

// One after the other, and before all others: each needs much processor time.
test.serial(
  'custom-stt passes the recogniser suite against the command, and its token is required',
  async t => {
    const { url, said } = await startRecogniser(t, { token: true });
    const place = { url: `${url}/?language={language}` };
    for (const apiKey of ['another-token-of-others', undefined]) {
      const stranger = await run(customStt, { ...place, ...(apiKey ? { apiKey } : {}) });
      const opening = stranger.stt.open({ language: 'en', signal: never });
      await t.throwsAsync(opening, { code: 'config_error', message: /refuses the key \(401\)/ });
      await stranger.stop();
    }
    const { stt: provider, stop } = await run(
      customStt,
      { ...place, apiKey: TOKEN },
      undefined,
      unhurriedClock,
    );
    t.teardown(stop);
    const speech = [...(await sentences())];
    for (const check of sttChecks.filter(({ needsCrash }) => !needsCrash))
      await t.notThrowsAsync(check.run({ provider, language: 'en', speech }), check.title);
    const session = await provider.open({ language: 'xx', signal: never });
    const growing = growingUtterance(0);
    growing.push(new Int16Array(16_000));
    growing.end();
    await t.throwsAsync(
      async () => {
        for await (const _ of session.transcribe(growing.utterance, never));
      },
      { code: 'upstream_error', message: /closed the connection \(1008\)/ },
    );
    t.regex(said(), /Recognising speech with pocketsphinx \(en-us\): en\n/);
    t.regex(said(), /for custom-stt, with a token\n/);
    t.notRegex(said(), new RegExp(TOKEN));
    t.notRegex(said(), /better|weather/i, 'what was said is in no log');
  },
);

test.serial(
  'wyoming passes the recogniser suite against the command, which describes its languages',
  async t => {
    const { wyomingPort } = await startRecogniser(t);
    const { stt: provider, stop } = await run(wyoming, { port: wyomingPort }, undefined, unhurriedClock);
    t.teardown(stop);
    t.deepEqual([provider.languages, provider.model], [['en'], 'en-us']);
    const speech = [...(await sentences())];
    for (const check of sttChecks.filter(({ needsCrash }) => !needsCrash))
      await t.notThrowsAsync(check.run({ provider, language: 'en', speech }), check.title);
    const named = await run(wyoming, { port: wyomingPort, model: 'en-us' });
    await (await named.stt.open({ language: 'en', signal: never })).close();
    await named.stop();
  },
);

test('a client that keeps speaking is answered after each utterance, with its times', async t => {
  const { url } = await startRecogniser(t);
  const [health, garden] = await sentences();
  const { socket, told, closed, opened } = client(t, url);
  await opened;
  socket.send(bytesOf(health.samples));
  socket.send(bytesOf(new Int16Array(32_000)));
  const first = await eventually(() => told[0]?.segments?.[0]);
  t.true(wordErrorRate(health.text, first?.text ?? '') <= health.wordErrors, first?.text);
  const from = health.samples.length + 32_000;
  socket.send(bytesOf(garden.samples));
  socket.send('{"type":"KeepAlive"}');
  socket.send('{"type":"CloseStream"}');
  t.is((await closed).code, 1000);
  const later = told
    .flatMap(({ segments = [] }) => segments)
    .filter(({ start }) => start * 16_000 > from - 8000);
  t.true(wordErrorRate(garden.text, later.map(({ text }) => text).join(' ')) <= garden.wordErrors);
  t.true((later.at(-1)?.end ?? 0) * 16_000 <= from + garden.samples.length);
});

test('messages and requests beyond their limits are refused with instructions, and others are served', async t => {
  const { url, wyomingPort } = await startRecogniser(t, { args: ['--connections', '1', '--seconds', '2'] });
  const large = client(t, url);
  await large.opened;
  const second = client(t, url);
  t.is(await second.refused, 503);
  large.socket.send(Buffer.alloc(MiB + 1));
  t.is((await large.closed).code, 1009);

  const free = async () => {
    const next = client(t, url);
    return (await Promise.race([next.refused, next.opened.then(() => null)])) === null ? next : null;
  };
  const long = await eventually(free);
  long?.socket.send(Buffer.alloc(3 * 32_000));
  const end = await long?.closed;
  t.is(end?.code, 1009);
  t.regex(end?.reason ?? '', /2 s of speech at most.*--seconds/);

  const wordy = await eventually(free);
  wordy?.socket.send('no JSON at all');
  t.like(await wordy?.closed, { code: 1008 });
  const page = client(t, url, { origin: 'https://attacker.example' });
  t.is(await page.refused, 403);

  const ask = async (bytes: Buffer) => {
    const raw = await openRaw(`tcp://127.0.0.1:${wyomingPort}`, bytes);
    await raw.ended;
    raw.socket.destroy();
    return raw.received();
  };
  const attempts: [Buffer, RegExp][] = [
    [Buffer.from('{"type":"audio-chunk","payload_length":1048577}\n'), /at most 1 MiB/],
    [Buffer.from('GET / HTTP/1.1\r\n\r\n'), /speaks the Wyoming protocol/],
    [encodeEvent('audio-chunk', FORMAT, Buffer.alloc(320)), /after audio-start/],
    [encodeEvent('audio-start', { ...FORMAT, width: 4 }), /width must be 2/],
    [encodeEvent('audio-start', { ...FORMAT, rate: 1 }), /sample rate of 1 Hz/],
    [
      Buffer.concat([
        encodeEvent('audio-start', FORMAT),
        encodeEvent('audio-chunk', FORMAT, Buffer.alloc(3 * 32_000)),
      ]),
      /2 s of speech at most/,
    ],
    [
      Buffer.concat([encodeEvent('transcribe', { language: 'xx' }), encodeEvent('audio-start', FORMAT)]),
      /must be a code such as en/,
    ],
  ];
  for (const [bytes, answer] of attempts) {
    const told = await eventually(
      () => ask(bytes),
      text => !text.includes('connections are served'),
    );
    t.regex(told, /^\{"type":"error"/);
    t.regex(told, answer);
  }
  const place = { port: wyomingPort };
  const next = await eventually(() => run(wyoming, place).catch(() => null)); // the last one may still exist
  t.is(next?.stt.model, 'en-us');
  await next?.stop();
});

test('half-open clients are disconnected, wherever they stopped', async t => {
  const { port, url, wyomingPort } = await startRecogniser(t, {
    args: ['--idle', '2', '--connections', '4'],
  });
  const header = await openRaw(`http://127.0.0.1:${port}`, 'GET / HTTP/1.1\r\nHost: x\r\n');
  const silent = client(t, url);
  const spoke = client(t, url);
  await Promise.all([silent.opened, spoke.opened]);
  spoke.socket.send(Buffer.alloc(3200));
  const events = [
    Buffer.from('{"type":"descri'),
    encodeEvent('audio-start', FORMAT),
    Buffer.from('{"type":"audio-chunk","payload_length":1000}\n12345'),
  ];
  const halves = await Promise.all(events.map(bytes => openRaw(`tcp://127.0.0.1:${wyomingPort}`, bytes)));
  for (const { closed } of [silent, spoke]) {
    const { code, reason } = await closed;
    t.is(code, 1008);
    t.regex(reason, /Nothing was sent for 2 s/);
  }
  for (const { socket, ended, received } of halves) {
    await ended;
    t.regex(received(), /"error"/);
    socket.destroy();
  }
  await header.ended;
  header.socket.destroy();
  const next = client(t, url);
  await next.opened;
  next.socket.send('{"type":"CloseStream"}');
  t.is((await next.closed).code, 1000);
  t.deepEqual(next.told, [{ segments: [] }]);
});

test('SIGTERM ends it: speaking clients are closed with 1012, and partial text never counts as a complete result', async t => {
  const { child, exited, url, port, wyomingPort } = await startRecogniser(t);
  const { stt, stop } = await run(customStt, { url });
  t.teardown(stop);
  const [{ samples }] = await sentences();
  const growing = growingUtterance(0);
  growing.push(samples);
  const session = await stt.open({ language: 'en', signal: never });
  const answer = session.transcribe(growing.utterance, never)[Symbol.asyncIterator]().next();
  await growing.read;
  const speaker = client(t, url);
  await speaker.opened;
  speaker.socket.send(Buffer.alloc(3200));
  const half = await openRaw(`tcp://127.0.0.1:${wyomingPort}`, encodeEvent('audio-start', FORMAT));
  t.teardown(() => half.socket.destroy());
  child.kill('SIGTERM');
  t.like(await speaker.closed, { code: 1012 });
  await t.throwsAsync(answer, { code: 'upstream_error', message: /closed the connection \(1012\)/ });
  await half.ended;
  t.deepEqual(await exited, [0, null]);
  const late = connect(port, '127.0.0.1');
  t.like((await once(late, 'error'))[0], { code: 'ECONNREFUSED' });
});

test('it refuses to start if it would be open to others, or could not recognise anything, and says why', async t => {
  const refusal = async (args: string[], config: Record<string, unknown> = {}) => {
    const { file, tokenFile } = await recogniserDirectory(t, config);
    const given = args.map(arg => (arg === 'TOKEN' ? tokenFile : arg));
    const { code, stderr } = await earshot(['--config', file, 'recogniser', '--port', '0', ...given]);
    return `${code} ${stderr}`;
  };
  t.regex(
    await refusal(['--host', '0.0.0.0']),
    /^1 [\s\S]*error: 0\.0\.0\.0 can be reached by others: give --token-file/,
  );
  t.regex(
    await refusal(['--token-file', '/nowhere']),
    /^1 [\s\S]*error: \/nowhere cannot be read \(ENOENT\)/,
  );
  const { file } = await recogniserDirectory(t);
  t.regex(await refusal(['--token-file', file]), /^1 [\s\S]*error: .* contains no token of 16 characters/);
  t.regex(await refusal(['--idle', '0']), /^2 [\s\S]*error: .*1 to 3600/);
  t.regex(
    await refusal([], { stt: ['openai', 'custom-stt'] }),
    /^1 [\s\S]*error: stt names no recogniser that works on/,
  );
  const broken = { plugins: { pocketsphinx: { dict: '/nowhere/words.dict' } } };
  t.regex(await refusal([], broken), /\/nowhere\/words\.dict is missing; make it ready with: sudo apt-get/);
  const { port } = await startRecogniser(t);
  const taken = await refusal(['--wyoming', String(port)]);
  t.regex(taken, new RegExp(`Cannot listen on port ${port} of 127\\.0\\.0\\.1 \\(EADDRINUSE\\).*--wyoming`));
});
