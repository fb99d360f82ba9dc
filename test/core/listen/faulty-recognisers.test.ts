import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { parseWav, samplesToBytes } from '../../../core/audio/pcm.ts';
import { createLog } from '../../../core/runtime/log.ts';
import { accountOf, operatorOf } from '../../helpers/accounts.ts';
import { eventually } from '../../helpers/eventually.ts';
import { fastClock } from '../../helpers/fast-clock.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { atPeak, join as joined, silence, speech } from '../../helpers/sound.ts';

const QUERY = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 14400 };
const SAID = joined(speech('budget'), silence(4));

/** Outcomes that clients of each receive. */
const VICES: Record<string, 'timeout' | 'upstream_error'> = {
  ...{ shut: 'timeout', hangs: 'timeout', late: 'timeout', slow: 'timeout' },
  ...{ refused: 'upstream_error', void: 'upstream_error', unclosed: 'upstream_error' },
  ...{ slammed: 'upstream_error', dying: 'upstream_error', throws: 'upstream_error' },
  ...{ thrower: 'upstream_error', number: 'upstream_error', text: 'upstream_error', bare: 'upstream_error' },
  ...{ nan: 'upstream_error', part: 'upstream_error', negative: 'upstream_error', before: 'upstream_error' },
  ...{ beyond: 'upstream_error', reversed: 'upstream_error', nothing: 'upstream_error' },
  ...{ huge: 'upstream_error', nul: 'upstream_error', speaker: 'upstream_error', endless: 'upstream_error' },
};

/** Time passes 40 times as fast from now on; the good recogniser has English, the bad one every language. */
async function openFaulty(t: ExecutionContext) {
  const vices = join(tmpdir(), `earshot-vices-${randomUUID()}`);
  await writeFile(vices, '');
  t.teardown(() => rm(vices, { force: true }));
  const use = join(import.meta.dirname, '../../fixtures/plugins/faulty-stt.ts');
  const { plugins } = countingStt();
  const lines: string[] = [];
  const log = createLog({ level: 'warn', format: 'json' }, { write: line => void lines.push(line) });
  const clock = fastClock(t);
  const server = await openServer(
    t,
    {
      stt: ['faulty', 'counting'],
      plugins: { ...plugins, faulty: { use, vices } },
      listen: { idleMs: 24 * 3600_000 },
    },
    { clock, log },
  );
  clock.hasten(40);
  const connect = (language: string, query: Record<string, string | number> = {}) =>
    connectListen(server.url, server.key, { ...QUERY, client_device_id: language, language, ...query });
  return { server, clock, lines, connect, reform: () => rm(vices) };
}

const say = (client: ListenClient, sound: Int16Array) => client.socket.send(samplesToBytes(sound));

interface Stored {
  transcript_segments: { text: string; start: number; end: number; stt_provider?: string }[];
}

async function stored(server: TestServer, client: ListenClient): Promise<Stored['transcript_segments']> {
  const { conversation_id: id } = await client.until('conversation_session');
  const { body } = await server.get(`/v1/dev/user/conversations/${id}?include_transcript=true`);
  return (body as Stored).transcript_segments;
}

test('a faulty recogniser affects only its own client, which receives the outcome, and nothing is lost', async t => {
  const { server, lines, connect, reform } = await openFaulty(t);
  const neighbour = await connect('en', { stt_service: 'counting' });
  say(neighbour, joined(SAID, SAID, SAID));

  const clients = await Promise.all(
    Object.entries(VICES).map(async ([vice, outcome]) => {
      const client = await connect(`de-${vice}`, { stream: vice, ack: 'enabled' });
      say(client, SAID);
      return { vice, outcome, client };
    }),
  );
  for (const { vice, outcome, client } of clients) {
    const { code, reason } = await client.closed;
    t.deepEqual({ vice, code, reason }, { vice, code: 1011, reason: 'stt_failed' });
    const failed = client.events.find(event => 'status' in event && event.status === 'stt_failed');
    t.like(failed, { outcome, provider: 'faulty', retryable: true }, vice);
    t.notRegex(JSON.stringify(client.events), /vendor|sk-123/);
    t.deepEqual(client.segments(), [], vice);
    t.deepEqual(await stored(server, client), [], vice);
  }
  t.regex(lines.join(''), /"provider":"faulty".*breaks its contract/);

  say(neighbour, SAID);
  await neighbour.until('segments', () => neighbour.segments().length === 4);
  t.true(neighbour.segments().every(segment => segment.stt_provider === 'counting'));

  await reform();
  const held = clients.filter(({ client }) => client.events.some(event => event.type === 'ack'));
  t.true(held.length > 0);
  // The client sends unacknowledged audio again.
  for (const { vice } of clients)
    if (!held.some(kept => kept.vice === vice))
      say(await connect(`de-${vice}`, { stream: vice, from: 0 }), SAID);
  for (const { vice, client } of clients) {
    await eventually(async () => (await stored(server, client)).length > 0);
    t.is((await stored(server, client)).length, 1, vice);
  }
});

