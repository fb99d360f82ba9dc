import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { callControl, controlPath } from '../../../core/control/control.ts';
import { newId } from '../../../core/domain/ids.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { concealSecrets, createLog } from '../../../core/runtime/log.ts';
import { createLogOutput, droppedLogLines } from '../../../core/runtime/log-output.ts';
import { indiscretions } from '../../helpers/discretion.ts';
import { openDomain } from '../../helpers/domain.ts';
import { connectListen, refusedListen } from '../../helpers/listen-client.ts';
import { countingStt } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { changeDatabase } from '../../helpers/sqlite.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const METRICS_TOKEN = 'metrics-token-of-this-test';

/** A process whose whole output is recorded. */
function run(t: ExecutionContext, args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, args, {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...{ EARSHOT_LOG__LEVEL: 'trace', EARSHOT_LOG__FORMAT: 'json' },
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', data => {
      output += data;
    });
  return { child, output: () => output };
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'close');
}

async function startCore(t: ExecutionContext, format = 'json') {
  const dataDir = await mkdtemp(join(tmpdir(), 'earshot-log-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const file = join(dataDir, 'earshot.yaml');
  await writeFile(file, stringify({ ...countingStt(), port: 0, dataDir, metrics: { token: METRICS_TOKEN } }));
  const core = run(t, [join(ROOT, 'core/main.ts')], {
    EARSHOT_CONFIG: file,
    EARSHOT_LOG__FORMAT: format,
  });
  const [{ url }] = (await once(core.child, 'message')) as [{ url: string }];
  const control = async <Name extends 'key' | 'token'>(
    name: Name,
    given: Parameters<typeof callControl>[2],
  ) => {
    const answer = await callControl(controlPath(dataDir), name, given as never);
    if (answer === 'absent') throw new Error('core does not answer');
    return answer;
  };
  const { key } = (await control('key', { user: 'owner', scopes: ['listen'] })) as { key: string };
  const { token } = (await control('token', { user: 'owner' })) as { token: string };
  return { ...core, url, dataDir, key, token };
}

test('no log at any level contains a word of a conversation or a credential', async t => {
  const core = await startCore(t);
  const { url, key, token } = core;

  const client = await connectListen(url, token, { ...PCM, custom_stt: 'enabled' });
  const suggest = (text: unknown) =>
    client.socket.send(
      JSON.stringify({
        type: 'suggested_transcript',
        stt_provider: 'phone',
        segments: [{ text, speaker: 'SPEAKER_00', start: 0, end: 1 }],
      }),
    );
  suggest('the zebra has an umbrella');
  await client.until('segments');
  suggest({ wrong: 'quagmire' });
  client.socket.send('{"type": "quagmire');
  client.socket.send('{"type":"finish_conversation"}');
  await client.until('memory_created');
  const database = join(core.dataDir, 'earshot.db');
  await changeDatabase(database, 'alter table segments rename to lost');
  suggest('my marmalade is mouldy');
  await client.closed;
  await changeDatabase(database, 'alter table lost rename to segments');

  const recorded = await connectListen(url, key, { ...PCM, client_device_id: 'recorded' });
  recorded.socket.send(samplesToBytes(joined(speech('budget'), silence(1))));
  await recorded.until('segments');
  const [heard] = recorded.segments();
  recorded.socket.close();
  const web = await connectListen(url, null, PCM, '/v4/web/listen');
  web.socket.send(JSON.stringify({ type: 'auth', token }));
  await web.until('conversation_session');
  web.socket.close();
  await refusedListen(url, `${key.slice(0, -1)}x`, PCM);
  for (const credential of [key, token, METRICS_TOKEN, 'a-wrong-credential'])
    for (const path of ['/v1/dev/user/conversations', '/metrics', `/nowhere?token=${token}`])
      await fetch(url + path, { headers: { authorization: `Bearer ${credential}` } });

  const bridge = run(
    t,
    [join(ROOT, 'bridge/bin.mjs'), '--simulate', join(ROOT, 'test/fixtures/budget.wav')],
    {
      EARSHOT_DATA_DIR: join(core.dataDir, 'bridge-of-the-test'),
      EARSHOT_BRIDGE__CORE: url.replace('http', 'ws'),
      EARSHOT_BRIDGE__KEY: key,
    },
  );
  while (!bridge.output().includes('"segments"'))
    await once(bridge.child.stderr as NodeJS.ReadableStream, 'data');
  await end(bridge.child);
  await end(core.child);

  const output = core.output() + bridge.output();
  for (const said of [
    'stream closed',
    'wearable streams',
    'connected to core',
    '"counts"',
    'cannot be served',
  ])
    t.true(output.includes(said), said);
  t.regex(heard?.text ?? '', /^\d+ tenths$/);
  const words = ['zebra', 'umbrella', 'quagmire', 'marmalade', 'mouldy', ' tenths'];
  for (const secret of [...words, key, key.slice(8), token, METRICS_TOKEN, 'a-wrong-credential']) {
    const line = output.split('\n').find(text => text.toLowerCase().includes(secret));
    t.is(line, undefined, secret);
  }
});

test('no log at any level and no file contains a password or a token, however a sign-in ends', async t => {
  const core = await startCore(t);
  const { url, dataDir } = core;
  const [right, wrong, other] = ['persimmon porcupine', 'gooseberry giraffe', 'nectarine narwhal'];
  const setPassword = (password: string) =>
    callControl(controlPath(dataDir), 'user.password', { user: 'owner', password });
  await setPassword(right);
  await t.throwsAsync(setPassword('quince'), { message: /12 to 256/ });
  const signIn = async (body: unknown) => {
    const response = await fetch(`${url}/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, answer: (await response.json()) as { token: string } };
  };
  const { answer } = await signIn({ name: 'owner', password: right });
  const statuses: number[] = [];
  for (const body of [
    { name: 'owner', password: wrong },
    { name: wrong, password: wrong },
    { name: { first: wrong }, password: [wrong] },
    `{"name": "owner", "password": "${wrong}`,
    { name: 'owner', password: right.repeat(10_000) },
  ])
    statuses.push((await signIn(body)).status);
  const database = join(dataDir, 'earshot.db');
  for (const [broken, mended] of [
    ['plugin_state rename column value to lost', 'plugin_state rename column lost to value'],
    ['attempts rename to lost', 'lost rename to attempts'],
  ]) {
    await changeDatabase(database, `alter table ${broken}`);
    statuses.push((await signIn({ name: 'owner', password: other })).status);
    await changeDatabase(database, `alter table ${mended}`);
  }
  t.deepEqual(statuses, [401, 401, 422, 422, 413, 500, 503]);
  const fromElsewhere = [`${answer.token}x`, answer.token.replace(/[^.]+$/, 'c2lnbmF0dXJl')];
  for (const token of [answer.token, ...fromElsewhere])
    await fetch(`${url}/v1/dev/user/folders`, { headers: { authorization: `Bearer ${token}` } });
  await end(core.child);

  t.true(core.output().includes('request failed'));
  const files = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const contents = await Promise.all(
    files.filter(file => file.isFile()).map(file => readFile(join(file.parentPath, file.name), 'latin1')),
  );
  t.true(contents.join('').includes('$argon2id$'), 'what is kept is found in the files');
  const kept = [core.output(), ...contents].join('\n').toLowerCase();
  const fruit = ['persimmon', 'gooseberry', 'nectarine', 'quince'];
  for (const secret of [...fruit, ...answer.token.split('.').slice(1)])
    t.false(kept.includes(secret.toLowerCase()), secret);
});

test('credentials are redacted everywhere, by field name, by pattern and as text', t => {
  let output = '';
  const log = createLog({ level: 'trace', format: 'json' }, { write: line => (output += line) });
  concealSecrets(['correct horse "battery"']);
  const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJvd25lciJ9.c2lnbmF0dXJlLWxvbmc';
  log.trace({ apiKey: 'named-1', headers: { Authorization: 'named-2', cookie: 'named-3' } }, 'by name');
  log.child({ deep: { config: { password: 'named-4' } } }).info('by name in a child');
  log.warn({ err: new Error('401 for omi_dev_0123456789abcdef0123456789abcdef') }, `token ${jwt}`);
  log.error(
    { err: new AppError('internal', 'x', { cause: new Error('Bearer abcdefgh-ijklmnop-qrst') }) },
    'look',
  );
  log.fatal({ deep: { er: { than: { any: { path: 'correct horse "battery"' } } } } }, 'text');
  t.notRegex(output, /named-|0123456789abcdef|eyJ|abcdefgh|horse/);
  t.is(
    output
      .trim()
      .split('\n')
      .every(line => JSON.parse(line).msg),
    true,
  );
});

test('a log whose reader is gone, or does not read, costs the server only its lines, which are counted', async t => {
  for (const format of ['json', 'pretty']) {
    const core = await startCore(t, format);
    const dropped = async () => {
      const headers = { Authorization: `Bearer ${METRICS_TOKEN}` };
      const text = await (await fetch(new URL('/metrics', core.url), { headers })).text();
      return Number(/^earshot_log_dropped_lines (\d+)$/m.exec(text)?.[1]);
    };
    t.is(await dropped(), 0);
    core.child.stdout?.destroy();
    core.child.stderr?.destroy();
    const socket = new WebSocket(`${core.url.replace('http', 'ws')}/v4/web/listen`);
    socket.onopen = () => socket.send('no credential'); // that is logged
    await new Promise(resolve => Object.assign(socket, { onclose: resolve, onerror: resolve }));
    t.true((await dropped()) > 0);
    t.is(core.child.exitCode, null);
  }
});

test('a log on a full disk, or with a stalled reader, continues when possible, and reports missing lines', async t => {
  const taken: string[] = [];
  let error: Error | null = new Error('ENOSPC');
  const disk = new Writable({
    decodeStrings: false,
    autoDestroy: false,
    write(line, _encoding, done) {
      if (!error) taken.push(line);
      done(error);
    },
  });
  // the state of Node's own standard streams after an error
  const stream = {
    write: (text: string, done: (error?: Error | null) => void) =>
      error ? done(error) : disk.write(text, done),
    writableLength: 0,
    on: disk.on.bind(disk),
  };
  const before = droppedLogLines();
  const log = createLog({ level: 'info', format: 'json' }, createLogOutput(stream as never));
  log.info('first');
  log.info('second');
  t.is(droppedLogLines() - before, 2);
  error = null;
  stream.writableLength = 2 ** 21;
  log.info('third');
  t.is(droppedLogLines() - before, 3);
  stream.writableLength = 0;
  log.info('fourth');
  await new Promise(setImmediate);
  t.deepEqual(
    taken.map(line => JSON.parse(line)).map(({ msg, dropped }) => [msg.slice(0, 22), dropped]),
    [
      ['fourth', undefined],
      ['log lines were dropped', 3],
    ],
  );
});

test('a log shown on a terminal cannot control the terminal', t => {
  let output = '';
  const log = createLog({ level: 'info', format: 'json' }, { write: line => (output += line) });
  log.info({ name: 'a\u001b]0;owned\u0007b', path: 'C:\\u001b', c1: '\u009b2J' }, 'red \u001b[31m\r!\nnext');
  t.notRegex(output.trim(), /\p{Cc}/u);
  t.like(JSON.parse(output), {
    name: 'a ]0;owned b',
    path: 'C:\\u001b',
    c1: ' 2J',
    msg: 'red  [31m !\nnext',
  });
});

test('the tests find personal data and keys in a log', async t => {
  const { storage, users, memories } = await openDomain(t);
  const { id } = await users.add('Ann');
  const content = 'Her sister "Lu" plays the cello';
  await memories.create(id, [{ content, category: 'other', visibility: 'private', tags: [] }]);
  const key = `omi_dev_${'0123456789abcdef'.repeat(2)}`;
  const shown = (...lines: string[]) => indiscretions(lines, storage);
  t.deepEqual(await shown('{"msg":"a memory was made"}'), []);
  t.deepEqual(await shown('{"msg":"started"}', JSON.stringify({ msg: `made: ${content}` })), [content]);
  t.deepEqual(await shown(`{"msg":"asked with ${key}"}`), [key]);

  const vector = Float32Array.of(0.1, -0.7, 0.3, 0.6);
  await storage.voices.putSample({
    ...{ id: newId(1), userId: id, personId: null, conversationId: null, speakerId: null },
    ...{ space: 'sherpa.tests', vector, seconds: 9, createdAt: 1 },
  });
  const told = [JSON.stringify({ vector }), JSON.stringify([...vector]), Buffer.from(vector.buffer)];
  for (const form of told) {
    const line = typeof form === 'string' ? form : form.toString('base64');
    t.not((await shown(line)).length, 0, line);
  }
  t.not((await shown(Buffer.from(vector.buffer).toString('hex'))).length, 0);
});
