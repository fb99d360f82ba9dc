import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, SignJWT } from 'jose';
import { pino } from 'pino';
import { loadConfig } from '../../../config/load.ts';
import { createApp } from '../../../core/app.ts';
import { AppError, type ErrorCode } from '../../../core/runtime/errors.ts';
import { discover, openKeys } from '../../../plugins/identity/oidc/provider.ts';
import { temporaryDirectory } from '../../helpers/domain.ts';
import { connectListen } from '../../helpers/listen-client.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { type OidcProvider, oidcProvider, signingKey } from '../../helpers/oidc-provider.ts';
import { openServer } from '../../helpers/services.ts';

const COOL_DOWN_MS = 30_000;

/** A whole server with a real provider, at the same time of day. */
async function start(
  t: ExecutionContext,
  { provider, options = {} }: { provider?: OidcProvider; options?: Record<string, unknown> } = {},
) {
  const oidc = provider ?? (await oidcProvider(t));
  const clock = manualClock(Date.now());
  const instance = await openServer(
    t,
    {
      stt: [],
      listen: { idleMs: 24 * 3600_000 },
      identity: ['local', 'oidc'],
      plugins: { oidc: { issuer: oidc.issuer, audience: ['earshot'], allow: ['anyone'], ...options } },
    },
    { clock },
  );
  const use = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${instance.url}/v1/dev/user/conversations`, { headers });
    const body = (await response.json()) as { detail?: string };
    return { status: response.status, detail: body.detail ?? '' };
  };
  const names = async () => (await instance.app.commands['user.list']({})).map(({ name }) => name).sort();
  return { ...instance, oidc, clock, use, names };
}

/** A token as issued by the provider, with these changes. */
async function forge(
  token: string,
  key: JWK | Uint8Array,
  { claims = {}, header = {} }: { claims?: Record<string, unknown>; header?: Record<string, unknown> } = {},
): Promise<string> {
  const made = new SignJWT({ ...decodeJwt(token), ...claims });
  const { alg = 'RS256', ...rest } = decodeProtectedHeader(token);
  const signer = key instanceof Uint8Array ? key : await importJWK(key, alg);
  return made.setProtectedHeader({ alg, ...rest, ...header }).sign(signer);
}

test('The first sign-in at the provider creates an account, separate from those of others', async t => {
  const { oidc, use, names, app } = await start(t);
  t.is((await use(await oidc.idToken('anna'))).status, 200);
  t.is((await use(await oidc.idToken('anna'))).status, 200);
  t.is((await use(await oidc.idToken('owner'))).status, 200);
  t.deepEqual(
    await names(),
    ['anna', 'owner', 'owner (2)'],
    'who is called like the first account is not that one',
  );
  t.is((await use((await app.commands.token({ user: 'owner' })).token)).status, 200, 'local accounts go on');
  const error = await t.throwsAsync(app.commands.token({ user: 'anna' }), { instanceOf: AppError });
  t.true(error.message.includes(oidc.issuer));
});

test('Only unexpired tokens of this provider for this app are accepted', async t => {
  const { oidc, use, names, clock, url } = await start(t);
  const stranger = await oidcProvider(t);
  const good = await oidc.idToken('anna');
  const [key] = oidc.keys;
  if (!key) return t.fail();
  const { n, e } = key;
  const publicPem = createPublicKey({ key: { kty: 'RSA', n, e } as JsonWebKey, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const bytes = (text: string) => new TextEncoder().encode(text);
  const body = good.split('.')[1];
  const nowS = Math.floor(clock.now() / 1000);
  t.is((await use(await forge(good, key))).status, 200, 'the control passes');

  const refused: [what: string, token: string, detail: RegExp][] = [
    ['another app', await oidc.idToken('anna', 'another'), /made for another app/],
    ['no audience', await forge(good, key, { claims: { aud: [] } }), /made for another app/],
    ['another provider', await stranger.idToken('anna'), /Invalid ID token/],
    ['another provider, in this one’s name', await forge(good, stranger.keys[0] as JWK), /Invalid/],
    ['another issuer', await forge(good, key, { claims: { iss: `${oidc.issuer}/` } }), /Invalid/],
    ['alg none', `${part({ alg: 'none', kid: key.kid })}.${body}.`, /Invalid/],
    ['alg none, with a signature', good.replace(/^[^.]+/, part({ alg: 'none', kid: key.kid })), /Invalid/],
    [
      'the public key as a secret',
      await forge(good, bytes(publicPem), { header: { alg: 'HS256' } }),
      /Invalid/,
    ],
    ['its modulus as a secret', await forge(good, bytes(String(n)), { header: { alg: 'HS256' } }), /Invalid/],
    [
      'an unknown key',
      await forge(good, await signingKey('unknown'), { header: { kid: 'unknown' } }),
      /Invalid/,
    ],
    [
      'a key in the token',
      await forge(good, stranger.keys[0] as JWK, { header: { jwk: { kty: 'RSA', n, e } } }),
      /Invalid/,
    ],
    [
      'another algorithm',
      await forge(good, { ...key, alg: 'RS512' }, { header: { alg: 'PS256' } }).catch(() => ''),
      /./,
    ],
    ['expired', await forge(good, key, { claims: { exp: nowS - 31 } }), /has expired/],
    ['not yet good', await forge(good, key, { claims: { nbf: nowS + 60 } }), /Invalid/],
    ['without an end', await forge(good, key, { claims: { exp: undefined } }), /Invalid/],
    ['without a subject', await forge(good, key, { claims: { sub: undefined } }), /Invalid/],
    ['a list of subjects', await forge(good, key, { claims: { sub: ['anna'] } }), /Invalid/],
    ['an endless subject', await forge(good, key, { claims: { sub: 'x'.repeat(256) } }), /Invalid/],
    ['an access token', await forge(good, key, { header: { typ: 'at+jwt' } }), /not an ID token/],
    ['a logout token', await forge(good, key, { header: { typ: 'logout+jwt' } }), /not an ID token/],
    ['changed', good.slice(0, -6), /Invalid/],
  ];
  for (const [what, token, detail] of refused) {
    const answer = await use(token);
    t.is(answer.status, 401, `${what}: ${answer.detail}`);
    t.regex(answer.detail, detail, what);
  }
  t.deepEqual(await names(), ['anna', 'owner'], 'none of them made an account');
  t.is(
    (await use(await forge(good, key, { claims: { exp: nowS - 29 } }))).status,
    200,
    'clocks may differ a little',
  );

  const live = await connectListen(url, good, { custom_stt: 'enabled' });
  await live.until('service_status', event => event.status === 'ready');
  clock.advance(Number(decodeJwt(good).exp) * 1000 + 29_000 - clock.now());
  await live.received();
  t.is(live.socket.readyState, live.socket.OPEN);
  clock.advance(1000);
  t.is((await live.closed).code, 1008);
  t.regex((await use(good)).detail, /has expired/);
});

test('Only users named in allow get accounts: by subject, or by a verified address', async t => {
  const { oidc, use, names } = await start(t, {
    options: { allow: ['ben', 'Anna@Example.org', 'unverified@example.org'] },
  });
  t.is((await use(await oidc.idToken('anna'))).status, 200);
  t.is((await use(await oidc.idToken('ben'))).status, 200);
  const eve = await use(await oidc.idToken('eve'));
  t.is(eve.status, 403);
  t.regex(eve.detail, /neither its subject, eve, nor its e-mail address .* stands in plugins\.oidc\.allow/);
  const claimed = await use(await oidc.idToken('unverified'));
  t.is(claimed.status, 403);
  t.regex(claimed.detail, /one that is not verified/);
  t.deepEqual(await names(), ['anna', 'ben', 'owner']);
});

test('A rotated key of the provider is fetched, at most every half minute, and the old one is dropped', async t => {
  const { oidc, use, clock } = await start(t);
  const [first] = oidc.keys;
  if (!first) return t.fail();
  const old = await oidc.idToken('anna');
  t.is((await use(old)).status, 200);

  await oidc.stop();
  const second = await signingKey('second', 'ES256');
  await oidc.start([second, first]);
  const fresh = await oidc.idToken('anna');
  t.is(decodeProtectedHeader(fresh).kid, 'second');
  t.is((await use(fresh)).status, 401, 'keys were fetched just now');
  clock.advance(COOL_DOWN_MS);
  const several = await Promise.all([use(fresh), use(fresh), use(old)]);
  t.deepEqual(
    several.map(({ status }) => status),
    [200, 200, 200],
  );

  await oidc.stop();
  await oidc.start([second]);
  clock.advance(10 * 60_000);
  const unknown = await forge(old, await signingKey('nobody’s'), { header: { kid: 'nobody’s' } });
  t.is((await use(unknown)).status, 401, 'it has them fetched');
  t.is((await use(old)).status, 401);
  t.is((await use(fresh)).status, 200);
});

test('While the provider is unreachable its known keys stay valid, and a new key cannot be verified', async t => {
  const { oidc, use, clock } = await start(t);
  const token = await oidc.idToken('anna');
  const [key] = oidc.keys;
  if (!key) return t.fail();
  await oidc.stop();
  clock.advance(20 * 60_000);
  for (let time = 0; time < 3; time += 1) t.is((await use(token)).status, 200);
  const unknown = await forge(token, await signingKey('new'), { header: { kid: 'new' } });
  const answer = await use(unknown);
  t.is(answer.status, 503);
  t.regex(answer.detail, /does not answer: try again later/);
  t.is((await use(await forge(token, key, { claims: { aud: 'another' } }))).status, 401);

  await oidc.start([await signingKey('new'), key]);
  clock.advance(COOL_DOWN_MS);
  t.is((await use(await oidc.idToken('ben'))).status, 200);
});

test('A server that starts before its provider serves its own accounts, and the others once it is up', async t => {
  const oidc = await oidcProvider(t);
  const token = await oidc.idToken('anna');
  await oidc.stop();
  const { app, use, clock } = await start(t, { provider: oidc });
  t.is((await use((await app.commands.token({ user: 'owner' })).token)).status, 200);
  const early = await use(token);
  t.is(early.status, 503);
  t.regex(early.detail, /provider oidc does not work now: try again later/);
  t.is((await use('x.y.z')).status, 401);
  const readiness = async () =>
    (await app.commands.status({})).ready.filter(({ part }) => part === 'signing in');
  const [local, away] = await readiness();
  t.like(local, { name: 'local', ok: true });
  t.like(away, { name: 'oidc', ok: false });
  t.regex(
    away?.detail ?? '',
    /does not answer as it should; start the provider, or correct plugins\.oidc\.issuer/,
  );

  await oidc.start();
  await clock.asleep(1000); // then it is retried
  clock.advance(1000);
  let answer = early;
  while (answer.status === 503) answer = await use(token);
  t.is(answer.status, 200);
  t.true((await readiness()).every(({ ok }) => ok));
});

// ── faulty providers ────────────────────────────────────────────────────────────────────────────────────────────────

/** A server that answers each path with this JSON, as no real provider would. */
async function oddProvider(t: ExecutionContext, answers: (issuer: string) => Record<string, unknown>) {
  const server = createServer((request, response) => {
    const answer = answers(issuer)[request.url ?? ''];
    response.statusCode = answer === undefined ? 404 : 200;
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`;
  return issuer;
}

