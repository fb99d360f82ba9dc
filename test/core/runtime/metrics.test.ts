import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Overrides } from '../../../config/load.ts';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { createMetrics } from '../../../core/runtime/metrics.ts';
import { accountOf } from '../../helpers/accounts.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient, refusedListen } from '../../helpers/listen-client.ts';
import { openRaw } from '../../helpers/raw-socket.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { changeDatabase } from '../../helpers/sqlite.ts';

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const TOKEN = 'nobody-guesses-this-token';
const TALK = joined(speech('budget'), silence(1));

const send = (client: ListenClient, samples: Int16Array) => client.socket.send(samplesToBytes(samples));

// ── reading the text format ─────────────────────────────────────────────────────────────────────────────────────

interface Family {
  help: string;
  type: string;
  /** By name and labels, as written. */
  samples: Map<string, number>;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const LABEL = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"`;
const SAMPLE = new RegExp(`^(${NAME})(\\{${LABEL}(?:,${LABEL})*,?\\})? (-?[0-9.eE+-]+|[Nn]a[Nn]|[+-]Inf)$`);
const SUFFIXES: Record<string, string[]> = { histogram: ['_bucket', '_sum', '_count'] };

/** Parses the text format, version 0.0.4, with numbers as Go reads them; throws at anything else. */
function parse(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  let current: { name: string; family: Family } | null = null;
  for (const line of text.split('\n').filter(line => line !== '')) {
    const [, help, explained = ''] = new RegExp(`^# HELP (${NAME}) (.+)$`).exec(line) ?? [];
    const [, typed, type = ''] = new RegExp(`^# TYPE (${NAME}) (counter|gauge|histogram)$`).exec(line) ?? [];
    if (help) {
      if (families.has(help)) throw new Error(`${help} comes twice`);
      current = { name: help, family: { help: explained, type: '', samples: new Map() } };
      families.set(help, current.family);
    } else if (typed) {
      if (current?.name !== typed) throw new Error(`the type of ${typed} does not follow its help`);
      current.family.type = type;
    } else addSample(current, line);
  }
  return families;
}

function addSample(current: { name: string; family: Family } | null, line: string): void {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (!current || !name) throw new Error(`no sample: ${line}`);
  const names = (SUFFIXES[current.family.type] ?? ['']).map(suffix => current.name + suffix);
  if (!names.includes(name)) throw new Error(`${line} stands under ${current.name}`);
  const series = name + labels;
  if (current.family.samples.has(series)) throw new Error(`${series} comes twice`);
  current.family.samples.set(series, Number(value.replace('Inf', 'Infinity')));
}

// ── scraping ────────────────────────────────────────────────────────────────────────────────────────────────────────

async function ask(server: TestServer, headers: Record<string, string> = {}, host = '127.0.0.1') {
  const { port } = new URL(server.url);
  const asked = request({ host, port, path: '/metrics', headers });
  asked.end();
  const [response] = await new Promise<[import('node:http').IncomingMessage]>((resolve, reject) => {
    asked.once('response', (...answer) => resolve(answer));
    asked.once('error', reject);
  });
  const chunks = await response.toArray();
  return {
    status: response.statusCode,
    headers: response.headers,
    text: Buffer.concat(chunks).toString('utf8'),
  };
}

async function families(server: TestServer) {
  const { status, text } = await ask(server);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return parse(text);
}

/** The sum of all series of this name whose labels have all of these. */
async function value(server: TestServer, name: string, labels: Record<string, string> = {}): Promise<number> {
  const wanted = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
  let sum = 0;
  for (const { samples } of (await families(server)).values()) {
    for (const [series, number] of samples)
      if (series.split('{', 1)[0] === name && wanted.every(part => series.includes(part))) sum += number;
  }
  return sum;
}

async function listening(t: ExecutionContext, overrides: Overrides = {}, query = {}) {
  const server = await openServer(t, { ...countingStt(), ...overrides });
  const client = await connectListen(server.url, server.key, { ...PCM, ...query });
  await client.until('conversation_session');
  t.teardown(() => client.socket.terminate());
  return { server, client };
}

// ── metrics ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('the response is in the text format, each metric with its help, type and unit', async t => {
  const { server, client } = await listening(t);
  send(client, TALK);
  await client.until('segments');
  const { headers, text } = await ask(server);
  t.is(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  const all = parse(text);
  for (const [name, { help, type, samples }] of all) {
    t.true(help.length > 10 || !name.startsWith('earshot_'), `${name}: ${help}`);
    t.regex(type, /^(counter|gauge|histogram)$/, name);
    if (name.startsWith('earshot_') && type === 'counter') t.regex(name, /_total$/);
    if (name.startsWith('earshot_') && type === 'histogram') t.regex(name, /_seconds$/);
    if (type === 'histogram') checkHistogram(t, name, samples);
  }
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_open_fds'])
    t.true((all.get(name)?.samples.get(name) ?? 0) > 0, name);
  t.true(all.has('nodejs_eventloop_lag_p99_seconds'));
});

