import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createClock } from '../../../bridge/clock.ts';
import type { BridgeEvent } from '../../../bridge/events.ts';
import type { Recording } from '../../../bridge/spool/recording.ts';
import { openSpool } from '../../../bridge/spool/spool.ts';
import { fixedKey, type KeySource } from '../../../bridge/uplink/key.ts';
import { type CoreAddress, startUplink, type UplinkLimits } from '../../../bridge/uplink/uplink.ts';
import { runSession } from '../../../bridge/uplink/uplink-session.ts';
import { ListenQuery } from '../../../core/listen/protocol.ts';
import { type ListenServer, startListenServer } from '../../helpers/listen-server.ts';

const clock = createClock(Date.now);
const STARTED_AT = Date.UTC(2026, 10, 2, 12);
const INFO = {
  clientDeviceId: 'omi_1',
  deviceName: 'Omi',
  source: 'omi',
  codec: 'opus_fs320',
  sampleRate: 16000,
  frameMs: 20,
  startedAtMs: STARTED_AT,
};
/** Short retry delays, long limits. */
const LIMITS: UplinkLimits = {
  helloMs: 5000,
  keepAliveMs: 30_000,
  pingMs: 15_000,
  finalAckMs: 50,
  maxBufferedBytes: 256 * 1024,
  firstRetryMs: 10,
  maxRetryMs: 20,
  slowRetryMs: 60_000,
  photoMs: 5000,
  confirmMs: 10,
};

async function setUp(t: ExecutionContext, { spoolBytes = 1024 * 1024 } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'uplink-'));
  const lines: { level: number; msg: string }[] = [];
  const watchers = new Set<() => void>();
  const happened = () => {
    for (const look of [...watchers]) look();
  };
  const log = pino(
    { level: 'info' },
    {
      write(line) {
        lines.push(JSON.parse(line));
        happened();
      },
    },
  );
  const spool = await openSpool({ dir, maxBytes: spoolBytes, clock, log });
  const server = await startListenServer();
  const events: BridgeEvent[] = [];
  t.teardown(async () => {
    await server.kill();
    await spool.close();
    await rm(dir, { recursive: true });
  });

  function start(
    limits: Partial<UplinkLimits> = {},
    keys: KeySource = fixedKey('omi_dev_k'),
    core: CoreAddress = async () => server.url,
  ) {
    const uplink = startUplink({
      clientDeviceId: 'omi_1',
      spool,
      core,
      keys,
      conversationTimeoutS: 120,
      clock,
      log,
      limits: { ...LIMITS, ...limits },
      onEvent(event) {
        events.push(event);
        happened();
      },
    });
    t.teardown(uplink.stop);
    return uplink;
  }

  /** Resolves with the first matching event. */
  function event<E extends BridgeEvent['event']>(
    name: E,
    fits = (_: Extract<BridgeEvent, { event: E }>) => true,
  ) {
    const { promise, resolve } = Promise.withResolvers<Extract<BridgeEvent, { event: E }>>();
    const look = () => {
      const found = events.find(
        (one): one is Extract<BridgeEvent, { event: E }> =>
          one.event === name && fits(one as Extract<BridgeEvent, { event: E }>),
      );
      if (!found) return;
      watchers.delete(look);
      resolve(found);
    };
    watchers.add(look);
    look();
    return promise;
  }

  /** Resolves with the first matching log line. */
  function told(fits: (line: { level: number; msg: string }) => boolean): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const look = () => {
      const line = lines.find(fits);
      if (line) resolve(line.msg);
    };
    watchers.add(look);
    look();
    return promise;
  }

  /** The spool is empty. */
  function empty(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (spool.recordings('omi_1').length === 0) resolve();
    };
    spool.watch('omi_1', look);
    look();
    return promise;
  }

  return { spool, server, lines, start, event, told, empty };
}

/** Frames whose last four bytes are their number in the recording. */
function fill(recording: Recording, count: number, gapMs: (index: number) => number = () => 0): void {
  for (let i = 0; i < count; i += 1) {
    const frame = Buffer.alloc(20, 0xb8);
    frame.writeUInt32BE(recording.next, 16);
    recording.append(frame, gapMs(i));
  }
}

const held = (server: ListenServer, stream: string) => server.streams.get(stream)?.messages ?? [];
const numbers = (messages: { hex: string }[]) =>
  messages.map(({ hex }) => Number.parseInt(hex.slice(-8), 16));
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

