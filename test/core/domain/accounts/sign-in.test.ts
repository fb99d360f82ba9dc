import test, { type ExecutionContext } from 'ava';
import type { Clock } from '../../../../core/contract/model.ts';
import { AppError } from '../../../../core/runtime/errors.ts';
import { user } from '../../../../plugins/kit/suites/storage/rows.ts';
import { hashCheaply, openDomain } from '../../../helpers/domain.ts';
import { openPostgresStorage, startPostgres } from '../../../helpers/postgres.ts';
import { openStorage, temporaryStorage } from '../../../helpers/storage.ts';

const PASSWORD = 'correct horse battery';
const HOME = '192.0.2.7';
const MINUTE_MS = 60_000;

async function start(t: ExecutionContext, openStorage?: Parameters<typeof openDomain>[1]) {
  const domain = await openDomain(t, openStorage);
  hashCheaply(domain);
  const { users, signIn, clock } = domain;
  await users.add('anna');
  await signIn.setPassword('anna', PASSWORD);
  clock.advance(1);
  const attempt = (password: string, address = HOME, name = 'anna') =>
    signIn.byPassword({ name, password, address, userAgent: '' });
  /** Resolves to `ok` or the error's code. */
  const outcome = async (...args: Parameters<typeof attempt>) =>
    attempt(...args).then(
      () => 'ok',
      (error: AppError) => error.code,
    );
  const outcomes = async (count: number, ...args: Parameters<typeof attempt>) => {
    const all: string[] = [];
    for (let index = 0; index < count; index += 1) all.push(await outcome(...args));
    return all;
  };
  return { ...domain, attempt, outcome, outcomes };
}

function times<T>(count: number, value: T): T[] {
  return Array<T>(count).fill(value);
}

test('The right password gets a token for its user', async t => {
  const { attempt, credentials } = await start(t);
  const { token } = await attempt(PASSWORD);
  t.like(await credentials.token(token), { user: { name: 'anna' }, kind: 'token', scopes: 'all' });
});

test('A wrong password, an unknown name and an account without a password get the same response', async t => {
  const { attempt, users, storage } = await start(t);
  await users.add('ben');
  await storage.users.insert({
    ...user('guest'),
    name: 'guest',
    nameKey: 'guest',
    issuer: 'https://id.example',
  });
  for (const name of ['anna', 'ben', 'nobody', 'guest', 'x'.repeat(1000)]) {
    const error = await t.throwsAsync(attempt('wrong', HOME, name), { instanceOf: AppError });
    t.like(error, { code: 'unauthorized', message: 'Wrong name or password' });
  }
});

test('A password has 12 to 256 characters', async t => {
  const { signIn, attempt } = await start(t);
  for (const password of ['', 'elf zeichen', '🫖'.repeat(11), 'x'.repeat(257)]) {
    const error = await t.throwsAsync(signIn.setPassword('anna', password), { instanceOf: AppError });
    t.is(error.code, 'invalid_request');
    t.regex(error.message, /12 to 256 characters/);
  }
  for (const password of ['zwölfzeichen', '🫖'.repeat(12), ' '.repeat(12), 'x'.repeat(256)]) {
    await signIn.setPassword('anna', password);
    await t.notThrowsAsync(attempt(password));
  }
  await t.throwsAsync(attempt(PASSWORD), { code: 'unauthorized' });
});

test('A changed password revokes earlier tokens, and a removed one prevents sign-in', async t => {
  const { signIn, users, credentials, attempt, outcome, clock } = await start(t);
  const { token } = await attempt(PASSWORD);
  clock.advance(1);
  await signIn.setPassword('anna', 'another good password');
  await t.throwsAsync(credentials.token(token), { code: 'unauthorized' });
  clock.advance(1);
  await t.notThrowsAsync(credentials.token((await attempt('another good password')).token));

  await signIn.setPassword('anna', null);
  t.is(await outcome('another good password'), 'unauthorized');
  t.is(await outcome(''), 'unauthorized');
  clock.advance(1);
  await t.notThrowsAsync(credentials.token(await users.token('anna')));
});

