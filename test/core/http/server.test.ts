import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import WebSocket from 'ws';
import type { Health } from '../../../core/contract/model.ts';
import { createServer } from '../../../core/http/server.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { openBreakableLine } from '../../helpers/breakable-line.ts';
import { openDomain } from '../../helpers/domain.ts';
import { startPlainProxy } from '../../helpers/plain-proxy.ts';
import { openRest } from '../../helpers/rest.ts';

const CLOSE_MS = 5000;
const AUTHORIZE_MS = 10_000;

type Options = Parameters<typeof createServer>[0];
type Live = Options['listen'];

/** A WebSocket handler that answers each message with its length, in order. */
const echo: Live = {
  paths: ['/v4/listen'],
  refusal: () => null,
  authorize: async () => null,
  async accept(socket) {
    await new Promise(resolve => setImmediate(resolve)); // messages arrive before the handler listens
    socket.on('error', () => {});
    socket.on('message', message => socket.send(String((message as Buffer).length)));
    socket.resume();
  },
};

async function start(t: ExecutionContext, changes: Partial<Options> = {}) {
  const domain = await openDomain(t);
  const server = createServer({
    ...domain,
    listen: echo,
    config: { listen: { maxConnections: 10 } as Options['config']['listen'], trustedProxies: [] },
    health: async () => ({ status: 'ok', parts: [] }),
    ...changes,
  });
  t.teardown(async () => {
    const closed = server.close();
    domain.clock.advance(CLOSE_MS);
    await closed;
  });
  const { port } = await server.listen('127.0.0.1', 0);
  const url = `http://127.0.0.1:${port}`;
  return { ...domain, server, port, url };
}

