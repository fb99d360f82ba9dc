import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { WebSocket, WebSocketServer } from 'ws';
import { samplesToBytes } from '../../../core/audio/pcm.ts';
import { createUnsent } from '../../../core/listen/connection/unsent.ts';
import { eventually } from '../../helpers/eventually.ts';
import { connectListen, type ListenClient } from '../../helpers/listen-client.ts';
import { countingStt, openServer, type TestServer } from '../../helpers/services.ts';
import { join as joined, silence, speech } from '../../helpers/sound.ts';
import { unhurriedClock } from '../../plugins/stt/context.ts';

/** No heartbeat: a client that does not read answers no ping, but should be closed for its unread bytes. */
const PATIENT = { ...countingStt(), listen: { heartbeatMs: 600_000 } };
const QUERY = { codec: 'pcm16', sample_rate: 16000, conversation_timeout: 600 };
const MAX_UNSENT_BYTES = 5 * 1024 * 1024; // defaults of the configuration
/** Including the overhead that the server counts per write. */
const ONE_ANSWER_BYTES = 200 + 512;
/** The answer has some 80 bytes. */
const ASKED = 'this is not JSON';
const BATCH = 1000;

/** Returns how many unsent bytes the server holds. */
async function heldIn(instance: TestServer, queue: 'answers' | 'messages'): Promise<number> {
  const metrics = await (await fetch(`${instance.url}/metrics`)).text();
  return Number(new RegExp(`^earshot_queue_bytes\\{queue="${queue}"\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
}

/**
 * Sends requests without reading until the server closes. Returns the highest number of bytes held for it.
 */
async function askWithoutReading(instance: TestServer, client: ListenClient): Promise<number> {
  client.socket.pause();
  let most = 0;
  while (most <= MAX_UNSENT_BYTES && client.socket.readyState === client.socket.OPEN) {
    const isAnswered = (await heldIn(instance, 'messages')) === 0;
    for (let i = 0; isAnswered && i < BATCH; i++) client.socket.send(ASKED);
    most = Math.max(most, await heldIn(instance, 'answers'));
  }
  return most;
}

test('a client that reads nothing is asked to leave at 5 MiB, and the others get their messages', async t => {
  // Two seconds after it asked a client to leave, the server ends the connection: a busy machine needs longer.
  const instance = await openServer(t, PATIENT, { clock: unhurriedClock });
  const neighbour = await connectListen(instance.url, instance.key, {
    ...QUERY,
    client_device_id: 'neighbour',
  });
  const say = () => neighbour.socket.send(samplesToBytes(joined(speech('budget'), silence(4))));
  say();
  const slow = await connectListen(instance.url, instance.key, QUERY);
  const most = await askWithoutReading(instance, slow);
  slow.socket.resume();
  t.true(most > MAX_UNSENT_BYTES, `only ${most} bytes waited`);
  t.true(most <= MAX_UNSENT_BYTES + 2 * ONE_ANSWER_BYTES, `${most} bytes waited`);
  say();
  t.deepEqual(await slow.closed, { code: 1008, reason: 'slow consumer' });
  await neighbour.until('segments', () => neighbour.segments().length === 2);
  neighbour.socket.close();
});

test('a client that never reads is disconnected, and its memory is freed', async t => {
  const instance = await openServer(t, PATIENT);
  const slow = await connectListen(instance.url, instance.key, QUERY);
  t.true((await askWithoutReading(instance, slow)) > MAX_UNSENT_BYTES);
  await eventually(
    () => heldIn(instance, 'answers'),
    held => held === 0,
  );
  slow.socket.resume();
  t.is((await slow.closed).code, 1006);
});

/** Both ends of this many connections; the clients read nothing until told. */
async function pairs(t: ExecutionContext, count: number): Promise<[server: WebSocket, client: WebSocket][]> {
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  const server = new WebSocketServer({ server: http });
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    http.close();
  });
  const made: [WebSocket, WebSocket][] = [];
  for (let n = 0; n < count; n++) {
    const client = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`);
    const [[socket]] = await Promise.all([once(server, 'connection'), once(client, 'open')]);
    client.on('error', () => {});
    client.pause();
    made.push([socket, client]);
  }
  return made;
}

const MiB = 1024 * 1024;
const never = (t: ExecutionContext) => () => t.fail('a client that reads was closed');

test('a client that reads gets the largest possible conversation, and what comes after it', async t => {
  const [[socket, client] = []] = await pairs(t, 1);
  if (!socket || !client) return t.fail();
  const unsent = createUnsent({ maxBytes: 5 * MiB, maxTotalBytes: 64 * MiB, onTooMuch: never(t) });
  const large = '🫖é'.repeat(3 * MiB); // 18 MiB in UTF-8, in which no frame may end within a character
  const messages = ['before', large, ...Array(100).fill('after'), ''];
  for (const message of messages) unsent.send(socket, message);
  t.true(unsent.of(socket) > 10 * MiB);
  const received: string[] = [];
  client.on('message', message => received.push(String(message)));
  client.resume();
  while (received.length < messages.length) await once(client, 'message');
  t.true(received.every((message, place) => message === messages[place]));
  await eventually(() => unsent.of(socket) === 0);
});

test('a second large message counts towards the limit, the first does not', async t => {
  const [[socket] = []] = await pairs(t, 1);
  if (!socket) return t.fail();
  const closed: WebSocket[] = [];
  const unsent = createUnsent({
    maxBytes: 5 * MiB,
    maxTotalBytes: 64 * MiB,
    onTooMuch: each => closed.push(each),
  });
  unsent.send(socket, 'x'.repeat(20 * MiB));
  unsent.send(socket, 'x'.repeat(4 * MiB));
  t.deepEqual(closed, []);
  unsent.send(socket, 'x'.repeat(MiB));
  t.deepEqual(closed, [socket]);
});

test('all clients that do not read share one limit; one that reads a large message is not disconnected for others', async t => {
  let now = 0;
  const [reads, some, most] = await pairs(t, 3);
  if (!reads || !some || !most) return t.fail();
  const unsent = createUnsent({
    ...{ maxBytes: 32 * MiB, maxTotalBytes: 40 * MiB, onTooMuch: never(t), now: () => now },
  });
  unsent.send(some[0], 'x'.repeat(8 * MiB));
  unsent.send(most[0], 'x'.repeat(12 * MiB));
  unsent.send(reads[0], 'x'.repeat(18 * MiB));
  // Sockets take some of it for their peers, and report it later.
  const allUnsent = () => [reads, some, most].reduce((sum, [socket]) => sum + unsent.of(socket), 0);
  let [last, looks] = [-1, 0];
  await eventually(() => {
    looks = last === allUnsent() ? looks + 1 : 0;
    last = allUnsent();
    return looks > 20;
  });
  const before = unsent.of(reads[0]);
  now += 1e6; // long before anything is read
  reads[1].resume();
  await eventually(() => {
    now += 1000;
    return unsent.of(reads[0]) !== before;
  });
  reads[1].pause();
  const missing = 40 * MiB - allUnsent();
  unsent.send(reads[0], 'x'.repeat(Math.max(0, missing) + 1));
  t.is(most[0].readyState, WebSocket.CLOSING);
  t.is(some[0].readyState, WebSocket.OPEN);
  t.is(reads[0].readyState, WebSocket.OPEN);
  await eventually(() => unsent.of(most[0]) === 0);
});
