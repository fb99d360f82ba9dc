import test, { type ExecutionContext } from 'ava';
import type { Delivery, DeliveryAttempt, Job } from '../../../core/contract/model.ts';
import type { NotificationChannel } from '../../../core/contract/plugin.ts';
import { createDeliverer } from '../../../core/delivery/deliverer.ts';
import { createOutbound } from '../../../core/delivery/outbound.ts';
import { createTargets, type Target } from '../../../core/delivery/targets.ts';
import { newId } from '../../../core/domain/ids.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { createMetrics } from '../../../core/runtime/metrics.ts';
import { MAX_ATTEMPTS } from '../../../core/runtime/retry.ts';
import {
  app,
  channelAddress,
  delivery,
  hook,
  installation,
} from '../../../plugins/kit/suites/storage/outbound-rows.ts';
import { openDatabases } from '../../helpers/databases.ts';
import { openDomain } from '../../helpers/domain.ts';
import { type Behaviour, behaviours, startReceiver, status } from '../../helpers/receiver.ts';

const [sqlite, ...others] = await openDatabases(test);
const LIMIT_MS = 3000;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const never = new AbortController().signal;
/** Deliveries in progress per webhook. */
const WIDTH = 8;

/** Opens a deliverer and a hook of Anna at a receiver; `run` runs the job of a target once. */
async function open(
  t: ExecutionContext,
  { behaviour, db = sqlite, url }: { behaviour?: Behaviour; db?: typeof sqlite; url?: string } = {},
) {
  const domain = await openDomain(t, db?.open);
  const { storage, clock, users } = domain;
  const user = await users.add('anna');
  const receiver = await startReceiver(t, behaviour);
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock, limitMs: LIMIT_MS });
  t.teardown(() => outbound.close());
  const toldOff: { target: Pick<Target, 'id' | 'userId'>; reason: string }[] = [];
  const channels = new Map<string, NotificationChannel>();
  const targets = createTargets({
    clock,
    outbound,
    channel(name) {
      const found = channels.get(name);
      if (!found) throw new AppError('unavailable', `no ${name}`);
      return found;
    },
    notifyOwner: async (_tx, target, reason) => void toldOff.push({ target, reason }),
  });
  const metrics = createMetrics({ now: () => 0, plugins: () => [], jobs: async () => [] });
  const makeDeliverer = () =>
    createDeliverer({ storage, clock, targets, metrics, hear: () => {}, random: () => 0.5 });
  let deliverer = makeDeliverer();
  const target = hook('h1', user.id, { url: url ?? receiver.url });
  await storage.hooks.put(target);

  async function add(changes: Partial<Delivery> = {}): Promise<Delivery> {
    const now = clock.now();
    const row = delivery(newId(now), user.id, { createdAt: now, nextAt: now, query: 'uid=anna', ...changes });
    await storage.deliveries.insert([row]);
    return row;
  }

  /** Resolves to the milliseconds until the next run; null: there is none. */
  async function run(key = 'h1', targetKind = 'hook'): Promise<number | null> {
    const job: Job = {
      id: 'j',
      kind: 'deliver',
      key,
      payload: { targetKind },
      runAt: 0,
      attempts: 1,
      lease: '',
    };
    const result = await deliverer(job, never);
    if (result && 'commit' in result) await storage.transaction('commit', result.commit);
    return result && 'again' in result ? result.again - clock.now() : null;
  }

  async function state({ userId, id }: Delivery): Promise<Delivery & { tries: DeliveryAttempt[] }> {
    const found = await storage.deliveries.get(userId, id);
    if (!found) throw new Error('the delivery is gone');
    return { ...found, tries: await storage.deliveries.attempts(userId, id) };
  }

  const restart = () => {
    deliverer = makeDeliverer();
  };
  return { ...domain, user, receiver, toldOff, channels, target, metrics, add, run, state, restart };
}

interface Expected {
  state: Delivery['state'];
  /** Status of the response; null: there was none. */
  status: number | null;
  /** Milliseconds until the next attempt. */
  againMs?: number;
  answer?: string | null;
  error?: RegExp;
  isOff?: true;
}