test('audio is sent over a real WebSocket with the protocol of /v4/listen, and deleted once acknowledged', async t => {
  const { spool, server, start, empty } = await setUp(t);
  const recording = spool.begin(INFO);
  start();
  fill(recording, 5);
  await server.until(() => held(server, recording.stream).length === 5);
  fill(recording, 5);
  recording.end();
  await empty();
  const [connection] = server.connections;
  t.deepEqual(numbers(held(server, recording.stream)), upTo(10));
  t.is(await connection?.closed, 1000);
  t.is(connection?.authorization, 'Bearer omi_dev_k');
  t.like(connection?.query, {
    codec: 'opus_fs320',
    sample_rate: '16000',
    source: 'omi',
    client_device_id: 'omi_1',
    stream: recording.stream,
    from: undefined, // core continues at its position
    started_at: STARTED_AT,
    language: 'en',
    conversation_timeout: 120,
    ack: 'enabled',
  });
  t.is(server.connections.length, 1);
  t.is(spool.counts.bytes, 0);
});

test('audio recorded while core is unreachable arrives in order when it is back', async t => {
  const { spool, server, start, empty, event, lines } = await setUp(t);
  await server.kill();
  const recording = spool.begin(INFO);
  fill(recording, 50);
  start();
  await event('disconnected', ({ code }) => code === 1006);
  fill(recording, 50);
  await event('disconnected', ({ retryInMs }) => retryInMs > 12); // a later attempt
  const back = await startListenServer({ port: server.port });
  t.teardown(back.kill);
  fill(recording, 50);
  recording.end();
  await empty();
  t.deepEqual(numbers(held(back, recording.stream)), upTo(150));
  t.is(lines.filter(({ msg }) => /cannot be reached/.test(msg)).length, 1);
});

test('a core killed in the middle continues exactly where it stopped', async t => {
  const { spool, server, start, empty } = await setUp(t);
  server.acks = false;
  const recording = spool.begin(INFO);
  start();
  fill(recording, 300);
  await server.until(() => held(server, recording.stream).length === 300);
  await server.kill();
  fill(recording, 100);
  // It kept 120 of its messages: the rest was not on its disk.
  const kept = held(server, recording.stream).slice(0, 120);
  const query = server.streams.get(recording.stream)?.query;
  if (!query) return t.fail();
  const back = await startListenServer({
    port: server.port,
    held: new Map([[recording.stream, { query, messages: kept }]]),
  });
  t.teardown(back.kill);
  fill(recording, 100);
  recording.end();
  await empty();
  t.deepEqual(numbers(held(back, recording.stream)), upTo(500));
  t.is(back.connections.length, 1);
  t.like(back.connections[0], { repeated: 0 });
  t.is(back.holes, 0);
  t.is(back.connections[0]?.query.started_at, STARTED_AT);
});

test('a gap is announced right before its message, and repeated only with it', async t => {
  const { spool, server, start, empty } = await setUp(t);
  server.acks = false;
  const recording = spool.begin(INFO);
  start();
  fill(recording, 6, index => (index === 2 || index === 4 ? 40 * index : 0));
  await server.until(() => held(server, recording.stream).length === 6);
  server.streams.get(recording.stream)?.messages.splice(3); // 4 comes again with its gap, 2 does not
  server.connections[0]?.socket.terminate();
  server.acks = true;
  recording.end();
  await empty();
  const messages = held(server, recording.stream);
  t.deepEqual(numbers(messages), upTo(6));
  t.deepEqual(
    messages.map(({ gapMs }) => gapMs),
    [0, 0, 80, 0, 160, 0],
  );
  t.is(server.connections[1]?.repeated, 0);
});

test('audio that follows what a full spool dropped is a new stream, at its own time', async t => {
  const { spool, server, start, empty } = await setUp(t, { spoolBytes: 64 * 1024 });
  const recording = spool.begin(INFO);
  const { stream } = recording;
  fill(recording, 3000);
  t.true(spool.counts.dropped > 0);
  start();
  recording.end();
  await empty();
  t.is(held(server, stream).length, 0);
  t.is(server.connections.length, 1);
  const messages = held(server, recording.stream);
  t.deepEqual(numbers(messages), upTo(3000).slice(spool.counts.dropped));
  t.is(server.connections[0]?.query.started_at, recording.streamStartedAtMs);
});