const DISCOVERY = '/realm/.well-known/openid-configuration';
const ODD: [code: ErrorCode, answers: (issuer: string) => Record<string, unknown>, reason: RegExp][] = [
  ['upstream_error', () => ({}), /openid-configuration does not answer as it should; start the provider/],
  ['upstream_error', () => ({ [DISCOVERY]: '<html>' }), /does not answer as it should/],
  [
    'config_error',
    () => ({ [DISCOVERY]: { issuer: 'https://other' } }),
    /calls itself "https:\/\/other"; set plugins\.oidc\.issuer/,
  ],
  ['upstream_error', issuer => ({ [DISCOVERY]: { issuer } }), /names no safe jwks_uri/],
  [
    'upstream_error',
    issuer => ({ [DISCOVERY]: { issuer, jwks_uri: 'file:///etc/passwd' } }),
    /names no safe jwks_uri/,
  ],
  [
    'upstream_error',
    issuer => ({ [DISCOVERY]: { issuer, jwks_uri: `${issuer}/keys` }, '/realm/keys': { keys: 7 } }),
    /\/realm\/keys gives no keys/,
  ],
];
test('A faulty provider is reported with its fault (simulated providers)', async t => {
  const context = {
    fetch,
    clock: manualClock(),
    log: pino({ level: 'silent' }),
    error: (...made: ConstructorParameters<typeof AppError>) => new AppError(...made),
  };
  for (const [code, answers, reason] of ODD) {
    const issuer = await oddProvider(t, answers);
    const opening = discover(issuer, context).then(url => openKeys(url, context));
    const error = await t.throwsAsync(opening, { instanceOf: AppError, message: reason });
    t.is(error.code, code);
  }
});