/** Sends raw bytes; resolves to everything received until the server closed. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {}); // a reset also ends the connection
  socket.write(text);
  let answer = '';
  socket.on('data', chunk => {
    answer += chunk;
  });
  await once(socket, 'close');
  return answer;
}

async function refusedUpgrade(
  url: string,
): Promise<{ status: number; headers: IncomingMessage['headers']; body: string }> {
  const socket = new WebSocket(url.replace('http', 'ws'));
  socket.on('error', () => {});
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

test('Health needs no credential, and only a server that cannot serve answers with 503', async t => {
  let health: Health = { status: 'failing', parts: [] };
  const { url } = await start(t, { health: async () => health });
  const get = async () => {
    const response = await fetch(`${url}/healthz`);
    return [response.status, await response.json()];
  };
  t.deepEqual(await get(), [503, { status: 'failing', parts: [] }]);
  health = { status: 'degraded', parts: ['speech recognition'] };
  t.deepEqual(await get(), [200, health]);
  health = { status: 'ok', parts: [] };
  t.deepEqual(await get(), [200, health]);
});

test('Every response is JSON that browsers neither cache, frame nor sniff', async t => {
  const { url } = await start(t);
  for (const path of ['/healthz', '/nowhere', '/v1/dev/user/conversations']) {
    const { headers } = await fetch(url + path);
    t.is(headers.get('content-type'), 'application/json; charset=utf-8');
    t.is(headers.get('cache-control'), 'no-store');
    t.is(headers.get('x-content-type-options'), 'nosniff');
    t.is(headers.get('x-frame-options'), 'DENY');
  }
});

test('A connection is kept longer than proxies keep one, so a proxy never uses a closing one', async t => {
  const { url } = await start(t);
  t.is((await fetch(`${url}/healthz`)).headers.get('keep-alive'), 'timeout=75');
});

test('Unknown paths, wrong methods and unknown methods get different errors', async t => {
  const { url } = await start(t);
  const answer = async (method: string, path: string) => {
    const response = await fetch(url + path, { method });
    return [response.status, await response.text(), response.headers.get('allow')];
  };
  t.deepEqual(await answer('GET', '/nowhere'), [404, '{"detail":"Not Found"}', null]);
  t.deepEqual(await answer('POST', '/healthz'), [405, '{"detail":"Method Not Allowed"}', 'HEAD, GET']);
  t.deepEqual(await answer('DELETE', '/v1/dev/user/conversations'), [
    405,
    '{"detail":"Method Not Allowed"}',
    'HEAD, GET, POST',
  ]);
  t.deepEqual(await answer('PROPFIND', '/healthz'), [501, '{"detail":"Not Implemented"}', 'HEAD, GET']);
  t.deepEqual(await answer('HEAD', '/healthz'), [200, '', null]);
  t.deepEqual(await answer('HEAD', '/nowhere'), [404, '', null]);
  t.deepEqual(await answer('OPTIONS', '/healthz'), [200, '', 'HEAD, GET']);
});

test('A WebSocket request that lost its Upgrade header gets an explanation', async t => {
  const listen = {
    paths: ['/v4/listen'],
    refusal: () => null,
    authorize: async () => null,
    accept: async () => {},
  };
  const { url } = await start(t, { listen });
  const proxy = await startPlainProxy(t, url);
  const { status, headers, body } = await refusedUpgrade(`${proxy}/v4/listen`);
  t.is(status, 426);
  t.is(headers.upgrade, 'websocket');
  t.regex(
    JSON.parse(body).detail,
    /it has to pass on Upgrade and Connection; nginx: proxy_http_version 1\.1;/,
  );
});

test('An unexpected error is logged with its cause, and the response shows no detail', async t => {
  const domain = await openDomain(t);
  const cause = new Error('disk on fire');
  const failing = {
    ...domain.conversations,
    list: () => Promise.reject(new Error('secret path /data', { cause })),
  };
  const { url, users, logged } = await start(t, { conversations: failing });
  await users.add('anna');
  const response = await fetch(`${url}/v1/dev/user/conversations?x=1`, {
    headers: { Authorization: `Bearer ${await users.token('anna')}` },
  });
  t.is(response.status, 500);
  t.deepEqual(await response.json(), { detail: 'Internal server error' });
  const line = logged.find(({ msg }) => msg === 'request failed');
  t.like(line, { level: 50, method: 'GET', path: '/v1/dev/user/conversations' });
  t.regex(JSON.stringify(line), /secret path.*disk on fire/);
});

test('An error meant for clients is sent with status, reason, and retry time', async t => {
  const domain = await openDomain(t);
  const busy = {
    ...domain.conversations,
    list: () =>
      Promise.reject(new AppError('unavailable', 'The database is being started', { retryAfter: 2.2 })),
  };
  const { url, users, logged } = await start(t, { conversations: busy });
  await users.add('anna');
  const response = await fetch(`${url}/v1/dev/user/conversations`, {
    headers: { Authorization: `Bearer ${await users.token('anna')}` },
  });
  t.is(response.status, 503);
  t.is(response.headers.get('retry-after'), '3');
  t.deepEqual(await response.json(), { detail: 'The database is being started' });
  t.true(logged.some(({ level, msg }) => level === 40 && msg === 'request could not be served'));
});

test('A body over the limit is rejected before it is read', async t => {
  const { port } = await start(t);
  const answer = await raw(
    port,
    'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\nonly the beginning',
  );
  t.regex(
    answer,
    /^HTTP\/1\.1 413 [\s\S]*Connection: close[\s\S]*\{"detail":"A request body may have 1048576 bytes/i,
  );
});

test('Invalid HTTP gets an error in the usual form, and a client that only offers HTTP/2 is served', async t => {
  const { port } = await start(t);
  t.regex(await raw(port, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 Bad Request[\s\S]*\{"detail":"Bad Request"\}$/);
  t.regex(
    await raw(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`),
    /^HTTP\/1\.1 431 [\s\S]*\{"detail":"Request Header Fields Too Large"\}$/,
  );
  const upgrade =
    'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
  t.regex(await raw(port, `GET /healthz HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`), /^HTTP\/1\.1 200 OK/);
});

test('A message that arrives with the upgrade, before the handler listens, is not lost', async t => {
  const { port } = await start(t);
  const socket = connect(port, '127.0.0.1');
  const upgrade = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n';
  const head = `GET /v4/listen HTTP/1.1\r\nHost: x\r\n${upgrade}Sec-WebSocket-Key: ${'A'.repeat(22)}==\r\n\r\n`;
  const frame = Buffer.from([0x82, 0x83, 0, 0, 0, 0, 7, 7, 7]); // binary, masked, 3 bytes
  socket.write(Buffer.concat([Buffer.from(head), frame]));
  const answer = Buffer.from([0x81, 1, '3'.charCodeAt(0)]);
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk]);
    if (received.includes(answer)) break;
  }
  t.regex(received.toString('latin1'), /^HTTP\/1\.1 101 /);
  t.true(received.includes(answer));
});

test('Messages arrive in order, and compression is optional', async t => {
  const { url } = await start(t);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v4/listen?x=1`, { perMessageDeflate: true });
  const answers: string[] = [];
  const all = new Promise<void>(resolve => {
    socket.on('message', message => {
      answers.push(String(message));
      if (answers.length === 100) resolve();
    });
  });
  await once(socket, 'open');
  t.is(socket.extensions, '');
  for (let length = 0; length < 100; length += 1) socket.send(Buffer.alloc(length));
  await all;
  t.deepEqual(
    answers,
    Array.from({ length: 100 }, (_, length) => String(length)),
  );
  socket.close();
  await once(socket, 'close');
});

test('A message over 1 MiB closes its own socket only', async t => {
  const { url } = await start(t);
  const [big, other] = [0, 1].map(() => new WebSocket(`${url.replace('http', 'ws')}/v4/listen`));
  if (!big || !other) return t.fail();
  await Promise.all([once(big, 'open'), once(other, 'open')]);
  big.send(Buffer.alloc(1024 * 1024 + 1));
  const [code] = await once(big, 'close');
  t.is(code, 1009);
  other.send(Buffer.alloc(1024 * 1024));
  const [message] = await once(other, 'message');
  t.is(String(message), '1048576');
  other.terminate();
});

test('The handler receives its own authentication result, and only with its own request', async t => {
  const seen: unknown[] = [];
  const { url } = await start(t, {
    listen: {
      ...echo,
      authorize: async request => ({ path: request.url }) as never,
      async accept(socket, request, grant) {
        seen.push([request.url, grant]);
        socket.resume();
        socket.close(1000);
      },
    },
  });
  for (const query of ['?a', '?b']) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v4/listen${query}`);
    await once(socket, 'close');
  }
  t.deepEqual(seen, [
    ['/v4/listen?a', { path: '/v4/listen?a' }],
    ['/v4/listen?b', { path: '/v4/listen?b' }],
  ]);
});

test('An upgrade that the handler refuses at once is not authenticated', async t => {
  const refusal = () => new AppError('rate_limited', 'Too many connections', { retryAfter: 1 });
  const authorize = () => t.fail() as never;
  const { url } = await start(t, { listen: { ...echo, refusal, authorize } });
  const { status, headers, body } = await refusedUpgrade(`${url}/v4/listen`);
  t.is(status, 429);
  t.is(headers['retry-after'], '1');
  t.is(JSON.parse(body).detail, 'Too many connections');
});

test('An upgrade is refused before it is accepted, with status, reason and challenge', async t => {
  const refuse = (thrown: unknown): Partial<Options> => ({
    listen: { ...echo, authorize: () => Promise.reject(thrown) },
  });
  const unknownPath = await refusedUpgrade(`${(await start(t)).url}/v4/listens`);
  t.like(unknownPath, { status: 404, body: '{"detail":"Not Found"}' });

  const unauthorized = await start(t, refuse(new AppError('unauthorized', 'Who are you?')));
  const first = await refusedUpgrade(`${unauthorized.url}/v4/listen`);
  t.like(first, { status: 401, body: '{"detail":"Who are you?"}' });
  t.like(first.headers, {
    'www-authenticate': 'Bearer',
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });

  const forbidden = await start(t, refuse(new AppError('forbidden', 'Not you')));
  const second = await refusedUpgrade(`${forbidden.url}/v4/listen`);
  t.like(second, { status: 403, body: '{"detail":"Not you"}' });
  t.is(second.headers['www-authenticate'], undefined);

  const crashed = await start(t, refuse(new Error('secret')));
  t.like(await refusedUpgrade(`${crashed.url}/v4/listen`), {
    status: 500,
    body: '{"detail":"Internal server error"}',
  });
  t.true(crashed.logged.some(({ msg }) => msg === 'request failed'));
});

test('A credential check that hangs is aborted', async t => {
  const { url, clock } = await start(t, { listen: { ...echo, authorize: () => new Promise(() => {}) } });
  const upgrade = refusedUpgrade(`${url}/v4/listen`);
  await clock.asleep(AUTHORIZE_MS);
  clock.advance(AUTHORIZE_MS);
  const refused = await upgrade;
  t.is(refused.status, 503);
  t.regex(refused.body, /took too long/);
});

test('A handler that fails closes its own socket only', async t => {
  const { url, logged } = await start(t, {
    listen: { ...echo, accept: () => Promise.reject(new Error('broken')) },
  });
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v4/listen`);
  const [code] = await once(socket, 'close');
  t.is(code, 1011);
  t.true(logged.some(({ msg }) => msg === 'a live connection failed'));
  t.is((await fetch(`${url}/healthz`)).status, 200);
});

test('A port in use, or an address of another machine, is explained with a way out', async t => {
  const { port } = await start(t);
  const second = await start(t);
  await second.server.close();
  const inUse = await t.throwsAsync(second.server.listen('127.0.0.1', port), { instanceOf: AppError });
  t.is(inUse.code, 'config_error');
  t.regex(inUse.message, new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is in use.*EARSHOT_PORT=${port + 1}`));
  await t.throwsAsync(second.server.listen('192.0.2.1', 0), {
    message: /192\.0\.2\.1 is no address of this machine\. Set EARSHOT_HOST/,
  });
});

test('Closing waits for running requests, drops idle connections, and cuts off the rest in time', async t => {
  const domain = await openDomain(t);
  const entered = Promise.withResolvers<void>();
  const leave = Promise.withResolvers<void>();
  const slow = {
    ...domain.conversations,
    async list() {
      entered.resolve();
      await leave.promise;
      return [];
    },
  };
  const { url, users, server, port, clock } = await start(t, { conversations: slow });
  await users.add('anna');
  await (await fetch(`${url}/healthz`)).text(); // leaves an idle connection
  const running = fetch(`${url}/v1/dev/user/conversations`, {
    headers: { Authorization: `Bearer ${await users.token('anna')}` },
  });
  const half = connect(port, '127.0.0.1'); // a request that never ends
  half.on('error', () => {});
  half.write('GET / HTTP/1.1\r\n');
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v4/listen`);
  await Promise.all([once(socket, 'open'), entered.promise]);

  const closed = server.close();
  leave.resolve();
  const response = await running;
  t.is(response.status, 200);
  t.is(response.headers.get('connection'), 'close');
  clock.advance(CLOSE_MS);
  const [code] = await once(socket, 'close');
  t.is(code, 1006);
  await closed;
  await t.throwsAsync(fetch(`${url}/healthz`));
  await server.close(); // closing again is not an error
});

test('a request sent again because its answer was lost is stored once, for each sender', async t => {
  const rest = await openRest(t);
  const { send, users } = rest;
  const line = await openBreakableLine(rest.url);
  t.teardown(line.close);
  await users.add('ben');
  const bens = await users.token('ben');
  const path = '/v1/dev/user/action-items';
  const post = async (base: string, key: string, body: object, token = rest.token) => {
    const response = await fetch(base + path, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as { id: string } };
  };
  const list = async (token = rest.token) => (await send('GET', path, undefined, token)).body;
  const tea = { description: 'Buy tea' };
  line.cutAfter(`POST ${path}`);
  await t.throwsAsync(post(line.url, 'one', tea));
  await line.mend();
  const [stored] = await list();
  t.is(stored.description, 'Buy tea');
  const again = await post(line.url, 'one', tea);
  t.like(again, { status: 200, body: { id: stored.id } });
  t.is((await list()).length, 1);

  t.is((await post(rest.url, 'one', { description: 'Coffee' })).status, 422);
  t.is((await post(rest.url, 'x'.repeat(201), tea)).status, 422);
  t.is((await post(rest.url, 'one', tea, bens)).status, 200);
  t.is((await list(bens)).length, 1);
  const both = await Promise.all([post(rest.url, 'two', tea), post(rest.url, 'two', tea)]);
  t.is(both[0].body.id, both[1].body.id);
  t.is((await list()).length, 2);
  t.is((await post(rest.url, 'three', { description: ' ' })).status, 422);
  t.is((await post(rest.url, 'three', tea)).status, 200, 'a refusal is not remembered');

  for (let index = 0; index < 100; index += 1) await post(rest.url, `more ${index}`, tea);
  await post(rest.url, 'one', tea);
  t.is((await list()).length, 100, 'a page');
  t.is((await send('GET', `${path}?limit=1000`)).body.length, 104, 'the oldest was forgotten');
  rest.clock.advance(10 * 60_000);
  await post(rest.url, 'more 99', tea);
  t.is((await send('GET', `${path}?limit=1000`)).body.length, 105, 'and after ten minutes all');
});
