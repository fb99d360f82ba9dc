/** Requirements for every identity provider, as plain checks that throw. */
import assert from 'node:assert/strict';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { IdentityProvider } from '../../../core/contract/plugin.ts';
import type { SuiteCheck } from './report.ts';

export interface IdentitySubject {
  provider: IdentityProvider;
  /** The same provider with the same data, this much later. */
  later(ms: number): Promise<IdentityProvider>;
  /** An independent provider of the same kind, with other keys and data. */
  stranger(): Promise<IdentityProvider>;
}

export interface IdentityCheck extends SuiteCheck<IdentitySubject> {
  /** Capability that the check needs. A provider without it passes. */
  needs?: 'issue' | 'passwords' | 'keys';
}

export const identityChecks: readonly IdentityCheck[] = [
  { title: 'refuses text that is no token, with unauthorized', run: refusesNonsense },
  { title: 'accepts the tokens that it issued, each for its user', needs: 'issue', run: knowsItsOwn },
  { title: 'refuses a token that was changed, with unauthorized', needs: 'issue', run: refusesChanged },
  { title: 'refuses a token that has expired, with unauthorized', needs: 'issue', run: refusesExpired },
  { title: 'refuses a token of another issuer, with unauthorized', needs: 'issue', run: refusesOthers },
  { title: 'accepts the right password alone', needs: 'passwords', run: checksPasswords },
  {
    title: 'accepts its tokens after a rotation of keys, and publishes each key',
    needs: 'keys',
    run: rotatesKeys,
  },
];

const ANNA = { subject: '0190c9f2-1111-7000-8000-000000000001', name: 'Anna' };
const THORR = { subject: '0190c9f2-1111-7000-8000-000000000002', name: 'Þórr "the loud" 雷' };
/** Private parts of a JSON Web Key: whoever has them can sign. */
const PRIVATE_PARTS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

async function refusesNonsense({ provider }: IdentitySubject): Promise<void> {
  for (const token of ['', 'nonsense', 'a.b.c', 'ü\n', 'A'.repeat(100_000)]) await refuses(provider, token);
}

async function knowsItsOwn({ provider }: IdentitySubject): Promise<void> {
  if (!provider.issue) return;
  for (const user of [ANNA, THORR]) {
    const { token, expiresAt } = await provider.issue(user);
    const { issuedAt, expiresAt: end, ...who } = await provider.verify(token);
    assert.deepEqual(who, { issuer: provider.issuer, ...user });
    assert.ok(issuedAt < expiresAt, 'a token does not expire after it was issued');
    assert.ok(Math.abs(end - expiresAt) <= 1000, 'verify and issue return different times of expiry');
  }
  const { token } = await provider.issue({ ...ANNA, session: 's1' });
  assert.equal(
    (await provider.verify(token)).session,
    's1',
    'verify does not return the session of the token',
  );
}

/** Changes each part of the token except the last bits of its base64 text, which may be insignificant. */
async function refusesChanged({ provider }: IdentitySubject): Promise<void> {
  if (!provider.issue) return;
  const { token } = await provider.issue(ANNA);
  for (let at = 0; at < token.length - 2; at += 7) {
    const other = token[at] === 'A' ? 'B' : 'A';
    await refuses(provider, token.slice(0, at) + other + token.slice(at + 1));
  }
  await refuses(provider, token.slice(0, -6));
}

async function refusesExpired({ provider, later }: IdentitySubject): Promise<void> {
  if (!provider.issue) return;
  const { token, expiresAt } = await provider.issue(ANNA);
  const { issuedAt } = await provider.verify(token);
  const lifetimeMs = expiresAt - issuedAt;
  await (await later(lifetimeMs / 2)).verify(token);
  await refuses(await later(lifetimeMs + 1000), token);
}

async function refusesOthers({ provider, stranger }: IdentitySubject): Promise<void> {
  if (!provider.issue) return;
  const other = await stranger();
  const issued = await other.issue?.(ANNA);
  assert.ok(issued, 'the second provider issues no token');
  await other.verify(issued.token);
  await refuses(provider, issued.token);
}

async function checksPasswords({ provider: { passwords } }: IdentitySubject): Promise<void> {
  if (!passwords) return;
  const is = async (expected: boolean, subject: string | null, password: string) =>
    assert.equal(await passwords.check(subject, password), expected, `${subject}, ${password}`);
  await is(false, ANNA.subject, 'the first password');
  await passwords.set(ANNA.subject, 'the first password');
  await is(true, ANNA.subject, 'the first password');
  for (const wrong of ['', 'the first passwor', 'the first password ', 'The first password'])
    await is(false, ANNA.subject, wrong);
  await is(false, THORR.subject, 'the first password');
  await is(false, null, 'the first password');
  await passwords.set(ANNA.subject, 'ein zweites Paßwort 🫖');
  await is(false, ANNA.subject, 'the first password');
  await is(true, ANNA.subject, 'ein zweites Paßwort 🫖');
  await passwords.set(ANNA.subject, null);
  await is(false, ANNA.subject, 'ein zweites Paßwort 🫖');
}

async function rotatesKeys({ provider }: IdentitySubject): Promise<void> {
  const { issue, keys } = provider;
  if (!issue || !keys) return;
  const before = await issue(ANNA);
  await keys.rotate();
  const after = await issue(ANNA);
  const published = await keys.publicKeys();
  for (const key of published.keys)
    for (const part of PRIVATE_PARTS)
      assert.ok(!(part in key), `a published key contains the private part ${part}`);
  for (const { token } of [before, after]) {
    const { issuer, issuedAt } = await provider.verify(token);
    await jwtVerify(token, createLocalJWKSet(published), { issuer, currentDate: new Date(issuedAt) });
  }
}

async function refuses(provider: IdentityProvider, token: string): Promise<void> {
  await assert.rejects(async () => provider.verify(token), { code: 'unauthorized' });
}