const AGAIN = { state: 'pending', againMs: 5 * SECOND } as const;
const TABLE: [what: string, behaviour: Behaviour, expected: Expected][] = [
  ['answers 200', behaviours.ok, { state: 'delivered', status: 200, answer: 'ok' }],
  ['answers 204', behaviours['no content'], { state: 'delivered', status: 204, answer: '' }],
  ['answers 500', status(500), { ...AGAIN, status: 500, error: /500/, answer: 'status 500' }],
  ['answers 502', status(502), { ...AGAIN, status: 502 }],
  ['answers 408', status(408), { ...AGAIN, status: 408 }],
  ['answers 425', status(425), { ...AGAIN, status: 425 }],
  ['answers 429', status(429), { ...AGAIN, status: 429 }],
  [
    'answers 429 and when to come again',
    behaviours['asks to wait'],
    { state: 'pending', status: 429, againMs: 120 * SECOND },
  ],
  [
    'answers 503 and wants it sooner than we do',
    behaviours['asks to wait little'],
    { ...AGAIN, status: 503 },
  ],
  ['answers 400', status(400), { state: 'failed', status: 400, error: /400/ }],
  ['answers 401', status(401), { state: 'failed', status: 401 }],
  ['answers 404', status(404), { state: 'failed', status: 404 }],
  [
    'redirects',
    behaviours['another host'],
    { state: 'failed', status: 301, error: /redirects are not followed/ },
  ],
  ['is gone', status(410), { state: 'failed', status: 410, isOff: true }],
  [
    'never answers',
    behaviours['never answers'],
    { ...AGAIN, status: null, error: /did not answer within 3000 ms/, answer: null },
  ],
  ['does not end its answer', behaviours['slow body'], { state: 'delivered', status: 200, answer: 'drop' }],
  [
    'answers without end',
    behaviours['endless body'],
    { state: 'delivered', status: 200, answer: 'x'.repeat(1024) },
  ],
  [
    'resets the connection',
    behaviours['reset at once'],
    { ...AGAIN, status: null, error: /cannot be reached/ },
  ],
  ['breaks its answer off', behaviours['reset in the body'], { state: 'delivered', status: 200 }],
];

for (const [what, behaviour, expected] of TABLE) {
  test(`a receiver that ${what}: ${expected.state}`, async t => {
    const { add, run, state, target, storage, user, clock, toldOff } = await open(t, { behaviour });
    const row = await add();
    const { againMs = null } = expected;
    t.is(await run(), againMs);
    const after = await state(row);
    t.is(after.state, expected.state);
    t.is(after.nextAt, againMs === null ? null : clock.now() + againMs);
    t.is(after.attempts, 1);
    const [tried, ...more] = after.tries;
    t.deepEqual(more, []);
    t.is(tried?.status, expected.status);
    if (expected.answer !== undefined) t.is(tried?.answer, expected.answer);
    if (expected.error) t.regex(tried?.error ?? '', expected.error);
    t.is(tried?.error === null, expected.state === 'delivered');
    const hookAfter = await storage.hooks.get(user.id, target.id);
    t.is(hookAfter?.enabled, !expected.isOff);
    t.is(hookAfter?.failingSince, expected.state === 'delivered' ? null : clock.now());
    t.is(toldOff.length, expected.isOff ? 1 : 0);
  });
}

test('a receiver with a TLS error is retried, and one at a private address never', async t => {
  const plain = await startReceiver(t);
  const broken = await open(t, { url: plain.url.replace('http:', 'https:') });
  const row = await broken.add();
  t.is(await broken.run(), 5 * SECOND);
  t.regex((await broken.state(row)).tries[0]?.error ?? '', /cannot be reached/);
  const inside = await open(t, { url: 'http://10.0.0.1/' });
  const refused = await inside.add();
  t.is(await inside.run(), null);
  t.like(await inside.state(refused), { state: 'failed', tries: [{ status: null }] });
});

