import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { createAllowList, isPublic } from '../../../core/delivery/addresses.ts';
import { resolveByDns } from '../../../core/delivery/names.ts';
import { createOutbound, type Posted } from '../../../core/delivery/outbound.ts';
import { createLog } from '../../../core/runtime/log.ts';
import { startDnsServer } from '../../helpers/dns-server.ts';

type Options = Partial<Parameters<typeof createOutbound>[0]>;

const NOW = Date.UTC(2026, 10, 2, 12);
const never = new AbortController().signal;

function open(t: ExecutionContext, options: Options = {}) {
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock: { now: () => NOW }, ...options });
  t.teardown(() => outbound.close());
  return outbound;
}

/** Returns its port, and counts its connections. */
async function listen(t: ExecutionContext, server: Server, host = '127.0.0.1', port = 0) {
  const seen = { port: 0, connections: 0 };
  server.on('connection', () => void seen.connections++);
  await once(server.listen(port, host), 'listening');
  t.teardown(() => {
    server.close();
    if ('closeAllConnections' in server)
      (server as ReturnType<typeof createHttpServer>).closeAllConnections();
  });
  seen.port = (server.address() as AddressInfo).port;
  return seen;
}

async function serve(
  t: ExecutionContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const seen = await listen(t, createHttpServer(answer));
  return { seen, url: `http://127.0.0.1:${seen.port}/hook` };
}

/** A server that runs `act` on every connection. */
async function serveRaw(t: ExecutionContext, answer: string, end: 'reset' | 'stay') {
  const seen = await listen(
    t,
    createServer(socket => {
      t.teardown(() => socket.destroy());
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.write(answer, () => void (end === 'reset' && setImmediate(() => socket.resetAndDestroy()))),
      );
    }),
  );
  return `http://127.0.0.1:${seen.port}/`;
}

const post = (outbound: ReturnType<typeof createOutbound>, url: string, body: string | Uint8Array = '{}') =>
  outbound.post(url, { headers: { 'content-type': 'application/json' }, body, signal: never });

function errorOf(posted: Posted) {
  return posted.status === null ? posted.error : undefined;
}

test('a POST arrives unchanged, and its response is returned', async t => {
  const got: { headers: IncomingMessage['headers']; method?: string; url?: string; body: string }[] = [];
  const { url } = await serve(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    got.push({ headers: request.headers, method: request.method ?? '', url: request.url ?? '', body });
    response.writeHead(202, { 'x-own': 'yes' }).end('thanks');
  });
  const posted = await post(open(t), `${url}?a=1`, '{"text":"ä"}');
  t.like(got[0], { method: 'POST', url: '/hook?a=1', body: '{"text":"ä"}' });
  t.like(got[0]?.headers, { 'content-type': 'application/json', 'user-agent': 'Earshot' });
  t.like(posted, { status: 202, isWhole: true, retryAfter: undefined });
  if (posted.status === null) return t.fail();
  t.is(Buffer.from(posted.body).toString(), 'thanks');
  t.is(posted.headers.get('x-own'), 'yes');
});

test('no status is an error, and Retry-After is returned', async t => {
  const headers: Record<string, string> = {
    500: '7',
    503: new Date(NOW + 90_000).toUTCString(),
    429: 'soon',
    408: new Date(NOW - 90_000).toUTCString(),
  };
  const { url } = await serve(t, (request, response) => {
    const status = Number(new URL(request.url ?? '', 'http://x').searchParams.get('status'));
    const after = headers[status];
    response.writeHead(status, after === undefined ? {} : { 'retry-after': after }).end();
  });
  const outbound = open(t);
  const told = new Map<number, number | undefined>();
  for (const status of [204, 301, 400, 408, 410, 429, 500, 503]) {
    const posted = await post(outbound, `${url}?status=${status}`);
    t.is(posted.status, status);
    if (posted.status !== null) told.set(status, posted.retryAfter);
  }
  t.is(told.get(500), 7);
  t.is(told.get(503), 90);
  t.is(told.get(408), 0);
  t.is(told.get(429), undefined);
});