function checkHistogram(t: ExecutionContext, name: string, samples: Map<string, number>) {
  const below = new Map<string, number>();
  for (const [series, count] of samples) {
    const [, le, rest = ''] = /_bucket\{le="([^"]+)",?(.*)\}$/.exec(series) ?? [];
    if (le === undefined) continue;
    t.true(count >= (below.get(rest) ?? 0), `${series} has no fewer than the bucket before it`);
    below.set(rest, count);
    if (le === '+Inf') t.is(samples.get(`${name}_count${rest && `{${rest}}`}`), count, series);
  }
}

test('a played stream changes every metric it should', async t => {
  const { server, client } = await listening(t);
  const codec = { codec: 'pcm16' };
  await eventually(async () => (await value(server, 'earshot_streams_open', codec)) === 1);
  t.is(await value(server, 'earshot_stream_messages_total', codec), 0);
  const beforeMs = performance.now();
  for (let at = 0; at < TALK.length; at += 1600) send(client, TALK.subarray(at, at + 1600));
  await client.until('segments');
  await eventually(async () => (await value(server, 'earshot_utterances_total', { outcome: 'success' })) > 0);
  const tookS = (performance.now() - beforeMs) / 1000;

  const stream = (name: string) => value(server, `earshot_stream_${name}`, codec);
  t.is(await stream('messages_total'), Math.ceil(TALK.length / 1600));
  t.is(await stream('received_bytes_total'), TALK.length * 2);
  t.true(Math.abs((await stream('audio_seconds_total')) - TALK.length / 16_000) < 0.001);
  t.is(await stream('bad_frames_total'), 0);
  const [decode, gate, detector] = [
    await stream('decode_seconds_total'),
    await stream('gate_seconds_total'),
    await stream('detector_seconds_total'),
  ];
  t.true(decode > 0 && decode < tookS, `${decode}`);
  t.true(detector > 0 && detector <= gate && gate < tookS, `${detector} ${gate}`);

  const texts = client.segments().length;
  t.is(await value(server, 'earshot_segments_sent_total'), texts);
  t.is(await value(server, 'earshot_recogniser_seconds_count', { provider: 'counting' }), texts);
  const latency = await value(server, 'earshot_segment_latency_seconds_sum');
  const beyond = await value(server, 'earshot_segment_latency_beyond_hangover_seconds_sum');
  t.true(beyond > 0 && beyond <= latency && latency < tookS, `${beyond} ${latency}`);
  t.true((await value(server, 'earshot_transaction_seconds_count', { name: 'connect' })) === 1);
  client.socket.close();
  await eventually(async () => (await value(server, 'earshot_streams_open', codec)) === 0);
});

test('a frame that cannot be decoded is counted with its codec', async t => {
  const { server, client } = await listening(t, {}, { codec: 'opus_fs320' });
  client.socket.send(Buffer.from('ff'.repeat(40), 'hex'));
  await eventually(
    async () => (await value(server, 'earshot_stream_bad_frames_total', { codec: 'opus_fs320' })) === 1,
  );
  t.is(await value(server, 'earshot_streams_open', { codec: 'opus_fs320' }), 1);
});

test('audio waiting for a recogniser, in memory and on disk, is reported in bytes', async t => {
  const waiting = { ...countingStt({ behaviour: 'hangs' }), listen: { maxQueuedBytes: 64 * 1024 } };
  const { server, client } = await listening(t, waiting);
  const queue = (name: string) => value(server, 'earshot_queue_bytes', { queue: name });
  for (let i = 0; i < 5; i++) send(client, TALK);
  const onDisk = () => value(server, 'earshot_spool_bytes', { state: 'disk' });
  await eventually(async () => (await queue('speech')) > 64 * 1024 && (await onDisk()) > 4 * TALK.byteLength);
  t.true((await value(server, 'earshot_spool_sync_seconds_count')) > 0);
});