test('audio that core has without acknowledging it is neither lost nor sent twice when the spool must drop it', async t => {
  const { spool, server, start, empty } = await setUp(t, { spoolBytes: 64 * 1024 });
  server.acks = false;
  const recording = spool.begin(INFO);
  const { stream } = recording;
  start();
  fill(recording, 1000);
  await server.until(() => held(server, stream).length === 1000);
  await server.kill();
  fill(recording, 1000);
  t.true(recording.first > 0 && recording.first < 1000);
  const back = await startListenServer({ port: server.port, held: server.streams });
  t.teardown(back.kill);
  recording.end();
  await empty();
  t.deepEqual([...back.streams.keys()], [stream]);
  t.deepEqual(numbers(held(back, stream)), upTo(2000));
  t.is(spool.counts.dropped, 0);
});

test('a core with more of a stream than exists has it from another sender', async t => {
  const { spool, server, start, empty } = await setUp(t);
  const recording = spool.begin(INFO);
  const { stream } = recording;
  fill(recording, 10);
  const query = ListenQuery.parse({ stream });
  server.streams.set(stream, {
    query,
    messages: Array.from({ length: 50 }, () => ({ hex: '00', gapMs: 0 })),
  });
  start();
  fill(recording, 10);
  await server.until(() => server.streams.size === 2);
  fill(recording, 10);
  recording.end();
  await empty();
  t.not(recording.stream, stream);
  t.is(held(server, stream).length, 50);
  t.deepEqual(numbers(held(server, recording.stream)), upTo(30));
});

test('if core lost audio that the spool no longer has, the rest is a new stream', async t => {
  const { spool, server, start, empty } = await setUp(t, { spoolBytes: 64 * 1024 });
  const recording = spool.begin(INFO);
  const { stream } = recording;
  start();
  fill(recording, 1000);
  await server.until(() => held(server, stream).length === 1000);
  await settled(() => recording.first);
  t.true(recording.first > 10);
  server.streams.get(stream)?.messages.splice(10); // acknowledged and deleted: a restored backup
  server.connections[0]?.socket.terminate();
  fill(recording, 10);
  recording.end();
  await empty();
  t.not(recording.stream, stream);
  t.is(held(server, stream).length, 10);
  t.deepEqual(numbers(held(server, recording.stream)).at(-1), 1009);
});

test('recordings of one wearable are sent one after the other, oldest first', async t => {
  const { spool, server, start, empty } = await setUp(t);
  const recordings = [0, 1, 2].map(i => {
    const recording = spool.begin({ ...INFO, startedAtMs: STARTED_AT + i * 60_000 });
    fill(recording, 20);
    recording.end();
    return recording;
  });
  start();
  await empty();
  t.deepEqual(
    server.connections.map(({ query }) => query.stream),
    recordings.map(({ stream }) => stream),
  );
  for (const { stream } of recordings) t.is(held(server, stream).length, 20);
});

test('an ended recording that core does not acknowledge is queried again, and not sent twice', async t => {
  const { spool, server, start, empty, event } = await setUp(t);
  server.acks = false;
  const recording = spool.begin(INFO);
  fill(recording, 20);
  recording.end();
  start();
  await event('disconnected', ({ reason }) => reason === 'all sent');
  t.is(spool.recordings('omi_1').length, 1);
  await empty(); // the next connection reported it as received
  t.is(server.connections.length, 2);
  t.is(server.connections[1]?.repeated, 0);
  t.is(held(server, recording.stream).length, 20);
});

test('while one recording waits for its acknowledgement, the next one is sent', async t => {
  const { spool, server, start } = await setUp(t);
  server.acks = false;
  const first = spool.begin(INFO);
  fill(first, 5);
  first.end();
  start({ confirmMs: 60_000 });
  await server.until(() => held(server, first.stream).length === 5);
  const second = spool.begin({ ...INFO, startedAtMs: STARTED_AT + 1 });
  fill(second, 5);
  await server.until(() => held(server, second.stream).length === 5);
  const left = spool.recordings('omi_1').map(({ stream }) => stream);
  t.deepEqual(left, [first.stream, second.stream], 'neither is confirmed');
});

const REFUSALS = [
  { status: 401, cure: /earshot key <account> --scopes listen/ },
  { status: 403, cure: /earshot key <account> --scopes listen/ },
  {
    status: 426,
    cure: /does not pass on the headers Upgrade and Connection; .* nginx needs: proxy_http_version 1\.1;/,
  },
];
for (const { status, cure } of REFUSALS) {
  test(`a refusal with ${status} is reported once with instructions, and not retried soon`, async t => {
    const { spool, server, start, event, lines } = await setUp(t);
    server.refuse = { status };
    const recording = spool.begin(INFO);
    fill(recording, 5);
    start();
    const { retryInMs, reason } = await event('disconnected');
    t.is(retryInMs, 60_000);
    t.regex(reason, cure);
    const errors = lines.filter(({ level }) => level === 50);
    t.is(errors.length, 1);
    t.regex(errors[0]?.msg ?? '', /audio is kept on disk/);
    t.is(recording.next, 5);
  });
}