test('a response with odd headers is accepted', async t => {
  const url = await serveRaw(
    t,
    'HTTP/1.1 200 OK\r\nx-a: ü€\r\nx-b: b\r\nx-b: c\r\ncontent-length: 0\r\n\r\n',
    'stay',
  );
  const posted = await post(open(t), url);
  t.is(posted.status, 200);
  t.is(posted.status === 200 && posted.headers.get('x-b'), 'b, c');
});

test('successive requests share a connection', async t => {
  const { seen, url } = await serve(t, (request, response) => {
    request.resume().on('end', () => response.end());
  });
  const outbound = open(t);
  for (let count = 0; count < 5; count++) {
    t.is((await post(outbound, url)).status, 200);
    await turn();
  }
  t.is(seen.connections, 1);
});

test('no kind of redirect is followed', async t => {
  const trap = await listen(t, createServer(), '::1');
  const { url } = await serve(t, (_request, response) => {
    response.writeHead(307, { location: `http://[::1]:${trap.port}/` }).end();
  });
  const outbound = open(t);
  t.is((await post(outbound, url)).status, 307);
  t.is((await outbound.fetchUser(url, { signal: never })).status, 307);
  t.is(trap.connections, 0);
});

test('an endless response is cut off', async t => {
  const { url } = await serve(t, (_request, response) => {
    const more = () =>
      void (response.write('x'.repeat(10_000)) ? setImmediate(more) : response.once('drain', more));
    response.on('error', () => {});
    more();
  });
  const outbound = open(t);
  const posted = await post(outbound, url);
  t.like(posted, { status: 200, isWhole: false });
  t.is(posted.status === 200 && posted.body.length, 64 * 1024);
  await t.throwsAsync(outbound.fetchUser(url, { signal: never }), { message: /sent too much/ });
});

test('a response of exactly 64 KiB is complete', async t => {
  const { url } = await serve(t, (_request, response) => void response.end('x'.repeat(64 * 1024)));
  t.like(await post(open(t), url), { status: 200, isWhole: true });
});

test('a status counts even if its body is cut off, or does not arrive in time', async t => {
  const cut = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf';
  // The status has to arrive within the limit, also on a busy machine.
  const outbounds = { reset: open(t), stay: open(t, { limitMs: 3000 }) };
  for (const end of ['reset', 'stay'] as const) {
    const outbound = outbounds[end];
    const url = await serveRaw(t, cut, end);
    t.like(await post(outbound, url), { status: 200, isWhole: false });
    await t.throwsAsync(outbound.fetchUser(url, { signal: never }), {
      message: /did not complete its response/,
    });
  }
});

test('a missing response is a failure with its reason', async t => {
  const silent = await serveRaw(t, '', 'stay');
  t.like(errorOf(await post(open(t, { limitMs: 300 }), silent)), {
    code: 'timeout',
    message: `${new URL(silent).host} did not answer within 300 ms`,
  });
  const outbound = open(t);
  const resetting = await serveRaw(t, 'HTTP/1.1 2', 'reset');
  t.is(errorOf(await post(outbound, resetting))?.code, 'upstream_error');
  const odd = await serveRaw(t, 'hello\r\n\r\n', 'stay');
  t.is(errorOf(await post(outbound, odd))?.code, 'upstream_error');
});

test('a refused connection, and an unknown host, are failures with their reasons', async t => {
  const server = createServer();
  const { port } = await listen(t, server);
  server.close();
  const dns = await startDnsServer(() => []);
  t.teardown(() => dns.close());
  const outbound = open(t, { resolve: resolveByDns([dns.address]) });
  t.like(errorOf(await post(outbound, `http://127.0.0.1:${port}/secret-path?key=secret`)), {
    code: 'upstream_error',
    message: `127.0.0.1:${port} cannot be reached: ECONNREFUSED`,
  });
  t.like(errorOf(await post(outbound, 'https://nobody.example/secret')), {
    code: 'upstream_error',
    message: 'nobody.example cannot be reached: ENOTFOUND',
  });
});