test('the loss of a recogniser during an utterance is counted, and the text still arrives', async t => {
  const { server, client } = await listening(t, countingStt({ behaviour: 'fails-once' }));
  send(client, TALK);
  await client.until('segments');
  t.is(await value(server, 'earshot_recogniser_losses_total'), 1);
});

test('jobs are reported by kind and state, and their runs by outcome', async t => {
  const { server, client } = await listening(t);
  const { post } = await accountOf(server, 'owner');
  const change = (sql: string) => changeDatabase(join(server.dataDir, 'earshot.db'), sql);
  /** The runner notices external changes once a job of its own is due. */
  const wakeJobs = () => post('/v1/dev/user/memories', { content: 'Likes tea' });
  send(client, TALK);
  await client.until('segments');
  const kind = 'conversation.finish';
  t.is(await value(server, 'earshot_jobs', { kind, state: 'waiting' }), 1);

  client.socket.close();
  await client.closed;
  await eventually(async () => (await value(server, 'earshot_streams_open')) === 0);
  await change('alter table segments rename to lost');
  await change('update conversations set last_activity_at = 0; update jobs set run_at = 0, due_at = 0');
  await wakeJobs();
  await eventually(
    async () => (await value(server, 'earshot_job_runs_total', { kind, outcome: 'failed' })) === 1,
  );
  t.is(await value(server, 'earshot_jobs', { kind, state: 'failed' }), 1);
  t.is(await value(server, 'earshot_job_seconds_count', { kind }), 1);

  await change('alter table lost rename to segments');
  await change('update jobs set attempts = 99, run_at = 0, due_at = 0 where error is not null');
  await wakeJobs();
  await eventually(
    async () => (await value(server, 'earshot_job_runs_total', { kind, outcome: 'dead' })) === 1,
  );
  t.is(await value(server, 'earshot_jobs', { kind, state: 'dead' }), 1);
});

test('requests are reported by the pattern of their route, and unknown paths as one', async t => {
  const server = await openServer(t, countingStt());
  await server.get('/v1/dev/user/conversations/0199c0de-0000-7000-8000-000000000000');
  await server.get('/secret-path');
  await server.get('/another-path');
  const counted = (labels: Record<string, string>) =>
    value(server, 'earshot_http_request_seconds_count', labels);
  t.is(
    await counted({ method: 'GET', route: '/v1/dev/user/conversations/:conversation_id', status: '404' }),
    1,
  );
  t.is(await counted({ method: 'GET', route: 'none', status: '404' }), 2);
  t.true((await counted({ route: '/metrics', status: '200' })) > 0);
});

test('a refused upgrade counts as a request, and too many wrong credentials do, too', async t => {
  const server = await openServer(t, { ...countingStt(), rateLimits: { failed: 2 } });
  const { key } = await server.app.commands.key({ user: 'owner', scopes: ['memories:read'] });
  t.is((await refusedListen(server.url, key)).status, 403);
  for (const status of [401, 401, 429]) t.is((await refusedListen(server.url, 'nonsense')).status, status);
  t.is((await refusedListen(server.url, server.key, {}, '/v4/secret-path')).status, 404);
  const handshake = 'GET /v4/listen HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const odd = await openRaw(server.url, handshake);
  await odd.ended;
  t.regex(odd.received(), /^HTTP\/1\.1 400 /);
  const counted = (route: string, status: string) =>
    value(server, 'earshot_http_request_seconds_count', { method: 'GET', route, status });
  t.is(await counted('/v4/listen', '400'), 1);
  t.is(await counted('/v4/listen', '401'), 2);
  t.is(await counted('/v4/listen', '403'), 1);
  t.is(await counted('/v4/listen', '429'), 1);
  t.is(await counted('none', '404'), 1);
});

test('the state of every plugin is reported', async t => {
  const server = await openServer(t, { ...countingStt(), stt: ['counting', 'openai'] });
  const state = (plugin: string, name: string) =>
    value(server, 'earshot_plugin_state', { plugin, state: name });
  t.is(await state('counting', 'ready'), 1);
  t.is(await state('counting', 'degraded'), 0);
  t.is((await state('openai', 'degraded')) + (await state('openai', 'ready')), 1);
});

