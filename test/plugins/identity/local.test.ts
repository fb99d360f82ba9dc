import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { AppError } from '../../../core/errors.ts';
import { localIdentity, temporaryDirectory } from '../../helpers/domain.ts';
import { manualClock } from '../../helpers/manual-clock.ts';

const DAY_MS = 24 * 3600 * 1000;
const ANNA = { subject: 'u1', name: 'Anna' };

test('A token that it issued is known again, for thirty days', async t => {
  const clock = manualClock();
  const identity = await localIdentity(clock, await temporaryDirectory(t));
  const token = await identity.issue(ANNA);

  t.deepEqual(decodeProtectedHeader(token), { alg: 'EdDSA', typ: 'JWT' });
  const issuedAt = Math.floor(clock.now() / 1000);
  t.deepEqual(decodeJwt(token), {
    iss: 'earshot',
    aud: 'earshot',
    sub: 'u1',
    name: 'Anna',
    iat: issuedAt,
    exp: issuedAt + 30 * 24 * 3600,
  });
  t.deepEqual(await identity.verify(token), { issuer: 'earshot', ...ANNA });
  clock.advance(30 * DAY_MS - 1000);
  await t.notThrowsAsync(identity.verify(token));
  clock.advance(1000);
  const error = await t.throwsAsync(identity.verify(token), { instanceOf: AppError });
  t.like(error, { code: 'unauthorized', message: 'The ID token has expired' });
});

test('The key outlives the process, and only its owner can read it', async t => {
  const clock = manualClock();
  const dataDir = await temporaryDirectory(t);
  const token = await (await localIdentity(clock, dataDir)).issue(ANNA);
  const again = await localIdentity(clock, dataDir);
  t.like(await again.verify(token), ANNA);
  const files = await readdir(dataDir);
  t.deepEqual(files, ['signing-key.pem']);
  t.is((await stat(join(dataDir, 'signing-key.pem'))).mode & 0o777, 0o600);
});

test('Processes that start at the same moment agree on one key', async t => {
  const clock = manualClock();
  const dataDir = await temporaryDirectory(t);
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => localIdentity(clock, dataDir)));
  const token = await one?.issue(ANNA);
  await t.notThrowsAsync(async () => two?.verify(token ?? ''));
  await t.notThrowsAsync(async () => three?.verify(token ?? ''));
});

test('No other token passes: not unsigned, not another key, issuer, audience or algorithm, not an endless one', async t => {
  const clock = manualClock();
  const dataDir = await temporaryDirectory(t);
  const identity = await localIdentity(clock, dataDir);
  const key = createPrivateKey(await readFile(join(dataDir, 'signing-key.pem'), 'utf8'));
  const foreignKey = generateKeyPairSync('ed25519').privateKey;
  const nowS = Math.floor(clock.now() / 1000);
  const claims = { iss: 'earshot', aud: 'earshot', sub: 'u1', name: 'A', iat: nowS, exp: nowS + 60 };
  const sign = (changes: object, signer = key) =>
    new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg: 'EdDSA' }).sign(signer);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  await t.notThrowsAsync(identity.verify(await sign({})), 'the control passes');
  const bad = [
    '',
    'x.y.z',
    `${part({ alg: 'none' })}.${part(claims)}.`,
    await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.alloc(32, 1)),
    await new SignJWT(claims).setProtectedHeader({ alg: 'Ed25519' }).sign(key),
    await sign({}, foreignKey),
    await sign({ iss: 'https://elsewhere' }),
    await sign({ aud: 'another' }),
    await sign({ exp: undefined }),
    await sign({ sub: undefined }),
    await sign({ name: undefined }),
    await sign({ nbf: nowS + 60 }),
    `${(await sign({})).slice(0, -6)}AAAAAA`,
  ];
  for (const token of bad) {
    const error = await t.throwsAsync(identity.verify(token), { instanceOf: AppError });
    t.like(error, { code: 'unauthorized', message: 'Invalid ID token' });
  }
});

test('A damaged key is not replaced: the start fails and says what to do', async t => {
  const clock = manualClock();
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  for (const content of ['', 'garbage', rsa.export({ type: 'pkcs8', format: 'pem' }).toString()]) {
    const dataDir = await temporaryDirectory(t);
    const file = join(dataDir, 'signing-key.pem');
    await writeFile(file, content);
    const error = await t.throwsAsync(localIdentity(clock, dataDir), { instanceOf: AppError });
    t.is(error.code, 'config_error');
    t.true(error.message.includes(file));
    t.regex(error.message, /Restore it from a backup; or delete it/);
    t.is(await readFile(file, 'utf8'), content);
  }
});