test('an abort rejects with its own reason, and closes the connection', async t => {
  const asked = Promise.withResolvers<IncomingMessage>();
  const { url } = await serve(t, request => asked.resolve(request));
  const outbound = open(t);
  for (const way of ['post', 'fetchUser'] as const) {
    const stopper = new AbortController();
    const waiting = outbound[way](url, {
      headers: {},
      body: '',
      method: 'POST',
      signal: stopper.signal,
    } as never);
    await asked.promise;
    const reason = new Error('enough');
    stopper.abort(reason);
    t.is(await t.throwsAsync(waiting), reason);
  }
  const request = await asked.promise;
  if (!request.socket.destroyed) await once(request.socket, 'close');
  t.true(request.socket.destroyed);
});

test('headers that set the host or the length of a request are refused', async t => {
  const { seen, url } = await serve(t, (_request, response) => void response.end());
  const outbound = open(t);
  for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'connection', 'Upgrade']) {
    const asked = outbound.fetchUser(url, { headers: { [name]: 'x' }, signal: never });
    await t.throwsAsync(asked, { message: `The header ${name} cannot be set` });
  }
  for (const value of ['b\r\nHost: c', 'b\nc', 'b\0', 'ü€']) {
    const asked = outbound.fetchUser(url, { headers: { 'x-a': value }, signal: never });
    await t.throwsAsync(asked, { message: 'The header x-a contains invalid characters' });
  }
  for (const name of ['', 'a b', 'a\r\nb', 'a:b'])
    await t.throwsAsync(outbound.fetchUser(url, { headers: { [name]: 'x' }, signal: never }), {
      message: 'A header name is not valid',
    });
  t.is(seen.connections, 0);
});

test('the log of a failure contains nothing of URL, headers, body or response', async t => {
  const lines: string[] = [];
  const log = createLog(
    { level: 'trace', format: 'json' },
    { write: (line: string) => void lines.push(line) },
  );
  const CANARY = 'canary-7f3a';
  const { url } = await serve(t, (_request, response) => {
    response.writeHead(200, { 'x-canary': CANARY, 'retry-after': CANARY, location: CANARY });
    response.write(CANARY);
    response.destroy();
  });
  const odd = await serveRaw(t, `HTTP/1.1 ${CANARY}\r\n\r\n${CANARY}`, 'stay');
  const resetting = await serveRaw(t, `HTTP/1.1 200 OK\r\nx: ${CANARY}`, 'reset');
  const silent = await serveRaw(t, '', 'stay');
  const outbound = open(t, { limitMs: 300, resolve: async () => Promise.reject(new Error('no such name')) });
  const canaries = `${CANARY}?token=${CANARY}#${CANARY}`;
  const addresses = [
    ...[url, odd, resetting, silent].map(each => `${each}/${canaries}`),
    ...[
      `https://10.0.0.1/${canaries}`,
      `https://nobody.example/${canaries}`,
      `http://nobody.example/${canaries}`,
    ],
    ...[`https://${CANARY}:${CANARY}@nobody.example/`, `https://nobody.example:99999/${canaries}`],
    ...[`ftp://nobody.example/${canaries}`, CANARY, `https://[${CANARY}]/`, `http://127.0.0.1:1/${canaries}`],
  ];
  const headers = { authorization: `Bearer ${CANARY}`, 'x-odd': `${CANARY}\n` };
  for (const address of addresses) {
    for (const sent of [{ authorization: headers.authorization }, headers]) {
      const request = { headers: sent, body: CANARY, signal: never };
      const posted = await outbound.post(address, request);
      log.info({ err: errorOf(posted) }, 'posted');
      const method = 'POST' as const;
      await outbound.fetchUser(address, { ...request, method }).catch(err => log.error({ err }, 'asked'));
    }
  }
  t.is(lines.length, addresses.length * 4);
  t.deepEqual(
    lines.filter(line => line.includes(CANARY)),
    [],
  );
});

