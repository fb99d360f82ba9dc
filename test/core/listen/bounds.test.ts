/** Limits per client, so that one client cannot affect others. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { WebSocket, WebSocketServer } from 'ws';
import { createIntake } from '../../../core/listen/connection/intake.ts';
import { chargeFrames, createBucket, createPace, createValve } from '../../../core/listen/connection/pace.ts';
import { createRoom } from '../../../core/listen/connection/room.ts';
import { createTakeOver } from '../../../core/listen/connection/take-over.ts';
import { createTurn } from '../../../core/listen/scheduler.ts';
import type { AppError } from '../../../core/runtime/errors.ts';
import { Deque } from '../../../core/runtime/queue.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, refusedListen } from '../../helpers/listen-client.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { encodeFrame, OPCODE, openRaw, type RawSocket, upgradeRequest } from '../../helpers/raw-socket.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';

const PCM = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const WEB = '/v4/web/listen';
const KiB = 1024;

test('a deque returns its items in order, whatever is removed in between', t => {
  const deque = new Deque<number>();
  const given: number[] = [];
  for (let n = 0; n < 10_000; n++) {
    deque.push(n);
    if (n % 3 === 0) given.push(deque.shift() ?? -1);
    if (n % 1000 === 0) given.push(...deque.cut(deque.length - 1).reverse());
  }
  t.is(deque.length + given.length, 10_000);
  t.deepEqual(
    [...given, ...deque.slice(0)].sort((a, b) => a - b),
    Array.from({ length: 10_000 }, (_, n) => n),
  );
  t.is(deque.at(-1), undefined);
  t.is(deque.last, 9999);
  deque.drop(1_000_000);
  t.is(deque.length, 0);
  t.is(deque.shift(), undefined);
});

test('work in thousands of tiny pieces also yields to others', async t => {
  let rounds = 0;
  let next = setImmediate(function count() {
    rounds += 1;
    next = setImmediate(count);
  });
  const turn = createTurn();
  for (let n = 0; n < 2000; n++) {
    turn.begin();
    const rest = turn.end(); // the work itself takes no time; its overhead does
    await rest;
    for (const until = performance.now() + 0.02; performance.now() < until; );
  }
  clearImmediate(next);
  t.true(rounds >= 3, `${rounds} rounds`);
});

test('a bucket in debt recovers over time, within ten seconds', t => {
  const clock = manualClock();
  const bucket = createBucket({ perSecond: 100, burst: 50 }, clock);
  t.is(bucket.spend(50), 0);
  t.is(bucket.spend(10), 100);
  clock.advance(100);
  t.is(bucket.spend(1), 10);
  t.is(bucket.spend(1_000_000), 10_000);
  clock.advance(10_000 + 500);
  t.is(bucket.spend(50), 0);
});

/** Both ends of a connection, and the socket below the server's. */
async function pair(t: ExecutionContext): Promise<[server: WebSocket, client: WebSocket, wire: Socket]> {
  const http = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => http.once('listening', resolve));
  const server = new WebSocketServer({ server: http });
  const client = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`);
  t.teardown(() => {
    client.terminate();
    http.closeAllConnections();
    http.close();
  });
  const [[socket, request]] = await Promise.all([
    once(server, 'connection') as Promise<[WebSocket, IncomingMessage]>,
    once(client, 'open'),
  ]);
  return [socket, client, request.socket];
}

test("a connection beyond its rate, or its account's rate, is not read until the debt is paid", async t => {
  const clock = manualClock();
  const [socket] = await pair(t);
  const valve = createValve(socket);
  const pace = createPace({ rate: { perSecond: 1000, burst: 100 }, valve, clock });
  t.is(pace.spend(100), undefined);
  t.false(socket.isPaused);
  const paying = pace.spend(500);
  t.true(socket.isPaused);
  valve.hold('backlog');
  clock.advance(500);
  await paying;
  t.true(socket.isPaused, 'something else holds it still');
  valve.release('backlog');
  t.false(socket.isPaused);

  const account = createBucket({ perSecond: 10, burst: 1 }, clock);
  account.spend(1);
  pace.share(account);
  clock.advance(50);
  const again = pace.spend(1);
  t.true(socket.isPaused, 'another connection of the account has taken it');
  clock.advance(1000);
  await again;
  t.false(socket.isPaused);
  pace.end();
});

test('a few large messages cost a connection as much as many small ones', async t => {
  const [socket, client, wire] = await pair(t);
  let tokens = 0;
  chargeFrames(socket, wire, {
    spend(more) {
      tokens += more;
      return undefined;
    },
  });
  const message = Buffer.alloc(1000 * KiB);
  const received = once(socket, 'message');
  client.send(message);
  await received;
  t.true(tokens >= 500, `${tokens} tokens for ${message.length} bytes`);
});

test('empty fragments, which no message event shows, cost more than their few bytes', async t => {
  const [socket, client, wire] = await pair(t);
  let [tokens, bytes] = [0, 0];
  wire.on('data', chunk => {
    bytes += chunk.length;
  });
  chargeFrames(socket, wire, {
    spend(more) {
      tokens += more;
      return undefined;
    },
  });
  const received = once(socket, 'message');
  for (let count = 0; count < 10_000; count++) client.send('', { fin: false });
  client.send('');
  await received;
  const ofBytes = bytes / 2048;
  t.true(tokens > 2 * ofBytes, `${tokens} tokens, of which ${ofBytes} for ${bytes} bytes`);
});

test('of large text messages that come together, one is parsed in each round of the event loop', async t => {
  const large = {
    bytes: Buffer.from(JSON.stringify({ type: 'x', text: 'x'.repeat(40_000) })),
    binary: false,
  };
  const intakeOf = (count: number) =>
    createIntake({
      connection: { from: 0 },
      held: { end() {} },
      client: {
        inbox: Object.assign(Readable.from(Array(count).fill(large)), { watchPauses() {} }),
        spend: () => undefined,
      },
    } as never);
  let rounds = 0;
  let next = setImmediate(function count() {
    rounds += 1;
    next = setImmediate(count);
  });
  const intakes = [intakeOf(20), intakeOf(20)];
  await Promise.all(intakes.map(intake => intake.run()));
  clearImmediate(next);
  t.deepEqual(
    intakes.map(({ counts }) => counts.ignored),
    [20, 20],
  );
  t.true(rounds >= 40, `${rounds} rounds`);
});

test('connections per stream are limited, and connections per account to twice its session limit', t => {
  const room = createRoom({ maxConnections: 1000, maxConnectionsPerUser: 10 }, manualClock());
  const seats = Array.from({ length: 8 }, () => room.take('anna', 'walk'));
  const refused = { code: 'rate_limited' };
  t.throws(() => room.take('anna', 'walk'), { ...refused, message: /stream walk/ });
  for (const seat of seats) seat.isLeaving = true;
  t.throws(() => room.take('anna', 'walk'), refused, 'they are still there');
  seats[0]?.free();
  t.notThrows(() => room.take('anna', 'walk'));
  for (let n = 0; n < 9; n++) room.take('anna', `${n}`);
  t.throws(() => room.take('anna'), { ...refused, message: /maxConnectionsPerUser/ });
  t.notThrows(() => room.take('ben'));
});

test('the connections that an account may start per minute are limited', t => {
  const clock = manualClock();
  const room = createRoom({ maxConnections: 1000, maxConnectionsPerUser: 10 }, clock);
  for (let n = 0; n < 300; n++) room.take('anna', 'walk').free();
  const refused = {
    code: 'rate_limited',
    message: 'Too many connections of this user in a minute',
    retryAfter: 1,
  };
  for (let n = 0; n < 1000; n++)
    t.like(
      t.throws(() => room.take('anna')),
      refused,
    );
  t.notThrows(() => room.take('ben').free());
  clock.advance(1000);
  for (let n = 0; n < 5; n++) t.notThrows(() => room.take('anna').free(), 'what was refused was not counted');
  t.throws(() => room.take('anna'));
  clock.advance(-3600_000);
  t.throws(() => room.take('anna'));
  clock.advance(1000);
  t.notThrows(() => room.take('anna'), 'a clock that is set back locks nobody out');

  const large = createRoom({ maxConnections: 1000, maxConnectionsPerUser: 500 }, clock);
  for (let n = 0; n < 3000; n++) large.take('anna').free();
  t.throws(() => large.take('anna'), { code: 'rate_limited' });
});

test('a credential of an account that started too many connections is refused unread until it may start one', t => {
  const clock = manualClock();
  const room = createRoom({ maxConnections: 1000, maxConnectionsPerUser: 10 }, clock);
  for (let n = 0; n < 300; n++) room.take('anna', 'walk', 'Bearer anna').free();
  t.is(room.refusal('Bearer anna'), null);
  const refused = t.throws<AppError>(() => room.take('anna', 'walk', 'Bearer anna'));
  t.is(room.refusal('Bearer anna'), refused);
  t.is(room.refusal('Bearer anna, too'), null);
  t.is(room.refusal('Bearer ben'), null);
  clock.advance(199);
  t.is(room.refusal('Bearer anna'), refused);
  clock.advance(1);
  t.is(room.refusal('Bearer anna'), null);
  t.notThrows(() => room.take('anna', 'walk', 'Bearer anna').free());
  t.throws(() => room.take('anna', 'walk', 'Bearer anna'));
  clock.advance(-3600_000);
  t.is(room.refusal('Bearer anna'), null, 'a clock that is set back locks nobody out');
});

test('of many successive connections on one stream, the first and the last are served', async t => {
  const alone = createTakeOver();
  const served: number[] = [];
  const told = Array.from({ length: 1600 }, () => Promise.withResolvers<void>());
  const outcomes: number[] = [];
  const attempts = told.map(async ({ promise, resolve }, n) => {
    const { promise: done, resolve: end } = Promise.withResolvers<void>();
    const work = () => {
      served.push(n);
      return promise;
    };
    const letGo = () => n > 0 && resolve(); // the first one has much to store
    outcomes[n] = await alone('anna walk', { halt: new AbortController(), letGo, done }, work).then(
      () => 1,
      error => error.closeCode,
    );
    end();
  });
  while (Object.keys(outcomes).length < 1598) await new Promise(setImmediate);
  t.deepEqual(served, [0], 'those between are refused before the first one has ended');
  told[0]?.resolve();
  while (served.length < 2) await new Promise(setImmediate);
  t.deepEqual(served, [0, 1599]);
  told[1599]?.resolve();
  await Promise.all(attempts);
  t.deepEqual(outcomes, [1, ...Array(1598).fill(1001), 1]);
});

const openWeb = (instance: TestServer, address: string) =>
  openRaw(instance.url, upgradeRequest('', '', { Authorization: '', 'X-Forwarded-For': address }, WEB));

async function answered(raw: RawSocket): Promise<string> {
  await eventually(() => raw.received().includes('\r\n\r\n'));
  return raw.received().split(' ')[1] ?? '';
}

test('a client that has not signed in may send no more than a sign-in needs', async t => {
  const instance = await openServer(t, countingStt());
  const raw = await openWeb(instance, '192.0.2.1');
  t.is(await answered(raw), '101');
  raw.socket.write(encodeFrame({ opcode: OPCODE.text, fin: false, payload: Buffer.alloc(8 * KiB) }));
  await raw.ended;
  t.is(raw.closeCode(), 1009);
  raw.socket.destroy();
});

test('messages after a sign-in are queued until it is answered', async t => {
  const instance = await openServer(t, countingStt());
  const { token } = await instance.app.commands.token({ user: 'owner' });
  const client = await connectListen(instance.url, null, { ...PCM, stream: 'web', ack: 'enabled' }, WEB);
  client.socket.send(JSON.stringify({ type: 'auth', token }));
  for (let n = 0; n < 100; n++) client.socket.send(Buffer.alloc(32_000));
  t.is((await client.until('ack', ack => ack.messages === 100)).samples, 100 * 16_000);
  client.socket.close();
});

test('an address whose clients do not sign in is refused more connections, without affecting others', async t => {
  const instance = await openServer(t, { ...countingStt(), listen: { maxConnections: 5 } });
  const silent = await Promise.all(Array.from({ length: 20 }, () => openWeb(instance, '192.0.2.1')));
  t.true((await Promise.all(silent.map(answered))).every(status => status === '101'));
  const more = await openWeb(instance, '192.0.2.1');
  t.is(await answered(more), '429');
  const other = await openWeb(instance, '192.0.2.2');
  t.is(await answered(other), '101');
  const client = await connectListen(instance.url, instance.key, PCM);
  await client.until('service_status', event => event.status === 'ready');
  client.socket.close();
  for (const { socket } of [...silent, more, other]) socket.destroy();
});

test('if clients of many addresses do not sign in, the oldest connection is closed', t => {
  const room = createRoom({ maxConnections: 1000, maxConnectionsPerUser: 10 }, manualClock());
  const givenUp: number[] = [];
  const leave = Array.from({ length: 200 }, (_, n) => room.wait(`192.0.2.${n}`, () => givenUp.push(n)));
  t.deepEqual(givenUp, []);
  leave[0]?.(); // it has signed in
  for (let n = 200; n < 203; n++) room.wait(`192.0.2.${n}`, () => givenUp.push(n));
  t.deepEqual(givenUp, [1, 2]);
});

test('of many simultaneous connections that name one stream, all but one are refused before the upgrade', async t => {
  const instance = await openServer(t, countingStt());
  const attempts = await Promise.allSettled(
    Array.from({ length: 60 }, () => connectListen(instance.url, instance.key, { ...PCM, stream: 'walk' })),
  );
  const clients = attempts.flatMap(attempt => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  const outcomes = await Promise.all(
    clients.map(client =>
      Promise.race([client.until('service_status', event => event.status === 'ready'), client.closed]).catch(
        () => client.closed,
      ),
    ),
  );
  t.true(outcomes.length >= 1);
  const open = /^earshot_streams_open\{codec="pcm16"\} 1$/m;
  await eventually(async () => open.test(await (await fetch(`${instance.url}/metrics`)).text()));
  const live = clients.filter(({ socket }) => socket.readyState === socket.OPEN);
  t.is(live.length, 1);
  for (const { socket } of live) socket.close();
  t.is((await refusedListen(instance.url, 'nonsense', PCM)).status, 401);
});

test('a ping is answered, and of thousands that arrive together the last one alone', async t => {
  const instance = await openServer(t, { ...countingStt(), listen: { heartbeatMs: 600_000 } });
  const client = await connectListen(instance.url, instance.key, { ...PCM, client_device_id: 'pings' });
  await client.until('service_status', event => event.status === 'ready');
  const pongs: string[] = [];
  client.socket.on('pong', data => pongs.push(String(data)));
  client.socket.ping('hello');
  await eventually(() => pongs.length === 1);
  for (let count = 0; count < 5000; count++) client.socket.ping(String(count));
  await eventually(() => pongs.includes('4999'));
  t.is(pongs[0], 'hello');
  t.true(pongs.length < 500, `${pongs.length} pongs`);
  client.socket.close();
});