test('With the provider alone the server starts without an account, and creates one at the first token', async t => {
  const oidc = await oidcProvider(t);
  const dataDir = await temporaryDirectory(t);
  const plugins = { oidc: { issuer: oidc.issuer, audience: ['earshot'], allow: ['anyone'] } };
  const overrides = { dataDir, host: '127.0.0.1', port: 0, stt: [], identity: ['oidc'], plugins };
  const loaded = loadConfig({ env: {}, cwd: dataDir, overrides });
  const app = await createApp({ loaded, log: pino({ level: 'silent' }), serving: true });
  t.teardown(app.stop);
  const { url } = await app.start();
  const names = async () => (await app.commands['user.list']({})).map(({ name }) => name);
  t.deepEqual(await names(), []);
  await t.throwsAsync(app.commands['user.add']({ name: 'ben' }), { message: /add local to identity/ });
  const signIn = await fetch(`${url}/v1/auth/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'anna', password: 'correct horse battery' }),
  });
  t.is(signIn.status, 409);
  const keys = await fetch(`${url}/.well-known/jwks.json`);
  t.deepEqual(await keys.json(), { keys: [] });

  const headers = { Authorization: `Bearer ${await oidc.idToken('anna')}` };
  t.is((await fetch(`${url}/v1/dev/user/folders`, { headers })).status, 200);
  t.deepEqual(await names(), ['anna']);
  await app.commands['user.signOut']({ user: 'anna' });
  t.is((await fetch(`${url}/v1/dev/user/folders`, { headers })).status, 401);
});
