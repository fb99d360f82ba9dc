/** What every identity provider must do, as plain checks that throw. */
import assert from 'node:assert/strict';
import type { IdentityProvider } from '../plugin.ts';

export interface IdentitySubject {
  provider: IdentityProvider;
}

export interface IdentityCheck {
  title: string;
  run(subject: IdentitySubject): Promise<void>;
}

/** The last two hold for a provider that issues tokens itself. */
export const identityChecks: readonly IdentityCheck[] = [
  { title: 'refuses what is no token, with unauthorized', run: refusesNonsense },
  { title: 'knows the tokens that it issued, each for its user', run: knowsItsOwn },
  { title: 'refuses a token that was changed, with unauthorized', run: refusesChanged },
];

const USERS = [
  { subject: '0190c9f2-1111-7000-8000-000000000001', name: 'Anna' },
  { subject: '0190c9f2-1111-7000-8000-000000000002', name: 'Þórr "the loud" 雷' },
];

async function refusesNonsense({ provider }: IdentitySubject): Promise<void> {
  for (const token of ['', 'nonsense', 'a.b.c', 'ü\n', 'A'.repeat(100_000)]) await refuses(provider, token);
}

async function knowsItsOwn({ provider }: IdentitySubject): Promise<void> {
  if (!provider.issue) return;
  for (const user of USERS) {
    const token = await provider.issue(user);
    assert.deepEqual(await provider.verify(token), { issuer: provider.issuer, ...user });
  }
}

/** Every stretch of it counts; the last bits of a base64 text may not. */
async function refusesChanged({ provider }: IdentitySubject): Promise<void> {
  if (!provider.issue) return;
  const token = await provider.issue({ subject: 'u1', name: 'Anna' });
  for (let at = 0; at < token.length - 2; at += 7) {
    const other = token[at] === 'A' ? 'B' : 'A';
    await refuses(provider, token.slice(0, at) + other + token.slice(at + 1));
  }
  await refuses(provider, token.slice(0, -6));
}

async function refuses(provider: IdentityProvider, token: string): Promise<void> {
  await assert.rejects(async () => provider.verify(token), { code: 'unauthorized' });
}