for (const db of [sqlite, ...others])
  test(`${db?.name}: a failed delivery is retried on schedule, with the same id and body, and then given up`, async t => {
    const { add, run, state, clock, receiver } = await open(t, { behaviour: status(500), ...(db && { db }) });
    const row = await add({ body: '{"a":"ä"}' });
    const waits: (number | null)[] = [];
    for (let wait = await run(); wait !== null; wait = await run()) {
      waits.push(wait);
      clock.advance(wait);
    }
    t.deepEqual(waits, [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR]);
    const after = await state(row);
    t.like(after, { state: 'failed', attempts: MAX_ATTEMPTS, nextAt: null });
    t.deepEqual(
      after.tries.map(({ number }) => number),
      [1, 2, 3, 4, 5, 6, 7, 8],
    );
    t.deepEqual(
      new Set(receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)),
      new Set([`${row.id} {"a":"ä"}`]),
    );
    t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size, MAX_ATTEMPTS);
    t.true(receiver.received.every(({ path }) => path === '/hook?uid=anna'));
  });

test('the query of an address stays, and ours is appended', async t => {
  const { add, run, receiver, storage, target } = await open(t);
  await storage.hooks.put({ ...target, url: `${receiver.url}?token=a%20b&x` });
  await add();
  await run();
  t.is(receiver.received[0]?.path, '/hook?token=a%20b&x&uid=anna');
});

test('a failing target gets one delivery at a time; after a success it gets all', async t => {
  const { add, run, clock, receiver, state, storage, user, target } = await open(t, {
    behaviour: status(500),
  });
  const rows: Delivery[] = [];
  for (let count = 0; count < 30; count += 1) rows.push(await add());
  const pause = await run();
  const first = receiver.received.length;
  t.true(first >= 3 && first <= 2 + WIDTH, `${first} before it was seen`);
  t.is(pause, 5 * SECOND);
  clock.advance(pause ?? 0);
  t.is(await run(), 30 * SECOND);
  t.is(receiver.received.length, first + 1, 'one probe');
  clock.advance(10 * SECOND);
  t.is(await run(), 20 * SECOND, 'asked for too early');
  t.is(receiver.received.length, first + 1);
  receiver.behaviour = behaviours.ok;
  clock.advance(20 * SECOND);
  t.is(await run(), null);
  for (const row of rows) t.is((await state(row)).state, 'delivered');
  t.is((await storage.hooks.get(user.id, target.id))?.failingSince, null);
});

test('a restarted server knows which targets fail', async t => {
  const { add, run, clock, receiver, restart } = await open(t, { behaviour: status(500) });
  for (let count = 0; count < 30; count += 1) await add();
  await run();
  const before = receiver.received.length;
  restart();
  clock.advance(5 * SECOND);
  await run();
  t.is(receiver.received.length, before + 1);
});

test('after 72 hours of failure a webhook is disabled, its pending deliveries fail, and its owner is told once', async t => {
  const { add, run, clock, state, storage, user, target, toldOff } = await open(t, {
    behaviour: status(500),
  });
  await add();
  await run();
  clock.advance(71 * HOUR);
  const late = await add();
  const other = await add();
  await run();
  t.true((await storage.hooks.get(user.id, target.id))?.enabled);
  clock.advance(HOUR);
  for (let wait = await run(); wait !== null; wait = await run()) clock.advance(wait);
  const off = await storage.hooks.get(user.id, target.id);
  t.like(off, { enabled: false, offReason: 'Nothing could be delivered for 72 hours' });
  for (const row of [late, other]) t.is((await state(row)).state, 'failed');
  t.deepEqual(
    toldOff.map(({ target: { id, userId } }) => ({ id, userId })),
    [{ id: target.id, userId: user.id }],
  );
  const after = await add();
  t.is(await run(), null);
  t.like(await state(after), { state: 'failed', attempts: 0 });
  t.is(toldOff.length, 1);
});

test('one success resets the time for which a webhook has failed', async t => {
  const { add, run, clock, receiver, storage, user, target } = await open(t, { behaviour: status(500) });
  await add();
  await run();
  clock.advance(71 * HOUR);
  receiver.behaviour = behaviours.ok;
  await run();
  receiver.behaviour = status(500);
  clock.advance(2 * HOUR);
  await add();
  await run();
  t.like(await storage.hooks.get(user.id, target.id), { enabled: true, failingSince: clock.now() });
});