test('a key that core does not know is replaced, soon if that may help', async t => {
  const { spool, server, start, empty, event } = await setUp(t);
  server.refuse = { status: 401 };
  let asked = 0;
  const keys: KeySource = {
    async get() {
      asked += 1;
      return `key ${asked}`;
    },
    refused() {
      if (asked === 3) server.refuse = null;
      return true;
    },
  };
  const recording = spool.begin(INFO);
  fill(recording, 5);
  recording.end();
  start({}, keys);
  t.true((await event('disconnected')).retryInMs <= 10);
  await empty();
  t.is(server.connections[0]?.authorization, 'Bearer key 4');
});

test('a key that is invalid in a header is reported, and does not end the bridge', async t => {
  const { spool, start, told } = await setUp(t);
  fill(spool.begin(INFO), 5);
  const uplink = start({}, fixedKey('two\nlines'));
  t.regex(await told(({ level }) => level === 50), /cannot connect to core: .*authorization/);
  await uplink.stop();
});

test('core may be served under a path', async t => {
  const { spool, server, start } = await setUp(t);
  fill(spool.begin(INFO), 5);
  start({}, fixedKey('k'), async () => `${server.url}/home/`);
  await server.until(() => server.connections.length === 1);
  t.is(server.connections[0]?.path, '/home/v4/listen');
});

test('a busy core is retried when it said', async t => {
  const { spool, server, start, event, empty } = await setUp(t);
  server.refuse = { status: 503, retryAfter: '0.1' };
  const recording = spool.begin(INFO);
  fill(recording, 5);
  recording.end();
  start();
  t.is((await event('disconnected')).retryInMs, 100);
  server.refuse = null;
  await empty();
});

const CLOSES: [number, 'soon' | 'slow'][] = [
  [1001, 'soon'],
  [1003, 'slow'],
  [1008, 'slow'],
  [1011, 'soon'],
  [1012, 'soon'],
  [1013, 'soon'],
  [4000, 'soon'],
];
for (const [code, retry] of CLOSES) {
  test(`a close with ${code} is retried ${retry === 'soon' ? 'soon' : 'after a long delay'}`, async t => {
    const { spool, server, start, event } = await setUp(t);
    const recording = spool.begin(INFO);
    start();
    fill(recording, 3);
    await server.until(() => held(server, recording.stream).length === 3);
    server.connections[0]?.socket.close(code, 'a reason');
    const { retryInMs, reason } = await event('disconnected', one => one.code === code);
    t.regex(reason, /\(a reason\)/);
    t.is(retryInMs > 1000, retry === 'slow');
    if (retry === 'slow') return;
    fill(recording, 3);
    await server.until(() => held(server, recording.stream).length === 6);
  });
}

test('delays grow while core accepts audio and acknowledges nothing', async t => {
  const { spool, server, start, event } = await setUp(t);
  server.acks = false;
  const recording = spool.begin(INFO);
  fill(recording, 3);
  server.until(() => {
    for (const { socket } of server.connections) socket.close(1011);
    return false;
  });
  start({ firstRetryMs: 10, maxRetryMs: 200 });
  await event('disconnected', ({ code, retryInMs }) => code === 1011 && retryInMs > 100);
  t.true(server.connections.length >= 5);
});

test('without audio to send, a keep-alive is sent', async t => {
  const { spool, server, start } = await setUp(t);
  const recording = spool.begin(INFO);
  fill(recording, 1);
  start({ keepAliveMs: 20 });
  await server.until(() => (server.connections[0]?.keepAlives ?? 0) >= 2);
  fill(recording, 1);
  await server.until(() => held(server, recording.stream).length === 2);
  t.deepEqual(numbers(held(server, recording.stream)), [0, 1]);
});

test.serial('a core that sends no greeting is disconnected, and retried', async t => {
  const { spool, server, start, event, empty } = await setUp(t);
  server.greets = false;
  const recording = spool.begin(INFO);
  fill(recording, 3);
  recording.end();
  start({ helloMs: 700 });
  const { reason } = await event('disconnected');
  t.regex(reason, /did not answer/);
  server.greets = true;
  await empty();
});