// ── names that move ─────────────────────────────────────────────────────────────────────────────────────────────

const FIXTURES = new URL('../../fixtures/tls/', import.meta.url);
const certificate = readFileSync(new URL('certificate.pem', FIXTURES), 'utf8');
const key = readFileSync(new URL('key.pem', FIXTURES));

/** Trusts the certificate until the test ends, so the test must be serial. */
function trustCertificate(t: ExecutionContext) {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, certificate]);
  t.teardown(() => setDefaultCACertificates(before));
}

/** Listens on one port at 127.0.0.1, which is allowed, and at ::1, which is not. */
async function twoHosts(t: ExecutionContext) {
  const allowed = await listen(
    t,
    createHttpsServer({ cert: certificate, key }, (request, response) => {
      request.resume();
      response.writeHead(200, { connection: 'close' }).end('allowed');
    }),
  );
  const trap = await listen(
    t,
    createHttpsServer({ cert: certificate, key }, (_request, response) => void response.end('trap')),
    '::1',
    allowed.port,
  );
  return { allowed, trap };
}

test.serial('DNS that changes its answer after the check has no effect', async t => {
  trustCertificate(t);
  const { allowed, trap } = await twoHosts(t);
  let asked = 0;
  const outbound = open(t, {
    // A second lookup for the connection returns the forbidden address.
    resolve: async () => (asked++ % 2 === 0 ? ['127.0.0.1'] : ['::1']),
  });
  const url = `https://hook.example:${allowed.port}/`;
  for (let count = 0; count < 4; count++) {
    const posted = await post(outbound, url);
    if (count % 2 === 0) t.is(posted.status, 200);
    else t.is(errorOf(posted)?.code, 'forbidden');
  }
  t.is(asked, 4);
  t.is(allowed.connections, 2);
  t.is(trap.connections, 0);
});

test.serial(
  'a real DNS server that changes an address is queried, and checked, for each connection',
  async t => {
    trustCertificate(t);
    const { allowed, trap } = await twoHosts(t);
    let at = ['127.0.0.1'];
    const dns = await startDnsServer(() => at);
    t.teardown(() => dns.close());
    const outbound = open(t, { resolve: resolveByDns([dns.address]) });
    const url = `https://hook.example:${allowed.port}/`;
    t.is((await post(outbound, url)).status, 200);
    at = ['::1'];
    t.is(errorOf(await post(outbound, url))?.code, 'forbidden');
    at = ['127.0.0.1', '::1'];
    t.is(errorOf(await post(outbound, url))?.code, 'forbidden');
    at = ['127.0.0.1'];
    t.is((await post(outbound, url)).status, 200);
    t.deepEqual(dns.asked, Array(4).fill('hook.example'));
    t.is(trap.connections, 0);
  },
);

test.serial('a kept connection belongs to the address that was checked', async t => {
  trustCertificate(t);
  const seen = await listen(
    t,
    createHttpsServer({ cert: certificate, key }, (request, response) => {
      request.resume().on('end', () => response.end());
    }),
  );
  const trap = await listen(t, createServer(), '::1', seen.port);
  let at = ['127.0.0.1'];
  const outbound = open(t, { resolve: async () => at });
  const named = `https://hook.example:${seen.port}/hook`;
  t.is((await post(outbound, named)).status, 200);
  at = ['::1'];
  await turn();
  t.is((await post(outbound, named)).status, 200);
  t.is(seen.connections, 1);
  t.is(trap.connections, 0);
});

// ── what the operator allows ────────────────────────────────────────────────────────────────────────────────────

