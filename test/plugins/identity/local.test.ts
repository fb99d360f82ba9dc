import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { createPluginState } from '../../../core/plugin-host/state.ts';
import { AppError } from '../../../core/runtime/errors.ts';
import { COST, createPasswords } from '../../../plugins/identity/local/passwords.ts';
import { localIdentity, temporaryDirectory } from '../../helpers/domain.ts';
import { manualClock } from '../../helpers/manual-clock.ts';
import { temporaryStorage } from '../../helpers/storage.ts';

const DAY_MS = 24 * 3600 * 1000;
const ANNA = { subject: 'u1', name: 'Anna' };

test('A token is valid for thirty days', async t => {
  const clock = manualClock();
  clock.advance(1);
  const identity = await localIdentity(clock, await temporaryDirectory(t));
  const { token, expiresAt } = await identity.issue(ANNA);

  const { keys } = await identity.keys.publicKeys();
  t.deepEqual(decodeProtectedHeader(token), { alg: 'EdDSA', typ: 'JWT', kid: keys[0]?.kid });
  t.deepEqual(decodeJwt(token), {
    iss: 'earshot',
    aud: 'earshot',
    sub: 'u1',
    name: 'Anna',
    iat: clock.now() / 1000,
    exp: expiresAt / 1000,
  });
  t.is(expiresAt, clock.now() - 1 + 30 * DAY_MS + 1000); // the next full second
  t.deepEqual(await identity.verify(token), {
    ...{ issuer: 'earshot', ...ANNA },
    ...{ issuedAt: clock.now(), expiresAt },
  });
  clock.advance(30 * DAY_MS - 1000);
  await t.notThrowsAsync(identity.verify(token));
  clock.advance(2000);
  const error = await t.throwsAsync(identity.verify(token), { instanceOf: AppError });
  t.like(error, { code: 'unauthorized', message: 'The ID token has expired' });
});

test('The signing key survives restarts, and only its owner can read its file', async t => {
  const clock = manualClock();
  const dataDir = await temporaryDirectory(t);
  const { token } = await (await localIdentity(clock, dataDir)).issue(ANNA);
  const again = await localIdentity(clock, dataDir);
  t.like(await again.verify(token), ANNA);
  const file = `signing-key-${clock.now()}.pem`;
  t.deepEqual(await readdir(dataDir), [file]);
  t.is((await stat(join(dataDir, file))).mode & 0o777, 0o600);
});

test('Processes that start at the same moment agree on one key, and each soon loads a new one', async t => {
  const clock = manualClock();
  const dataDir = await temporaryDirectory(t);
  const all = await Promise.all([1, 2, 3].map(() => localIdentity(clock, dataDir)));
  const [one, two, three] = all;
  if (!one || !two || !three) return t.fail();
  const first = await one.issue(ANNA);
  t.is((await readdir(dataDir)).length, 1);

  clock.advance(1000);
  await one.keys.rotate();
  const second = await one.issue(ANNA);
  for (const { token } of [first, second]) for (const each of all) await t.notThrowsAsync(each.verify(token));
});

test('A key signs for ninety days, verifies until its last token has expired, and is then deleted', async t => {
  const clock = manualClock();
  const dataDir = await temporaryDirectory(t);
  const identity = await localIdentity(clock, dataDir);
  const kid = (token: string) => decodeProtectedHeader(token).kid;
  const files = async () => (await readdir(dataDir)).length;
  const first = await identity.issue(ANNA);
  clock.advance(90 * DAY_MS - 1);
  const last = await identity.issue(ANNA);
  t.is(kid(last.token), kid(first.token));
  clock.advance(1);
  const next = await identity.issue(ANNA);
  t.not(kid(next.token), kid(first.token));
  t.is((await identity.keys.publicKeys()).keys.length, 2);

  clock.advance(30 * DAY_MS - 2000);
  await t.notThrowsAsync(identity.verify(last.token));
  t.is(await files(), 2);
  clock.advance(2000);
  const restarted = await localIdentity(clock, dataDir);
  t.is(await files(), 1);
  t.like(await restarted.keys.publicKeys(), { keys: [{ kid: kid(next.token) }] });
  await t.throwsAsync(restarted.verify(last.token), { code: 'unauthorized' });
});

test('A key can be replaced at once, several times in a moment, and existing tokens stay valid', async t => {
  const clock = manualClock();
  const identity = await localIdentity(clock, await temporaryDirectory(t));
  const tokens: string[] = [];
  for (let time = 0; time < 4; time += 1) {
    tokens.push((await identity.issue(ANNA)).token);
    await identity.keys.rotate();
  }
  t.is(new Set(tokens.map(token => decodeProtectedHeader(token).kid)).size, 4);
  for (const token of tokens) t.like(await identity.verify(token), ANNA);
  const { keys } = await identity.keys.publicKeys();
  t.is(keys.length, 5);
  for (const key of keys) {
    t.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    t.is(key.kid, await calculateJwkThumbprint(key));
  }
});

