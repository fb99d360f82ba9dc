import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { hashCheaply } from '../../../helpers/domain.ts';
import { openRest } from '../../../helpers/rest.ts';

const PASSWORD = 'correct horse battery';

async function start(t: ExecutionContext) {
  const rest = await openRest(t);
  hashCheaply(rest);
  await rest.signIn.setPassword('anna', PASSWORD);
  rest.clock.advance(1);
  const attempt = (password: string, name = 'anna') =>
    rest.send('POST', '/v1/auth/token', { name, password }, null);
  return { ...rest, attempt };
}

test('Name and password are exchanged for an ID token that is valid for thirty days', async t => {
  const { attempt, send, clock } = await start(t);
  const { status, headers, body } = await attempt(PASSWORD, ' anna ');
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  t.deepEqual(Object.keys(body), ['token', 'token_type', 'expires_in']);
  t.like(body, { token_type: 'Bearer', expires_in: 30 * 24 * 3600 });
  const list = () => send('GET', '/v1/dev/user/conversations', undefined, body.token);
  t.is((await list()).status, 200);
  clock.advance(body.expires_in * 1000 + 1000);
  const late = await list();
  t.is(late.status, 401);
  t.regex(late.body.detail, /has expired/);
});

test('Wrong credentials get 401, missing ones 422, and too many attempts 429 with a retry time', async t => {
  const { attempt, issues } = await start(t);
  const wrong = await attempt('wrong');
  t.is(wrong.status, 401);
  t.deepEqual(wrong.body, { detail: 'Wrong name or password' });
  t.is(wrong.headers.get('www-authenticate'), 'Bearer');
  t.deepEqual((await attempt('wrong', 'nobody')).body, wrong.body);
  t.deepEqual(await issues('POST', '/v1/auth/token', {}), {
    'body.name': 'missing',
    'body.password': 'missing',
  });
  t.deepEqual(await issues('POST', '/v1/auth/token', { name: '', password: 7 }), {
    'body.name': 'string_too_short',
    'body.password': 'string_type',
  });
  for (let time = 0; time < 9; time += 1) await attempt('wrong');
  const many = await attempt(PASSWORD);
  t.is(many.status, 429);
  t.is(many.headers.get('retry-after'), '900');
  t.regex(many.body.detail, /try again in 15 minutes/);
});

test('Anyone can verify a token with the published keys, also after a rotation of the signing key', async t => {
  const { attempt, signIn, url, clock } = await start(t);
  const published = async () => {
    const response = await fetch(`${url}/.well-known/jwks.json`);
    t.is(response.headers.get('cache-control'), 'public, max-age=300');
    return (await response.json()) as Parameters<typeof createLocalJWKSet>[0];
  };
  const { body: first } = await attempt(PASSWORD);
  await signIn.rotateKeys();
  const { body: second } = await attempt(PASSWORD);
  const keys = await published();
  t.is(keys.keys.length, 2);
  const expected = { issuer: 'earshot', audience: 'earshot', currentDate: new Date(clock.now()) };
  for (const { token } of [first, second])
    await t.notThrowsAsync(jwtVerify(token, createLocalJWKSet(keys), expected));
  const older = { keys: keys.keys.slice(1) };
  await t.throwsAsync(jwtVerify(second.token, createLocalJWKSet(older), expected));
});

