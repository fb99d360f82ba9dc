import test from 'ava';
import { createRateLimits } from '../../../core/http/rate-limit.ts';
import { createServer } from '../../../core/http/server.ts';
import { openDomain } from '../../helpers/domain.ts';
import { openRest } from '../../helpers/rest.ts';

const LIMITS = { read: 3, write: 2, batch: 1, transcript: 1, search: 1, failed: 2 };
const ANNA = { userId: 'anna', subject: 'key' };

test("A bucket holds a minute's requests, and refills continuously", async t => {
  const { storage, clock } = await openDomain(t);
  const { take } = createRateLimits({ storage, clock, limits: LIMITS });
  const remaining = async () => {
    const { headers, refusal } = await take(ANNA, 'read');
    const { 'X-RateLimit-Limit': limit, ...rest } = headers;
    t.is(limit, '3');
    return [...Object.values(rest).map(Number), refusal?.retryAfter];
  };
  t.deepEqual(await remaining(), [2, 20, undefined]);
  clock.advance(5000);
  t.deepEqual(await remaining(), [1, 35, undefined]);
  t.deepEqual(await remaining(), [0, 55, undefined]);
  t.deepEqual(await remaining(), [0, 55, 15]);
  t.deepEqual(await remaining(), [0, 55, 15]); // a refused request costs nothing
  clock.advance(14_999);
  t.deepEqual(await remaining(), [0, 41, 1]);
  clock.advance(1);
  t.deepEqual(await remaining(), [0, 60, undefined]);
  clock.advance(60_000);
  t.deepEqual(await remaining(), [2, 20, undefined]);
  t.deepEqual(await remaining(), [1, 40, undefined]);
  clock.advance(-3_600_000); // the clock is set back: the bucket keeps its tokens
  t.deepEqual(await remaining(), [0, 60, undefined]);
  t.deepEqual(await remaining(), [0, 60, 20]);
  clock.advance(20_000);
  t.deepEqual(await remaining(), [0, 60, undefined]);
});

test('A clock that is set back rejects nobody, also across a restart and in the limits of sign-in', async t => {
  const { storage, clock } = await openDomain(t);
  const first = createRateLimits({ storage, clock, limits: LIMITS });
  for (const _ of [1, 2]) await first.take(ANNA, 'read');
  clock.advance(-30_000);
  await first.flush();
  await first.flush(); // loaded again
  t.is((await first.take(ANNA, 'read')).refusal, null);
  t.is((await first.take(ANNA, 'read')).refusal?.retryAfter, 20);
  await first.flush();

  clock.advance(-3_600_000);
  const second = createRateLimits({ storage, clock, limits: LIMITS });
  t.is((await second.take(ANNA, 'read')).refusal, null);

  const window = (now: number) => storage.attempts.add('somebody', 1, now, now + 1000);
  t.deepEqual(await window(50_000), { count: 1, until: 51_000 });
  t.deepEqual(await window(50_900), { count: 2, until: 51_000 });
  t.deepEqual(await window(20_000), { count: 3, until: 21_000 });
});

test('In any minute a bucket admits at most twice its size, and in the long run exactly its rate', async t => {
  const { storage, clock } = await openDomain(t);
  const { take } = createRateLimits({ storage, clock, limits: { ...LIMITS, read: 7 } });
  const passed: number[] = [];
  for (let ms = 0; ms < 600_000; ms += 500) {
    if (!(await take(ANNA, 'read')).refusal) passed.push(ms);
    clock.advance(500);
  }
  t.is(passed.length, 7 + 69); // a full bucket, and ten minutes of refilling with the last token incomplete
  for (const start of passed) t.true(passed.filter(ms => ms >= start && ms < start + 60_000).length <= 14);
});

test('Every key and policy has its own bucket, which survives a restart', async t => {
  const { storage, clock } = await openDomain(t);
  const first = createRateLimits({ storage, clock, limits: LIMITS });
  for (const _ of [1, 2, 3]) await first.take(ANNA, 'read');
  await first.take(ANNA, 'write');
  t.truthy((await first.take(ANNA, 'read')).refusal);
  t.falsy((await first.take({ ...ANNA, subject: 'other' }, 'read')).refusal);
  t.is(await storage.rateLimits.get('anna', 'key', 'read'), null); // no write per request
  await first.flush();

  const second = createRateLimits({ storage, clock, limits: LIMITS });
  t.like(await second.take(ANNA, 'read'), { refusal: { retryAfter: 20 } });
  t.like(await second.take(ANNA, 'write'), { headers: { 'X-RateLimit-Remaining': '0' } });
  await second.flush();
  t.truthy((await first.take(ANNA, 'write')).refusal); // both nodes have exchanged their state

  clock.advance(60_000);
  await first.flush();
  for (const policy of ['read', 'write'] as const)
    t.is(await storage.rateLimits.get('anna', 'key', policy), null);
  t.falsy((await second.take(ANNA, 'read')).refusal);
});

