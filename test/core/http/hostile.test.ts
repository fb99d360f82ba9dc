import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import test from 'ava';
import type { Delivery } from '../../../core/contract/model.ts';
import { createConversations } from '../../../core/domain/conversations/conversations.ts';
import { newId } from '../../../core/domain/ids.ts';
import { createBodyMemory } from '../../../core/http/body-memory.ts';
import { createConnections } from '../../../core/http/connections.ts';
import { createRateLimits } from '../../../core/http/rate-limit.ts';
import { createServer as createHttp } from '../../../core/http/server.ts';
import { createEvents } from '../../../core/runtime/events.ts';
import { delivery } from '../../../plugins/kit/suites/storage/outbound-rows.ts';
import { openDomain } from '../../helpers/domain.ts';
import { openRaw } from '../../helpers/raw-socket.ts';
import { openRest } from '../../helpers/rest.ts';

const SIGN_IN = '/v1/auth/token';

function head(path: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ Host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

async function answered(raw: Awaited<ReturnType<typeof openRaw>>, ending = '}'): Promise<string> {
  while (!raw.received().endsWith(ending)) await once(raw.socket, 'data');
  return raw.received();
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

test('A sign-in is refused by its size before its body is read, and closed if the body does not arrive', async t => {
  const { url, clock } = await openRest(t);
  const large = await openRaw(url, head(SIGN_IN, { ...JSON_TYPE, 'Content-Length': 8 * 1024 + 1 }));
  t.regex(await answered(large), /^HTTP\/1\.1 413 /);
  large.socket.destroy();
  const slow = await openRaw(url, `${head(SIGN_IN, { ...JSON_TYPE, 'Content-Length': 100 })}{"name"`);
  await clock.asleep(10_000);
  clock.advance(10_000);
  await slow.ended;
  t.regex(slow.received(), /^HTTP\/1\.1 408 [\s\S]*Connection: close[\s\S]*did not come within 10 s/);
});

test('Sign-ins from one address are counted before their body is read', async t => {
  const domain = await openDomain(t);
  const { storage, clock } = domain;
  const limits = { read: 9, write: 9, batch: 9, transcript: 9, search: 9, failed: 2 };
  const server = createHttp({
    ...domain,
    rateLimits: createRateLimits({ storage, clock, limits }),
    listen: { paths: [], refusal: () => null, authorize: async () => null, accept: async () => {} },
    config: { listen: { maxConnections: 100 } as never, trustedProxies: [] },
    health: async () => ({ status: 'ok', parts: [] }),
  });
  t.teardown(() => server.close());
  const { port } = await server.listen('127.0.0.1', 0);
  const url = `http://127.0.0.1:${port}`;
  for (const status of [422, 422, 429]) {
    const { status: got } = await fetch(url + SIGN_IN, { method: 'POST', headers: JSON_TYPE, body: '{}' });
    t.is(got, status);
  }
  const unsent = await openRaw(url, head(SIGN_IN, { ...JSON_TYPE, 'Content-Length': 100 }));
  t.regex(await answered(unsent), /^HTTP\/1\.1 429 /);
  unsent.socket.destroy();
});

test('A Content-Type with thousands of spaces is refused, and unusual spelling is accepted', async t => {
  const { url } = await openRest(t);
  const statusOf = async (type: string) =>
    (await fetch(url + SIGN_IN, { method: 'POST', headers: { 'Content-Type': type }, body: '{}' })).status;
  t.is(await statusOf(`application/json${' '.repeat(15_000)}x`), 415);
  t.is(await statusOf(`application/json${';'.repeat(15_000)}`), 415);
  t.is(await statusOf('Application/vnd.api+JSON ; Charset = "UTF-8" ;'), 422);
});

test('A client is told to continue when its body is read, but not before it is authenticated', async t => {
  const { url, token } = await openRest(t);
  const headers = { ...JSON_TYPE, Expect: '100-continue', 'Content-Length': 1_000_000 };
  for (const [path, status] of [
    [SIGN_IN, 413],
    ['/v1/dev/user/memories', 401],
  ] as const) {
    const raw = await openRaw(url, head(path, headers));
    await raw.ended;
    t.regex(raw.received(), new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*Connection: close`));
  }
  const small = { ...headers, 'Content-Length': 2, Authorization: `Bearer ${token}` };
  const known = await openRaw(url, head('/v1/dev/user/memories', small));
  t.is(await answered(known, '\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n');
  known.socket.write('{}');
  await known.ended;
  t.regex(known.received(), /HTTP\/1\.1 422 /);
});

test('The memory for request bodies is limited per owner and in total', t => {
  const memory = createBodyMemory({ maxBytes: 10, maxBytesEach: 6 });
  const [anna, again, ben] = [memory.shareOf('anna'), memory.shareOf('anna'), memory.shareOf('ben')];
  anna.take(4);
  t.throws(() => again.take(3), { code: 'rate_limited' });
  again.take(2);
  ben.take(4);
  t.throws(() => ben.take(1), { code: 'unavailable' });
  anna.release();
  ben.take(1);
  again.release();
  ben.release();
  memory.shareOf('anna').take(6);
  memory.shareOf('ben').take(4);
});

test('Idle connections are closed for new ones, and those that serve an account are not', async t => {
  const connections = createConnections({
    most: 4,
    mostOfNetwork: 2,
    isProxy: address => address === '127.0.0.1',
  });
  const accepted: Socket[] = [];
  const server = createServer();
  server.on('connection', socket => {
    accepted.push(socket);
    connections.open(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const open = async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    t.teardown(() => socket.destroy());
    const closed = once(socket, 'close');
    const isAccepted = once(server, 'connection');
    socket.on('error', () => {});
    socket.resume();
    await isAccepted;
    return { socket, closed, peer: accepted.at(-1) as Socket };
  };
  const [first, second] = [await open('127.0.0.2'), await open('127.0.0.2')];
  connections.enter(second.peer);
  await open('127.0.0.2');
  t.false(first.peer.destroyed);
  const fourth = await open('127.0.0.2'); // the second does not count: the first is the oldest of three
  await first.closed;
  t.false(second.peer.destroyed);
  connections.leave(second.peer); // the newest of three now
  t.false(second.peer.destroyed || fourth.peer.destroyed);
  const proxied = [await open('127.0.0.1'), await open('127.0.0.1'), await open('127.0.0.1')];
  // Five in total: the oldest is closed, although a proxy may have more.
  await Promise.race([fourth.closed, second.closed, ...proxied.map(({ closed }) => closed)]);
  t.is(accepted.filter(({ destroyed }) => !destroyed).length, 4);
  t.deepEqual(
    proxied.map(({ peer }) => peer.destroyed),
    [false, false, false],
  );
});

test('All keys of an account together, and all of its apps together, have twice the limit of one', async t => {
  const { storage, clock } = await openDomain(t);
  const limits = { read: 3, write: 3, batch: 3, transcript: 3, search: 3, failed: 3 };
  const { take } = createRateLimits({ storage, clock, limits });
  const passed = async (userId: string, isApp: boolean) => {
    let count = 0;
    for (let key = 0; key < 10; key++)
      if (!(await take({ userId, subject: `${key}`, isApp }, 'read')).refusal) count += 1;
    return count;
  };
  t.is(await passed('anna', false), 6);
  t.is(await passed('anna', true), 6);
  t.is(await passed('ben', false), 6);
  const { refusal } = await take({ userId: 'anna', subject: 'one more' }, 'read');
  t.regex(refusal?.message ?? '', /dev:read allows 6 a minute to all keys together/);
});

test('A long list is read only as fast as its client reads, and is complete', async t => {
  const { url, token, user, storage, conversations, clock } = await openRest(t);
  const COUNT = 40;
  const text = 'The garden gets less. '.repeat(800);
  for (let at = 0; at < COUNT; at++) {
    clock.advance(1000);
    const segments = Array.from({ length: 20 }, (_, place) => ({
      ...{ text, start: place, end: place + 1, speaker: 'SPEAKER_00', speakerId: 0 },
      ...{ isUser: false, personId: null },
    }));
    const about = { source: 'omi', deviceId: null, language: 'en', geolocation: null };
    const { id } = await conversations.importSegments(
      { userId: user.id, clientSessionId: null, ...about, startedAt: null, finishedAt: null, segments },
      0,
    );
    await storage.conversations.update(user.id, id, {
      status: 'completed',
      structured: { title: `${at}`, overview: '', category: 'other', emoji: '', actionItems: [], events: [] },
    });
  }
  let pages = 0;
  const { page } = storage.segments;
  storage.segments.page = (...args) => {
    pages += 1;
    return page(...args);
  };
  const path = '/v1/dev/user/conversations?limit=1000&include_transcript=true';
  const request = get(url + path, { headers: { Authorization: `Bearer ${token}` } });
  const [response] = await once(request, 'response');
  const others = await fetch(`${url}/v1/dev/user/conversations?limit=1000`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  t.is(((await others.json()) as unknown[]).length, COUNT);
  t.true(pages < COUNT / 2, `${pages} of ${COUNT} transcripts were read for a client that reads nothing`);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const all: { structured: { title: string }; transcript_segments: unknown[] }[] = JSON.parse(
    Buffer.concat(chunks).toString(),
  );
  t.deepEqual(
    all.map(({ structured }) => structured.title),
    Array.from({ length: COUNT }, (_, at) => String(COUNT - 1 - at)),
  );
  t.true(all.every(({ transcript_segments: segments }) => segments.length === 20));
});

test('The inbox and the delivery log are read page by page, and are complete', async t => {
  const { send, user, storage, notifications, clock } = await openRest(t);
  const rows: Delivery[] = [];
  for (let at = 0; at < 250; at++) {
    clock.advance(1000);
    const telling = { appId: null, event: 'hook_off', rule: 'A webhook fails', title: `${at}`, text: 'x' };
    await notifications.tell(user.id, telling);
    rows.push(delivery(newId(clock.now()), user.id, { createdAt: clock.now(), subject: `${at}` }));
  }
  await storage.deliveries.insert(rows);
  const limits: number[] = [];
  for (const store of [storage.notifications, storage.deliveries]) {
    const list = store.list as (userId: string, filter: { limit: number }) => Promise<never[]>;
    store.list = (userId: string, filter: { limit: number }) => {
      limits.push(filter.limit);
      return list(userId, filter);
    };
  }
  const newest = Array.from({ length: 230 }, (_, at) => `${249 - at}`);
  const inbox = await send('GET', '/v1/notifications?limit=230');
  t.deepEqual(
    inbox.body.map(({ title }: { title: string }) => title),
    newest,
  );
  const log = await send('GET', '/v1/deliveries?limit=230');
  t.deepEqual(
    log.body.map(({ subject }: { subject: string }) => subject),
    newest,
  );
  t.deepEqual(limits, [100, 100, 30, 100, 100, 30]);
});

/** Turns of the event loop in which other requests could be served. A transaction blocks all others. */
async function roundsOf(work: () => Promise<unknown>): Promise<number> {
  let rounds = 0;
  let next = setImmediate(function count() {
    rounds += 1;
    next = setImmediate(count);
  });
  await work().finally(() => clearImmediate(next));
  return rounds;
}

test('A long conversation is merged, split, renamed and deleted in steps, between which other requests are served', async t => {
  const { user, storage, conversations, clock } = await openRest(t);
  const COUNT = 5000;
  const about = { userId: user.id, source: 'omi', language: 'en', timeoutMs: 120_000 };
  const made = async (deviceId: string) => {
    const { id } = await conversations.open({ ...about, deviceId });
    const segments = Array.from({ length: COUNT }, (_, at) => ({
      ...{ id: newId(clock.now()), userId: user.id, conversationId: id, text: `word${at} `.repeat(10) },
      ...{ start: 5 * at, end: 5 * at + 4, speaker: 'SPEAKER_00', speakerId: 0 },
      ...{
        isUser: false,
        personId: null,
        sttProvider: null,
        language: null,
        translations: null,
        profileCompared: false,
      },
    }));
    await storage.segments.upsert(segments);
    await storage.conversations.update(user.id, id, { status: 'completed', startedAt: clock.now() });
    clock.advance(1000);
    return { id, middle: segments[COUNT / 2]?.id ?? '' };
  };
  const [first, second] = [await made('a'), await made('b')];
  await conversations.merge(user.id, first.id, second.id);
  t.is(await storage.segments.count(user.id, first.id), 2 * COUNT);
  await storage.conversations.update(user.id, first.id, { status: 'completed' });
  const { id: part } = await conversations.split(user.id, first.id, first.middle);
  t.is(await storage.segments.count(user.id, part), COUNT);
  await storage.conversations.update(user.id, part, { status: 'completed' });
  await storage.transaction('long', async tx => {
    const moved = await roundsOf(() => tx.segments.move(user.id, part, { to: part, seconds: 1 }));
    t.true(moved > 20, `moved in ${moved} rounds`);
    const texts = ['', 'zebra', ...Array(COUNT).fill('a garden '.repeat(10))];
    const indexed = await roundsOf(() => tx.passages.put(user.id, part, texts));
    t.true(indexed > 20, `indexed in ${indexed} rounds`);
  });
  await conversations.edit(user.id, part, { title: 'Elephants' });
  const [renamed] = await storage.passages.match(user.id, 'elephants', 1);
  t.regex(renamed?.text ?? '', /^Elephants zebra/, 'the rest of the index stays');
  await storage.transaction('long', async tx => {
    const removed = await roundsOf(() => tx.conversations.remove(user.id, part));
    t.true(removed > 50, `removed in ${removed} rounds`);
  });
  t.deepEqual(await storage.passages.match(user.id, 'zebra', 1), []);
});

test('A conversation has a maximum size: a live one continues in the next, and a larger import or merge is refused', async t => {
  const { send, user, storage, conversations, clock } = await openRest(t);
  const device = { userId: user.id, source: 'omi', deviceId: 'd1', language: 'en', timeoutMs: 120_000 };
  const first = await conversations.open(device);
  const append = (conversationId: string) =>
    conversations.append({
      ...{ userId: user.id, conversationId, stream: null, startedAt: clock.now() },
      pieces: [
        { text: 'Tea?', startAt: clock.now(), endAt: clock.now(), speaker: 'SPEAKER_00', sttProvider: null },
      ],
    });
  const [segment] = await append(first.id);
  if (!segment) return t.fail();
  const more = Array.from({ length: 19_999 }, (_, at) => ({
    ...segment,
    ...{
      id: `01980000-0000-7000-8000-${String(at).padStart(12, '0')}`,
      start: 100 + 5 * at,
      end: 101 + 5 * at,
    },
  }));
  await storage.segments.upsert(more);
  const restarted = createConversations({ storage, clock, events: createEvents() });
  const error = await t.throwsAsync(
    restarted.append({
      ...{ userId: user.id, conversationId: first.id, stream: null, startedAt: clock.now() },
      pieces: [
        { text: 'More?', startAt: clock.now(), endAt: clock.now(), speaker: 'SPEAKER_01', sttProvider: null },
      ],
    }),
    { code: 'conflict' },
  );
  t.regex(error?.message ?? '', /20,000 segments/);
  t.is((await conversations.get(user.id, first.id))?.status, 'processing');
  const next = await conversations.open(device);
  t.not(next.id, first.id);
  t.is((await append(next.id)).length, 1);

  await conversations.finish(user.id, next.id);
  for (const { id } of [first, next])
    await storage.conversations.update(user.id, id, { status: 'completed' });
  const merged = await send('POST', `/v1/conversations/${next.id}/merge`, { with: first.id });
  t.is(merged.status, 422);
  t.regex(merged.body.detail[0].msg, /at most 20,000 segments and 8 MB/);

  const path = '/v1/dev/user/conversations/from-segments';
  const imported = (chars: number) => ({
    transcript_segments: Array.from({ length: 500 }, (_, at) => ({
      text: 'x'.repeat(chars),
      start: at,
      end: at + 1,
    })),
  });
  const tooMuch = await send('POST', path, imported(16_200));
  t.is(tooMuch.status, 422);
  t.is(tooMuch.body.detail[0].type, 'too_long');
});