/** A reverse proxy on a real socket, which reports its client's address. */
async function proxyTo(t: ExecutionContext, url: string, forwardedFor: () => string): Promise<string> {
  const proxy = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, 'x-forwarded-for': forwardedFor() };
    const { method = 'GET', url: path = '/' } = incoming;
    incoming.pipe(
      httpRequest(new URL(path, url), { method, headers }, upstream => {
        answer.writeHead(upstream.statusCode ?? 502, upstream.headers);
        upstream.pipe(answer);
      }),
    );
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test('Behind a proxy on this machine each client is counted separately, whatever it claims to be', async t => {
  const { url } = await start(t);
  let client = '198.51.100.1';
  const proxy = await proxyTo(t, url, () => `203.0.113.99, ${client}`);
  const tried = async (name: string) => {
    const response = await fetch(`${proxy}/v1/auth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name, password: 'wrong password' }),
    });
    await response.body?.cancel();
    return response.status;
  };
  for (let index = 0; index < 50; index += 1) t.is(await tried(`name ${index}`), 401);
  t.is(await tried('another'), 429);
  client = '198.51.100.2';
  t.is(await tried('another'), 401);
});

test('A browser signs in: its scripts get a token for an hour, and an HttpOnly cookie renews it', async t => {
  const { url, send, clock, users } = await start(t);
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body ? { 'Content-Type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return {
      status: response.status,
      cookie: response.headers.get('set-cookie'),
      body: (await response.json()) as { token?: string },
    };
  };
  const begun = await ask('POST', '/v1/auth/session', { name: 'anna', password: PASSWORD });
  t.is(begun.status, 200);
  t.like(begun.body, { token_type: 'Bearer', expires_in: 3600, account: { name: 'anna', role: 'owner' } });
  const [pair = '', ...attributes] = (begun.cookie ?? '').split('; ');
  t.deepEqual(attributes, ['Path=/v1/auth/session', 'Max-Age=2592000', 'HttpOnly', 'SameSite=Strict']);
  t.false(JSON.stringify(begun.body).includes(pair.split('=')[1] ?? ''));

  clock.advance(2 * 3600_000);
  t.is((await send('GET', '/v1/accounts', undefined, begun.body.token)).status, 401);
  const renew = (headers: Record<string, string>) =>
    ask('POST', '/v1/auth/session/token', undefined, headers);
  const renewed = await renew({ Cookie: `other=1; ${pair}`, 'X-Forwarded-Proto': 'https' });
  t.is(renewed.status, 200);
  t.regex(renewed.cookie ?? '', /; Secure$/);
  t.is((await send('GET', '/v1/accounts', undefined, renewed.body.token)).status, 200);
  t.is((await renew({})).status, 401);
  t.is((await renew({ Cookie: `${pair.slice(0, -4)}AAAA` })).status, 401);
  for (const site of ['cross-site', 'same-site'])
    t.is((await renew({ Cookie: pair, 'Sec-Fetch-Site': site })).status, 401, site);

  const ended = await ask('DELETE', '/v1/auth/session', undefined, { Cookie: pair });
  t.regex(ended.cookie ?? '', /^earshot_session=; .*Max-Age=0;/);
  await users.signOut('anna');
  t.is((await renew({ Cookie: pair })).status, 401);
  t.is((await ask('POST', '/v1/auth/session', { name: 'anna', password: 'wrong' })).status, 401);
});

test('The link that the server prints sets the first password of the first account, once', async t => {
  const rest = await openRest(t);
  hashCheaply(rest);
  const old = await rest.signIn.welcome();
  const code = await rest.signIn.welcome();
  const accept = (code: string | null, password: string) =>
    rest.send('POST', '/v1/auth/welcome', { code, password }, null);
  t.is((await accept(old, PASSWORD)).status, 401);
  t.is((await accept(code, 'short')).status, 422);
  const { status, body } = await accept(code, PASSWORD);
  t.is(status, 200);
  const { body: accounts } = await rest.send('GET', '/v1/accounts', undefined, body.token);
  t.like(accounts[0], { name: 'anna', role: 'operator' });
  t.is((await rest.send('GET', '/v1/system/readiness', undefined, body.token)).status, 200);
  t.is((await rest.send('POST', '/v1/auth/token', { name: 'anna', password: PASSWORD }, null)).status, 200);
  t.is((await accept(code, 'another password')).status, 401);
  t.is(await rest.signIn.welcome(), null);
});

test('A link is useless once an account has got a password', async t => {
  const rest = await openRest(t);
  hashCheaply(rest);
  const code = await rest.signIn.welcome();
  await rest.signIn.setPassword('anna', PASSWORD);
  t.is((await rest.send('POST', '/v1/auth/welcome', { code, password: PASSWORD }, null)).status, 401);
});

test('Browsers and programs that signed in are listed, and ended one by one or all but the own one', async t => {
  const { url, send, clock, users, storage, events, attempt, token: cliToken } = await start(t);
  const begin = async (userAgent: string) => {
    const response = await fetch(`${url}/v1/auth/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': userAgent },
      body: JSON.stringify({ name: 'anna', password: PASSWORD }),
    });
    const cookie = (response.headers.get('set-cookie') ?? '').split('; ')[0] ?? '';
    clock.advance(60_000);
    return { cookie, token: ((await response.json()) as { token: string }).token };
  };
  const call = async (method: string, path: string, cookie: string, headers = {}) => {
    const response = await fetch(url + path, { method, headers: { Cookie: cookie, ...headers } });
    return { status: response.status, body: (await response.json()) as { token: string } };
  };
  const listed = async (token: string) => (await send('GET', '/v1/auth/sessions', undefined, token)).body;
  const phone = await begin(`Phone\u00a0${'x'.repeat(400)}`);
  const desk = await begin('Desk');
  const program = (await attempt(PASSWORD)).body.token as string;
  clock.advance(60_000);

  const all = await listed(desk.token);
  t.deepEqual(
    all.map((each: { kind: string; current: boolean }) => [each.kind, each.current]),
    [
      ['browser', true],
      ['program', false],
      ['browser', false],
    ],
  );
  t.is(all[0].user_agent, 'Desk');
  t.is(all[2].user_agent.length, 300);
  t.deepEqual(Object.keys(all[0]), [
    ...['id', 'kind', 'user_agent', 'created_at', 'last_used_at', 'expires_at', 'current'],
  ]);
  t.is(Date.parse(all[0].last_used_at) - Date.parse(all[0].created_at), 2 * 60_000);
  for (const secret of [desk.token, phone.token, program, desk.cookie.split('=')[1] ?? ''])
    t.false(JSON.stringify(all).includes(secret));

  const ben = await users.add('ben');
  const bens = await users.token('ben');
  t.deepEqual(await listed(bens), []);
  const missing = await send('DELETE', `/v1/auth/sessions/${all[2].id}`, undefined, bens);
  t.is(missing.status, 404);
  t.deepEqual((await send('DELETE', '/v1/auth/sessions', undefined, bens)).status, 204);
  t.is((await listed(desk.token)).length, 3);

  const revoked: unknown[] = [];
  events.on('credential.revoked', revocation => revoked.push(revocation));
  t.is((await send('DELETE', `/v1/auth/sessions/${all[2].id}`, undefined, desk.token)).status, 204);
  const { userId } = (await storage.sessions.get((await users.byName('anna')).id, all[0].id)) ?? {};
  t.deepEqual(revoked, [{ userId, keyId: null, sessionId: all[2].id }]);
  t.is((await send('GET', '/v1/accounts', undefined, phone.token)).status, 401);
  t.is((await call('POST', '/v1/auth/session/token', phone.cookie)).status, 401);
  t.is((await call('DELETE', '/v1/auth/session', phone.cookie)).status, 200);

  // A page elsewhere ends nothing: it has no token, and the cookie alone is refused.
  for (const site of ['cross-site', 'same-site']) {
    const headers = { 'Sec-Fetch-Site': site };
    t.is((await call('DELETE', '/v1/auth/sessions', desk.cookie, headers)).status, 401);
    t.is((await call('DELETE', '/v1/auth/session', desk.cookie, headers)).status, 401);
  }
  t.is((await listed(desk.token)).length, 2);

  const other = await begin('Other');
  const renewed = await call('POST', '/v1/auth/session/token', desk.cookie);
  t.is((await listed(renewed.body.token)).length, 3, 'renewing adds none');
  t.is((await send('DELETE', '/v1/auth/sessions', undefined, renewed.body.token)).status, 204);
  for (const ended of [program, other.token, cliToken])
    t.is((await send('GET', '/v1/accounts', undefined, ended)).status, 401);
  t.is((await send('GET', '/v1/accounts', undefined, desk.token)).status, 200);
  t.is((await listed(desk.token)).length, 1);

  t.is((await call('DELETE', '/v1/auth/session', desk.cookie)).status, 200);
  t.is(
    (await send('GET', '/v1/accounts', undefined, desk.token)).status,
    401,
    'signing out ends the session',
  );
  t.is((await storage.sessions.list(ben.id)).length, 0);

  for (let index = 0; index < 52; index += 1) await begin(`Number ${index}`);
  const last = await begin('Last');
  const kept = await listed(last.token);
  t.is(kept.length, 50);
  t.is(kept.at(-1).user_agent, 'Number 3');
  await users.signOut('anna');
  t.is((await send('GET', '/v1/accounts', undefined, last.token)).status, 401);
});