test.serial('a silent connection is closed', async t => {
  const { spool, server, start, event } = await setUp(t);
  const recording = spool.begin(INFO);
  fill(recording, 3);
  start({ pingMs: 20 });
  await server.until(() => held(server, recording.stream).length === 3);
  server.connections[0]?.socket.pause(); // reads nothing any more, so it answers no pings
  const { reason } = await event('disconnected');
  t.regex(reason, /does not respond/);
});

test.serial('back-pressure: the spool is read only as fast as the socket accepts data', async t => {
  const { spool, server } = await setUp(t, { spoolBytes: 256 * 1024 * 1024 });
  const recording = spool.begin(INFO);
  const frame = Buffer.alloc(60_000, 1);
  for (let i = 0; i < 1000; i += 1) recording.append(frame, 0); // 60 MB
  recording.end();
  let reached = 0;
  const probe: Recording = Object.create(recording, {
    read: {
      value(from: number, limit: number) {
        reached = from;
        return recording.read(from, limit);
      },
    },
  });
  const paused = server.until(() => {
    if (server.connections.length === 0) return false;
    server.connections[0]?.socket.pause();
    return true;
  });
  const ending = runSession(
    {
      core: server.url,
      key: 'k',
      recording: probe,
      language: 'en',
      conversationTimeoutS: 120,
      clock,
      limits: { ...LIMITS, finalAckMs: 5000 },
      signal: new AbortController().signal,
      events: { onHello() {}, onSegments() {}, onMessage() {} },
    },
    listener => spool.watch('omi_1', listener),
  );
  await paused;
  await settled(() => reached);
  t.true(reached < 500, `${reached} messages were read`); // the system's socket buffers, and a little more
  server.connections[0]?.socket.resume();
  t.deepEqual(await ending, { kind: 'sent' });
  t.is(held(server, recording.stream).length, 1000);
});

/** Waits until a value has stayed the same over many turns of the event loop. */
async function settled(value: () => number): Promise<void> {
  for (let same = 0, last = -1; same < 2000; same = value() === last ? same + 1 : 0) {
    last = value();
    await new Promise(resolve => setImmediate(resolve));
  }
}

test('stopping sends pending audio; unacknowledged audio stays on disk', async t => {
  const { spool, server, start } = await setUp(t);
  server.acks = false;
  const recording = spool.begin(INFO);
  const uplink = start();
  fill(recording, 30);
  await server.until(() => server.connections.length === 1);
  await uplink.stop();
  t.is(await server.connections[0]?.closed, 1000);
  t.is(held(server, recording.stream).length, 30);
  t.is(spool.recordings('omi_1').length, 1);
});

test('stopping does not wait for a core that no longer answers', async t => {
  const { spool, server, start } = await setUp(t);
  server.acks = false;
  const recording = spool.begin(INFO);
  const uplink = start({ finalAckMs: 60_000 });
  fill(recording, 3);
  await server.until(() => held(server, recording.stream).length === 3);
  server.connections[0]?.socket.pause();
  await uplink.stop();
  t.is(spool.recordings('omi_1').length, 1);
});

test('stopping does not wait for an unreachable core', async t => {
  const { spool, server, start, event } = await setUp(t);
  await server.kill();
  const recording = spool.begin(INFO);
  fill(recording, 3);
  const uplink = start({ firstRetryMs: 60_000, maxRetryMs: 60_000 });
  await event('disconnected');
  await uplink.stop();
  t.is(recording.read(0, 10)?.length, 3, 'what it could not send is kept');
});

test('messages from core are passed on', async t => {
  const { spool, server, start, event } = await setUp(t);
  fill(spool.begin(INFO), 1);
  start();
  await server.until(() => server.connections.length === 1);
  const say = (message: unknown) => server.connections[0]?.socket.send(JSON.stringify(message));
  const segment = {
    id: 's1',
    text: 'good morning',
    speaker: 'SPEAKER_00',
    speaker_id: 0,
    is_user: false,
    person_id: null,
    start: 0,
    end: 1,
    speech_profile_processed: false,
    stt_provider: 'pocketsphinx',
  };
  server.connections[0]?.socket.send('not json');
  say({ type: 'something_new' });
  say([segment]);
  say({
    type: 'memory_created',
    memory: { id: 'm', structured: { title: 'T', overview: 'O' } },
    messages: [],
  });
  t.deepEqual(await event('segments'), { event: 'segments', device: 'Omi', segments: [segment] });
  t.like(await event('memory_created'), { device: 'Omi', memory: { id: 'm' } });
  t.like(await event('conversation_session'), { conversation_id: 'c1', received: 0 });
  t.like(await event('connected'), { device: 'Omi', received: 0 });
});