test('Every other token is rejected: unsigned, another key, issuer, audience or algorithm, or without expiry', async t => {
  const clock = manualClock();
  const dataDir = await temporaryDirectory(t);
  const identity = await localIdentity(clock, dataDir);
  const pem = await readFile(join(dataDir, `signing-key-${clock.now()}.pem`), 'utf8');
  const key = createPrivateKey(pem);
  const foreignKey = generateKeyPairSync('ed25519').privateKey;
  const [published] = (await identity.keys.publicKeys()).keys;
  const kid = String(published?.kid);
  const nowS = Math.floor(clock.now() / 1000);
  const claims = { iss: 'earshot', aud: 'earshot', sub: 'u1', name: 'A', iat: nowS, exp: nowS + 60 };
  const sign = (changes: object, signer = key, header: object = {}) =>
    new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg: 'EdDSA', kid, ...header }).sign(signer);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const confused = (secret: string) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(Buffer.from(secret));

  await t.notThrowsAsync(identity.verify(await sign({})), 'the control passes');
  const bad = [
    '',
    'x.y.z',
    `${part({ alg: 'none', kid })}.${part(claims)}.`,
    await confused('\u0001'.repeat(32)),
    await confused(String(published?.x).padEnd(32)),
    await confused(pem),
    await sign({}, key, { alg: 'Ed25519' }),
    await sign({}, key, { kid: undefined }),
    await sign({}, key, { kid: 'another' }),
    await sign({}, foreignKey),
    await sign({ iss: 'https://elsewhere' }),
    await sign({ aud: 'another' }),
    await sign({ exp: undefined }),
    await sign({ iat: undefined }),
    await sign({ sub: undefined }),
    await sign({ name: undefined }),
    await sign({ nbf: nowS + 60 }),
    `${(await sign({})).slice(0, -6)}AAAAAA`,
  ];
  for (const [index, token] of bad.entries()) {
    const error = await t.throwsAsync(identity.verify(token), { instanceOf: AppError }, String(index));
    t.like(error, { code: 'unauthorized', message: 'Invalid ID token' });
  }
});

test('A damaged key is not replaced: the start fails with instructions', async t => {
  const clock = manualClock();
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  for (const content of ['', 'garbage', rsa.export({ type: 'pkcs8', format: 'pem' }).toString()]) {
    const dataDir = await temporaryDirectory(t);
    const file = join(dataDir, 'signing-key-1795500000000.pem');
    await writeFile(file, content);
    const error = await t.throwsAsync(localIdentity(clock, dataDir), { instanceOf: AppError });
    t.is(error.code, 'config_error');
    t.true(error.message.includes(file));
    t.regex(error.message, /Restore it from a backup; or delete it/);
    t.is(await readFile(file, 'utf8'), content);
  }
});

// ── passwords ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Cheap parameters, on a real database. */
async function openPasswords(t: Parameters<typeof temporaryDirectory>[0]) {
  const { storage, close } = await temporaryStorage();
  t.teardown(close);
  const state = createPluginState('local', () => storage.pluginState);
  const at = (cost: typeof COST) =>
    createPasswords({ state, error: (code, message, more) => new AppError(code, message, more) }, cost);
  const phc = async (subject: string) => String((await state.get(`password/${subject}`))?.value);
  return { state, at, phc };
}
const CHEAP = { memory: 64, passes: 1, parallelism: 1 };

test('A password is stored as an argon2id hash in PHC format, with the cost recommended by OWASP', async t => {
  const { at, phc } = await openPasswords(t);
  const passwords = at(COST);
  await passwords.set('u1', 'correct horse battery');
  await passwords.set('u2', 'correct horse battery');
  const [one, two] = [await phc('u1'), await phc('u2')];
  t.regex(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  t.not(one, two, 'each has a salt of its own');
  t.true(await passwords.check('u1', 'correct horse battery'));
});

test('A hash made by another program is verified', async t => {
  const { state, at } = await openPasswords(t);
  // The test vector of the reference implementation's command line: echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1
  const reference = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  await state.compareAndSet('password/u1', 0, reference);
  t.false(await at(CHEAP).check('u1', 'Password'));
  t.true(await at(CHEAP).check('u1', 'password'));
});

test('A hash with another cost is replaced at the next correct password, and never at a wrong one', async t => {
  const { at, phc } = await openPasswords(t);
  await at(CHEAP).set('u1', 'correct horse battery');
  const old = await phc('u1');
  const dearer = at({ ...CHEAP, passes: 3 });
  t.false(await dearer.check('u1', 'wrong'));
  t.is(await phc('u1'), old);
  t.true(await dearer.check('u1', 'correct horse battery'));
  t.regex(await phc('u1'), /\$m=64,t=3,p=1\$/);
  t.true(await dearer.check('u1', 'correct horse battery'));
});

test('A stored value that is not such a hash admits nobody', async t => {
  const { state, at } = await openPasswords(t);
  for (const [index, value] of ['', 'password', '$argon2i$v=19$m=64,t=1,p=1$c2FsdA$aGFzaA', 7].entries()) {
    await state.compareAndSet(`password/${index}`, 0, value);
    t.false(await at(CHEAP).check(String(index), 'password'));
    t.false(await at(CHEAP).check(String(index), ''));
  }
});

test('Equivalent Unicode forms of a password are the same password', async t => {
  const { at } = await openPasswords(t);
  await at(CHEAP).set('u1', 'Zo\u00eb liebt K\u00e4se');
  t.true(await at(CHEAP).check('u1', 'Zoe\u0308 liebt Ka\u0308se'));
});

test('Simultaneous sign-ins beyond the queue are asked to retry', async t => {
  const { at } = await openPasswords(t);
  const passwords = at(CHEAP);
  const tries = Array.from({ length: 60 }, () => passwords.check('u1', 'x').catch(error => error));
  const answers = await Promise.all(tries);
  t.is(answers.filter(answer => answer === false).length, 32);
  const refused = answers.filter(answer => answer instanceof AppError);
  t.is(refused.length, 28);
  t.like(refused[0], { code: 'unavailable', retryAfter: 1 });
  t.false(await passwords.check('u1', 'x'));
});