const PASSES: { allow: string[]; url: string; passes: boolean }[] = [
  { allow: ['127.0.0.1'], url: 'http://127.0.0.1:PORT/', passes: true },
  { allow: ['127.0.0.1:PORT'], url: 'http://127.0.0.1:PORT/', passes: true },
  { allow: ['127.0.0.1:1'], url: 'http://127.0.0.1:PORT/', passes: false },
  { allow: ['127.0.0.2'], url: 'http://127.0.0.1:PORT/', passes: false },
  { allow: ['127.0.0.0/8'], url: 'http://127.0.0.1:PORT/', passes: true },
  { allow: ['127.0.0.0/31'], url: 'http://2130706433:PORT/', passes: true },
  { allow: ['10.0.0.0/8'], url: 'http://127.0.0.1:PORT/', passes: false },
  { allow: ['::ffff:127.0.0.1'], url: 'http://127.0.0.1:PORT/', passes: true },
  { allow: ['127.0.0.1'], url: 'http://[::ffff:127.0.0.1]:PORT/', passes: true },
  { allow: ['127.0.0.0/8'], url: 'http://[::ffff:127.0.0.1]:PORT/', passes: true },
  { allow: ['127.0.0.1'], url: 'http://[::1]:PORT/', passes: false },
  { allow: ['localhost'], url: 'http://localhost:PORT/', passes: true },
  { allow: ['LocalHost'], url: 'http://localhost.:PORT/', passes: true },
  { allow: ['localhost:PORT'], url: 'http://localhost:PORT/', passes: true },
  { allow: ['localhost:1'], url: 'http://localhost:PORT/', passes: false },
  { allow: ['localhost'], url: 'http://127.0.0.1:PORT/', passes: false },
  { allow: ['localhost'], url: 'http://a.localhost:PORT/', passes: false },
  { allow: ['127.0.0.1'], url: 'http://localhost:PORT/', passes: false },
  { allow: ['nas.example'], url: 'http://nas.example:PORT/', passes: true },
  { allow: ['nas.example'], url: 'http://other.example:PORT/', passes: false },
  { allow: ['nas.example'], url: 'http://sub.nas.example:PORT/', passes: false },
  { allow: ['example'], url: 'http://nas.example:PORT/', passes: false },
  { allow: ['127.0.0.1'], url: 'http://nas.example:PORT/', passes: false },
  { allow: ['127.0.0.0/8', 'nas.example'], url: 'http://nas.example:PORT/', passes: true },
  { allow: ['127.0.0.1:1'], url: 'http://nas.example:PORT/', passes: false },
];

for (const { allow, url, passes } of PASSES) {
  test(`with ${allow} allowed, ${url} is ${passes ? 'requested' : 'refused'}`, async t => {
    const server = await serve(
      t,
      (request, response) => void request.resume().on('end', () => response.end()),
    );
    const withPort = (text: string) => text.replace('PORT', String(server.seen.port));
    const outbound = open(t, {
      allowHosts: allow.map(withPort),
      resolve: async () => ['127.0.0.1'],
      resolveAllowed: async () => ['127.0.0.1'],
    });
    const posted = await post(outbound, withPort(url));
    if (passes) t.is(posted.status, 200);
    else t.is(errorOf(posted)?.code, 'forbidden');
    t.is(server.seen.connections, passes ? 1 : 0);
  });
}

test('an entry with the standard port also matches a URL without one', t => {
  const allowed = createAllowList(['nas.example:80', '[fd00::5]:443', 'fd00::0006']);
  t.true(allowed.hasName('nas.example', 80));
  t.false(allowed.hasName('nas.example', 443));
  t.true(allowed.hasAddress('fd00:0:0::5', 443));
  t.false(allowed.hasAddress('fd00::5', 80));
  t.true(allowed.hasAddress('fd00::6', 1));
});

for (const address of [
  ...['93.184.215.14', '1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.32.0.0'],
  ...['126.255.255.255', '169.253.255.255', '192.167.255.255', '198.17.255.255', '223.255.255.255'],
  ...[
    '2606:4700:4700::1111',
    '2a00:1450:4001::5',
    '::ffff:1.1.1.1',
    '64:ff9b::1.1.1.1',
    '2001:4860:4860::8888',
  ],
]) {
  test(`${address} is public`, t => t.true(isPublic(address)));
}