test('Requests counted while the limits are written are not lost, nor are failed writes', async t => {
  const { storage, clock } = await openDomain(t);
  const written = Promise.withResolvers<void>();
  const put: typeof storage.rateLimits.put = limits =>
    written.promise.then(() => storage.rateLimits.put(limits));
  const slow = { rateLimits: { ...storage.rateLimits, put } };
  const { take, flush } = createRateLimits({ storage: slow, clock, limits: LIMITS });
  await take(ANNA, 'read');
  const flushed = flush();
  await take(ANNA, 'read');
  written.resolve();
  await flushed;
  t.like(await take(ANNA, 'read'), { headers: { 'X-RateLimit-Remaining': '0' } });

  const away = { ...storage.rateLimits, put: () => Promise.reject(new Error('away')) };
  const failing = createRateLimits({ storage: { rateLimits: away }, clock, limits: LIMITS });
  await failing.take(ANNA, 'search');
  await t.throwsAsync(failing.flush(), { message: 'away' });
  t.truthy((await failing.take(ANNA, 'search')).refusal);

  let isAway = true;
  const get: typeof storage.rateLimits.get = (...of) =>
    isAway ? Promise.reject(new Error('away')) : storage.rateLimits.get(...of);
  const unread = createRateLimits({
    storage: { rateLimits: { ...storage.rateLimits, get } },
    clock,
    limits: LIMITS,
  });
  await t.throwsAsync(unread.take(ANNA, 'batch'), { message: 'away' });
  isAway = false;
  t.falsy((await unread.take(ANNA, 'batch')).refusal);
});

test('Failures are counted per network, for a bounded number of networks', async t => {
  const { storage, clock } = await openDomain(t);
  const { failed } = createRateLimits({ storage, clock, limits: LIMITS });
  const refused = (address: string) => failed(address).refusal !== null;
  t.deepEqual(['2001:db8::1', '2001:db8:0:0:5::2', '2001:db8::3'].map(refused), [false, false, true]);
  t.deepEqual(['2001:db8:0:1::1', '::ffff:10.0.0.1', '10.0.0.1', '10.0.0.1'].map(refused), [
    ...[false, false, false],
    true,
  ]);
  for (let n = 0; n < 10_000; n += 1) failed(`10.1.${n >> 8}.${n & 255}`);
  t.false(refused('10.0.0.1')); // long forgotten
  t.false(refused('10.1.39.15'));
  t.true(refused('10.1.39.15'));
});

async function startLimited(t: Parameters<typeof openRest>[0]) {
  const rest = await openRest(t);
  const limits = createRateLimits({ ...rest, limits: LIMITS });
  const server = createServer({
    ...rest,
    rateLimits: limits,
    listen: { paths: [], refusal: () => null, authorize: async () => null, accept: async () => {} },
    config: {
      listen: { maxConnections: 10 } as Parameters<typeof createServer>[0]['config']['listen'],
      trustedProxies: [],
    },
    health: async () => ({ status: 'ok', parts: [] }),
  });
  const { port } = await server.listen('127.0.0.1', 0);
  t.teardown(() => server.close());
  const { key, record } = await rest.keys.create(rest.user.id, { name: 'k', scopes: ['conversations:read'] });
  async function ask(path: string, credential = key, method = 'GET') {
    const response = await fetch(`http://127.0.0.1:${port}/v1/dev${path}`, {
      method,
      headers: { Authorization: `Bearer ${credential}`, Connection: 'close' },
    });
    const header = (name: string) => response.headers.get(name);
    return {
      status: response.status,
      limit: header('x-ratelimit-limit'),
      remaining: header('x-ratelimit-remaining'),
      reset: header('x-ratelimit-reset'),
      retryAfter: header('retry-after'),
      body: response.status === 204 ? null : await response.json(),
    };
  }
  return { ...rest, ask, key, record };
}

test('Every response states how many requests remain, and a refused one when to retry', async t => {
  const { ask, token, key, keys, user, clock } = await startLimited(t);
  const path = '/user/conversations';
  t.like(await ask(path), { status: 200, limit: '3', remaining: '2', reset: '20', retryAfter: null });
  t.like(await ask(`${path}/nonsense`), { status: 404, remaining: '1', reset: '40' });
  t.like(await ask(`${path}?limit=x`), { status: 422, remaining: '0', reset: '60' });
  t.deepEqual(await ask(path), {
    status: 429,
    ...{ limit: '3', remaining: '0', reset: '60', retryAfter: '20' },
    body: { detail: 'Too many requests: dev:read allows 3 a minute; try again in 20 s' },
  });
  // Other policies, other keys of the same user, and the user's ID token have separate buckets.
  t.like(await ask(`${path}?include_transcript=true`), { status: 200, limit: '1', remaining: '0' });
  t.like(await ask(`${path}/x?include_transcript=true`), { status: 429, limit: '1' });
  t.like(await ask(`${path}/x`, key, 'DELETE'), { status: 403, limit: '2', remaining: '1' });
  const other = await keys.create(user.id, { name: 'other', scopes: ['listen'] });
  t.like(await ask(path, other.key), { status: 403, remaining: '2' });
  t.like(await ask(path, token), { status: 200, remaining: '2' });
  clock.advance(20_000);
  t.like(await ask(path), { status: 200, remaining: '0' });
});

test('Wrong credentials are limited by address, and never affect valid ones', async t => {
  const { ask } = await startLimited(t);
  const wrong = `omi_dev_${'0'.repeat(32)}`;
  t.like(await ask('/key', wrong), { status: 401, limit: '2', remaining: '1', reset: '30' });
  t.like(await ask('/keys'), { status: 401, remaining: '0' });
  t.like(await ask('/key', wrong), {
    status: 429,
    retryAfter: '30',
    body: { detail: 'Too many requests: dev:failed allows 2 a minute; try again in 30 s' },
  });
  t.like(await ask('/key'), { status: 200, limit: '3', remaining: '2' });
});