test('an unavailable database hides only the job metrics', async t => {
  const metrics = createMetrics({
    now: () => 0,
    plugins: () => [{ name: 'acme', state: 'ready' }],
    jobs: () => Promise.reject(new Error('away')),
  });
  const all = parse(await metrics.text());
  t.is(all.get('earshot_jobs')?.samples.size, 0);
  t.is(all.get('earshot_plugin_state')?.samples.get('earshot_plugin_state{plugin="acme",state="ready"}'), 1);
});

test('no label contains personal data', async t => {
  const { server, client } = await listening(
    t,
    {},
    { stream: 'a-private-stream', client_device_id: 'a-private-device', stt_service: 'a-private-wish' },
  );
  send(client, TALK);
  await client.until('segments');
  const { conversation_id: conversation } = await client.until('conversation_session');
  const { text } = await ask(server);
  const words = client.segments().flatMap(segment => [segment.text, segment.id]);
  t.true(words.length > 0);
  for (const secret of [server.userId, server.key, conversation, 'owner', 'private', ...words])
    t.false(text.includes(secret), secret);
});

// ── access ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test('without a token, only this machine may read them, without a proxy, by its own name', async t => {
  const server = await openServer(t, { ...countingStt(), host: '0.0.0.0' });
  t.is((await ask(server)).status, 200);
  t.is((await ask(server, { host: 'localhost:8420' })).status, 200);
  const others: Record<string, string>[] = [
    { 'X-Forwarded-For': '127.0.0.1' },
    { Forwarded: 'for=127.0.0.1' },
    { Via: '1.1 proxy' },
    { Host: 'rebound.example' },
  ];
  for (const headers of others) {
    const { status, text } = await ask(server, headers);
    t.is(status, 403, JSON.stringify(headers));
    t.regex(JSON.parse(text).detail, /metrics\.token/);
  }
  const outside = Object.values(networkInterfaces())
    .flat()
    .find(it => it?.family === 'IPv4' && !it.internal);
  if (!outside) return t.log('no address but loopback: not tried from another one');
  t.is((await ask(server, { host: 'localhost' }, outside.address)).status, 403);
});

test('with a token, every client that sends it may read them, from anywhere', async t => {
  const server = await openServer(t, { ...countingStt(), metrics: { token: TOKEN } });
  for (const authorization of [undefined, TOKEN, 'Bearer ', `Bearer ${TOKEN}x`, `Bearer ${server.key}`]) {
    const { status, headers, text } = await ask(server, authorization ? { authorization } : {});
    t.is(status, 401, authorization);
    t.is(headers['www-authenticate'], 'Bearer');
    t.false(text.includes(TOKEN));
  }
  const forwarded = {
    authorization: `Bearer ${TOKEN}`,
    'X-Forwarded-For': '203.0.113.9',
    host: 'earshot.example',
  };
  t.is((await ask(server, forwarded)).status, 200);
});

// ── documentation ───────────────────────────────────────────────────────────────────────────────────────────────────

test('every metric in the documentation exists', async t => {
  const manual = await readFile(join(import.meta.dirname, '../../../docs/metrics.md'), 'utf8');
  const named = [...manual.matchAll(/`((?:earshot|process|nodejs)_\w+)/g)].map(([, name = '']) => name);
  t.true(named.length >= 15, `${named.length} names`);
  const { server, client } = await listening(t);
  send(client, TALK);
  await client.until('segments');
  const all = await families(server);
  for (const name of named) t.true(all.has(name), name);
});

test('percentiles of latencies are exact, and left out where too few were measured', t => {
  let now = 0;
  const metrics = createMetrics({ now: () => now, plugins: () => [], jobs: async () => [] });
  const nothing = { count: 0, oldestMs: null, newestMs: null, p50: null, p90: null, p99: null, max: null };
  t.deepEqual(metrics.latency(), { total: nothing, beyond: nothing });
  const measure = (latencyMs: number) => {
    now += 1000;
    metrics.transcribed('test', { recogniserMs: 1, latencyMs, beyondMs: latencyMs / 2 });
  };
  for (let ms = 10; ms >= 1; ms -= 1) measure(ms * 100);
  const few = { count: 10, oldestMs: 9000, newestMs: 0, p50: 500, p90: 900, p99: null, max: 1000 };
  t.deepEqual(metrics.latency().total, few);
  t.is(metrics.latency().beyond.p50, 250);
  for (let ms = 1; ms <= 1005; ms += 1) measure(ms);
  t.like(metrics.latency().total, {
    count: 1000,
    oldestMs: 999_000,
    p50: 505,
    p90: 905,
    p99: 995,
    max: 1005,
  });
});