test('an invalid address is not public', t => {
  for (const odd of ['', 'example.com', '1.1.1', 'fe80::1%eth0', '2606::1%eth0', '::g'])
    t.false(isPublic(odd), odd);
});

test('an address is checked before it is contacted', t => {
  const outbound = open(t, { allowHosts: [] });
  t.notThrows(() => outbound.check('https://hooks.example.com/a?b=c'));
  t.throws(() => outbound.check('https://10.0.0.1/'), {
    message:
      '10.0.0.1 does not have a public address; the operator of this server can allow it in its configuration (delivery.allowHosts)',
  });
});

const BY_HTTP = {
  code: 'forbidden',
  message:
    'hook.example must be reached over https, not http; the operator of this server can allow it in its configuration (delivery.allowHosts)',
};
for (const allowHosts of [
  ...[[], ['nas.example'], ['hook.example:8123'], ['10.0.0.0/8'], ['10.0.0.7'], ['10.0.0.7:80', 'fd00::5']],
])
  test(`http to an unlisted name is refused unresolved, with [${allowHosts}] allowed`, async t => {
    const resolve = async () => t.fail();
    const outbound = open(t, { allowHosts, resolve: resolve as () => Promise<never> });
    t.throws(() => outbound.check('http://hook.example/'), BY_HTTP);
    t.notThrows(() => outbound.check('https://hook.example/'));
    t.like(errorOf(await post(outbound, 'http://hook.example/')), BY_HTTP);
  });

test('https to a name is allowed if it resolves to an allowed address, and refused for another private one', async t => {
  let address = '127.0.0.1';
  const outbound = open(t, { allowHosts: ['127.0.0.1'], resolve: async () => [address] });
  t.is(
    errorOf(await post(outbound, 'https://hook.example:1/'))?.message,
    'hook.example:1 cannot be reached: ECONNREFUSED',
  );
  address = '10.0.0.7';
  t.is(errorOf(await post(outbound, 'https://hook.example:1/'))?.code, 'forbidden');
});

test('http to an address is allowed only if it or its network is listed', t => {
  const outbound = open(t, { allowHosts: ['192.168.1.0/24', '10.0.0.7:8123'] });
  for (const url of ['http://192.168.1.9/', 'http://10.0.0.7:8123/', 'http://[::ffff:192.168.1.9]/'])
    t.notThrows(() => outbound.check(url), url);
  for (const url of [
    'http://192.168.2.9/',
    'http://10.0.0.7/',
    'http://93.184.215.14/',
    'http://[2606:4700::1]/',
  ])
    t.throws(() => outbound.check(url), { code: 'forbidden' }, url);
});

// ── TLS ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test.serial('certificates are verified, also for allowed hosts', async t => {
  const server = createHttpsServer({ cert: certificate, key }, (request, response) => {
    request.resume().on('end', () => response.end());
  });
  const { port } = await listen(t, server);
  const options = {
    allowHosts: ['hook.example', 'other.example'],
    resolveAllowed: async () => ['127.0.0.1'],
  };
  const untrusting = open(t, options);
  t.like(errorOf(await post(untrusting, `https://hook.example:${port}/`)), {
    code: 'upstream_error',
    message: `hook.example:${port} cannot be reached: DEPTH_ZERO_SELF_SIGNED_CERT`,
  });
  trustCertificate(t);
  const trusting = open(t, options);
  t.is((await post(trusting, `https://hook.example:${port}/`)).status, 200);
  t.like(errorOf(await post(trusting, `https://other.example:${port}/`)), {
    message: `other.example:${port} cannot be reached: ERR_TLS_CERT_ALTNAME_INVALID`,
  });
  t.is(errorOf(await post(trusting, `http://hook.example:${port}/`))?.code, 'upstream_error');
});