test('an app receives nothing about a user who has uninstalled it', async t => {
  const { add, run, receiver, storage, user, state, target } = await open(t);
  await storage.apps.insert(app('a1', user.id));
  await storage.hooks.put({ ...target, id: 'h2', appId: 'a1' });
  await storage.installations.put(installation(user.id, 'a1'));
  const sent = await add({ targetId: 'h2', appId: 'a1' });
  await run('h2');
  await storage.installations.remove(user.id, 'a1');
  const kept = await add({ targetId: 'h2', appId: 'a1' });
  t.is(await run('h2'), null);
  t.is((await state(sent)).state, 'delivered');
  t.like(await state(kept), { state: 'failed', tries: [{ error: 'The app is not installed any more' }] });
  t.is(receiver.received.length, 1);
  t.is((await storage.hooks.get(user.id, 'h2'))?.failingSince, null);
});

test('channels receive messages one at a time; their errors decide about retries', async t => {
  const { add, run, storage, user, state, channels, toldOff } = await open(t);
  await storage.channelAddresses.insert(channelAddress('c1', user.id, { address: { to: 'anna' } }));
  const sent: unknown[] = [];
  let failure: Error | null = null;
  let underWay = 0;
  channels.set('log', {
    address: z => z.object({}),
    async send(address, { title }) {
      underWay += 1;
      t.is(underWay, 1);
      await new Promise(resolve => setImmediate(resolve));
      underWay -= 1;
      if (failure) throw failure;
      sent.push({ address, title });
    },
  });
  const message = (title: string) =>
    add({ targetKind: 'channel', targetId: 'c1', body: JSON.stringify({ title }) });
  for (const title of ['one', 'two', 'three']) await message(title);
  t.is(await run('c1', 'channel'), null);
  t.deepEqual(
    sent,
    ['one', 'two', 'three'].map(title => ({ address: { to: 'anna' }, title })),
  );
  failure = new AppError('rate_limited', 'slow down', { retryAfter: 60 });
  const waiting = await message('four');
  t.is(await run('c1', 'channel'), 60 * SECOND);
  t.like(await state(waiting), { state: 'pending', tries: [{ error: 'slow down', status: null }] });
  failure = new AppError('forbidden', 'no');
  const refused = await message('five');
  t.is(await run('c1', 'channel'), 60 * SECOND, 'the channel asked to be left alone');
  t.is((await state(refused)).attempts, 0);
  failure = new AppError('gone', 'it is gone');
  const last = await message('six');
  await storage.channelAddresses.update(user.id, 'c1', { failingSince: null }); // its user repaired it
  await run('c1', 'channel');
  t.is((await storage.channelAddresses.get(user.id, 'c1'))?.enabled, false);
  for (const row of [waiting, refused, last]) t.is((await state(row)).state, 'failed');
  t.is(toldOff.length, 1);
});

test('an aborted delivery is neither counted nor lost', async t => {
  const { add, receiver, storage, state, user, run } = await open(t, {
    behaviour: behaviours['never answers'],
  });
  const row = await add();
  const outbound = createOutbound({ allowHosts: ['127.0.0.1'], clock: { now: () => 0 } });
  t.teardown(() => outbound.close());
  const targets = createTargets({
    clock: { now: () => 0, sleep: async () => {} },
    outbound,
    channel: () => t.fail() as never,
    notifyOwner: async () => {},
  });
  const target = await targets.find(storage, 'hook', 'h1');
  const stop = new AbortController();
  const sending = target?.send({ ...row, body: '{}' }, stop.signal);
  await receiver.arrived(1);
  stop.abort(new Error('stopping'));
  await t.throwsAsync(sending ?? Promise.resolve(), { message: 'stopping' });
  t.like(await state(row), { state: 'pending', attempts: 0, tries: [] });
  receiver.behaviour = behaviours.ok;
  t.is(await run(), null);
  t.is((await storage.hooks.get(user.id, 'h1'))?.failingSince, null);
});