test('if another recogniser has the language, it replaces the bad one, and each word is stored once', async t => {
  const { server, connect } = await openFaulty(t);
  await Promise.all(
    [...Object.keys(VICES), 'twice'].map(async vice => {
      const client = await connect(`en-${vice}`);
      say(client, joined(SAID, SAID));
      await client.until('segments', () => client.segments().length === 2);
      const told = client.events.flatMap(event => (event.type === 'service_status' ? [event.status] : []));
      t.false(told.includes('stt_failed'), vice);
      t.is((await stored(server, client)).length, 2, vice);
      t.is(client.socket.readyState, client.socket.OPEN, vice);
      if (vice !== 'twice') t.is(client.segments()[1]?.stt_provider, 'counting', vice);
      client.socket.close();
      await client.closed;
    }),
  );
});

test('an utterance that every recogniser fails at is quarantined as a file, and its stream continues', async t => {
  const { server, clock, lines, connect } = await openFaulty(t);
  clock.hasten(100);
  const loud = atPeak(0, speech('health'));
  const first = await connect('de-loud', { stream: 'walk' });
  say(first, joined(SAID, loud, silence(4), SAID));
  await first.closed;
  t.is(first.segments().length, 1);

  await eventually(async () => (await stored(server, first)).length === 2);
  const files = await readdir(join(server.dataDir, 'untranscribed'));
  const [file, ...others] = files.filter(name => name.endsWith('.wav'));
  t.deepEqual(others, []);
  const path = join(server.dataDir, 'untranscribed', file ?? '');
  const { sampleRate, samples } = parseWav(await readFile(path));
  t.is(sampleRate, 16_000);
  t.true(samples.length > 0.8 * loud.length && samples.includes(32_767));
  t.true(lines.join('').includes(path));

  const owner = await accountOf(server, 'owner');
  const { conversation_id: conversation } = await first.until('conversation_session');
  const [kept, ...rest] = await owner.get(`/v1/conversations/${conversation}/audio`);
  t.deepEqual(rest, []);
  t.is(`${kept?.id}.wav`, file ?? '');
  const listen = (token: string, range?: string) =>
    fetch(`${server.url}/v1/audio/${kept?.id}`, {
      headers: { Authorization: `Bearer ${token}`, ...(range === undefined ? {} : { Range: range }) },
    });
  const bytes = await readFile(path);
  const whole = await listen(owner.token);
  t.like(Object.fromEntries(whole.headers), {
    'content-type': 'audio/wav',
    'accept-ranges': 'bytes',
    'content-length': String(bytes.length),
  });
  t.true(bytes.equals(Buffer.from(await whole.arrayBuffer())));
  for (const [range, start, end] of [
    ['bytes=44-99', 44, 99],
    ['bytes=100-', 100, bytes.length - 1],
    ['bytes=-10', bytes.length - 10, bytes.length - 1],
  ] as const) {
    const part = await listen(owner.token, range);
    t.is(part.status, 206, range);
    t.is(part.headers.get('content-range'), `bytes ${start}-${end}/${bytes.length}`);
    t.true(bytes.subarray(start, end + 1).equals(Buffer.from(await part.arrayBuffer())));
  }
  t.is((await listen(owner.token, `bytes=${bytes.length}-`)).status, 416);
  for (const range of ['bytes=9-3', 'bytes=0-1,4-5', 'bytes=-']) {
    const answer = await listen(owner.token, range);
    t.is(answer.status, 200, range);
    t.is((await answer.arrayBuffer()).byteLength, bytes.length);
  }
  const token = await operatorOf(server);
  t.is((await listen(token)).status, 404, 'it is of another account');

  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.regex(metrics, /earshot_utterances_total\{outcome="quarantined"\} 1\n/);
  t.regex(metrics, /earshot_utterances_total\{outcome="success"\} 2\n/);
  const starts = (await stored(server, first)).map(({ start }) => start);
  const behind = (SAID.length + loud.length + 4 * 16_000) / 16_000;
  t.true(Math.abs((starts[1] ?? 0) - (starts[0] ?? 0) - behind) < 0.1, 'what follows lies where it was said');
});

test('audio is not read beyond what a slow recogniser can take', async t => {
  const { server, connect } = await openFaulty(t);
  const sound = joined(...Array.from({ length: 10 }, () => SAID));
  const heard = async () => {
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^earshot_stream_audio_seconds_total\{codec="pcm16"\} (\S+)$/m.exec(metrics)?.[1]);
  };
  const first = await connect('de-throws', { stream: 'walk' });
  for (let at = 0; at < sound.length; at += 1600) say(first, sound.subarray(at, at + 1600));
  t.is((await first.closed).code, 1011);
  const before = await heard();
  t.is((await (await connect('de-throws', { stream: 'walk' })).closed).code, 1011);
  const again = (await heard()) - before;
  t.true(again > 0 && again < (2.5 * SAID.length) / 16_000, `${again} s of ${sound.length / 16_000}`);
});