test('Changing a password requires the current one, revokes earlier tokens, and counts as an attempt', async t => {
  const { signIn, credentials, attempt, clock } = await start(t);
  const [name, address, newPassword] = ['anna', HOME, 'another good password'];
  const change = (password: string) => signIn.changePassword({ name, password, newPassword, address });
  const { token } = await attempt(PASSWORD);
  clock.advance(1);
  await change(PASSWORD);
  await t.throwsAsync(credentials.token(token), { code: 'unauthorized' });
  for (let tries = 0; tries < 10; tries++) await t.throwsAsync(change(PASSWORD), { code: 'unauthorized' });
  await t.throwsAsync(change(newPassword), { code: 'rate_limited' });
  clock.advance(15 * MINUTE_MS);
  await t.notThrowsAsync(change(newPassword));
});

test('Only accounts of this server have passwords', async t => {
  const { signIn, storage, providers } = await start(t);
  await storage.users.insert({
    ...user('guest'),
    name: 'guest',
    nameKey: 'guest',
    issuer: 'https://id.example',
  });
  await t.throwsAsync(signIn.setPassword('guest', PASSWORD), {
    message: /signed in by https:\/\/id\.example/,
  });
  await t.throwsAsync(signIn.setPassword('nobody', PASSWORD), { code: 'not_found' });

  const [local] = providers.working.splice(0);
  if (!local?.issue) return t.fail();
  providers.working.push({ issuer: local.issuer, verify: local.verify, issue: local.issue });
  await t.throwsAsync(signIn.setPassword('anna', PASSWORD), { message: /earshot has no passwords/ });
  await t.throwsAsync(signIn.rotateKeys(), { message: /earshot has no keys/ });
  t.deepEqual(await signIn.publicKeys(), { keys: [] });
  providers.working.pop();
  t.deepEqual(await signIn.publicKeys(), { keys: [] });
});

// ── rate limits ─────────────────────────────────────────────────────────────────────────────────────────────────────

test('After ten failures a name is locked for unknown addresses for 15 minutes, and the error states how long', async t => {
  const { attempt, outcome, outcomes, clock } = await start(t);
  t.deepEqual(await outcomes(10, 'wrong'), times(10, 'unauthorized'));
  clock.advance(4.5 * MINUTE_MS);
  const error = await t.throwsAsync(attempt(PASSWORD), { instanceOf: AppError });
  t.like(error, { code: 'rate_limited', retryAfter: 10.5 * 60 });
  t.regex(error.message, /try again in 11 minutes/);
  t.is(await outcome(PASSWORD, '198.51.100.1'), 'rate_limited', 'from wherever they come');
  await outcomes(20, 'wrong');
  clock.advance(10.5 * MINUTE_MS);
  t.is(await outcome(PASSWORD), 'ok', 'tries while it was closed have not put it off');
});

test('An unknown name is locked in the same way', async t => {
  const { outcomes } = await start(t);
  t.deepEqual(await outcomes(12, 'wrong', HOME, 'nobody'), [
    ...times(10, 'unauthorized'),
    ...times(2, 'rate_limited'),
  ]);
});

test('Strangers cannot lock out an owner who has signed in from the same address before', async t => {
  const { outcome, outcomes, clock } = await start(t);
  t.is(await outcome(PASSWORD), 'ok');
  for (let hour = 0; hour < 3; hour += 1) {
    for (const last of [1, 2, 3]) await outcomes(10, 'wrong', `198.51.100.${last}`);
    t.is(await outcome(PASSWORD, '198.51.100.9'), 'rate_limited');
    t.is(await outcome(PASSWORD), 'ok');
    clock.advance(60 * MINUTE_MS);
  }
  t.deepEqual(await outcomes(11, 'wrong'), [...times(10, 'unauthorized'), 'rate_limited'], 'not for ever');
  clock.advance(31 * 24 * 60 * MINUTE_MS);
  await outcomes(10, 'wrong', '198.51.100.1');
  t.is(await outcome(PASSWORD), 'rate_limited', 'an address is forgotten after thirty days');
});

test('A new password set by the operator unlocks the name', async t => {
  const { outcome, outcomes, signIn } = await start(t);
  await outcomes(11, 'wrong');
  t.is(await outcome(PASSWORD), 'rate_limited');
  await signIn.setPassword('anna', PASSWORD);
  t.is(await outcome(PASSWORD), 'ok');
});

test('After fifty failures an address is locked for every name, but no other address is', async t => {
  const { outcome, users, signIn } = await start(t);
  await users.add('ben');
  await signIn.setPassword('ben', PASSWORD);
  const prefix = '2001:db8:1:2';
  for (let index = 0; index < 50; index += 1)
    t.is(await outcome('wrong', `${prefix}::${index.toString(16)}`, `name ${index}`), 'unauthorized');
  t.is(
    await outcome(PASSWORD, `${prefix}:aaaa:bbbb:cccc:dddd`, 'ben'),
    'rate_limited',
    'one network is one address',
  );
  t.is(await outcome(PASSWORD, '2001:db8:1:3::1', 'ben'), 'ok');
  t.is(await outcome(PASSWORD, '2001:db8::1:2:0:1', 'ben'), 'ok');
});

test('Signing in to an own account does not reset the failures of its address', async t => {
  const { outcome, outcomes, users, signIn } = await start(t);
  await users.add('mallory');
  await signIn.setPassword('mallory', PASSWORD);
  for (let index = 0; index < 50; index += 1) {
    t.is(await outcome('wrong', HOME, `name ${index}`), 'unauthorized');
    if (index % 10 === 0) t.is(await outcome(PASSWORD, HOME, 'mallory'), 'ok');
  }
  t.is(await outcome(PASSWORD, HOME, 'mallory'), 'rate_limited');
  t.deepEqual(
    await outcomes(1, 'wrong', `::ffff:${HOME}`),
    ['rate_limited'],
    'however the address is written',
  );
});

test('Concurrent attempts are all counted', async t => {
  const { outcome } = await start(t);
  const all = await Promise.all(Array.from({ length: 30 }, () => outcome('wrong')));
  t.is(all.filter(code => code === 'unauthorized').length, 10);
  t.is(all.filter(code => code === 'rate_limited').length, 20);
});

test('Text typed as a name is not stored', async t => {
  const { outcome, storage } = await start(t);
  await outcome('wrong', HOME, 'my secret password');
  const rows = await storage.tables(async tables => {
    const found: unknown[] = [];
    for (const table of tables) for await (const page of table.read()) found.push(...page);
    return found;
  });
  t.true(rows.length > 2);
  for (const text of ['my secret password', PASSWORD, HOME]) t.false(JSON.stringify(rows).includes(text));
});

// ── state that survives a restart, on both databases ────────────────────────────────────────────────────────────────

async function survivesRestart(
  t: ExecutionContext,
  open: (clock: Clock) => ReturnType<typeof openStorage>,
  reopen: () => ReturnType<typeof openStorage>,
) {
  const { outcomes } = await start(t, open);
  t.deepEqual(await outcomes(10, 'wrong'), times(10, 'unauthorized'));
  const restarted = await openDomain(t, reopen);
  hashCheaply(restarted);
  const given = { name: 'anna', password: PASSWORD, address: HOME, userAgent: '' };
  const again = restarted.signIn.byPassword(given);
  await t.throwsAsync(again, { code: 'rate_limited' });
  restarted.clock.advance(15 * MINUTE_MS + 1);
  const later = restarted.signIn.byPassword(given);
  await t.notThrowsAsync(later);
}

test('Failures and passwords survive a restart (SQLite)', async t => {
  let file = '';
  const open = async (clock: Clock) => {
    const opened = await temporaryStorage({ clock });
    file = opened.file;
    return opened;
  };
  await survivesRestart(t, open, () => openStorage(file));
});

test('Failures and passwords survive a restart (Postgres)', async t => {
  const postgres = await startPostgres().catch((error: Error) => error);
  if (postgres instanceof Error) {
    t.log(`SKIPPED: Postgres cannot be started here. ${postgres.message}`);
    return t.falsy(process.env.CI, postgres.message);
  }
  t.teardown(() => postgres.stop());
  const open = async () => {
    const opened = await openPostgresStorage(postgres.url('postgres'));
    await opened.storage.migrate();
    return opened;
  };
  await survivesRestart(t, open, open);
});
