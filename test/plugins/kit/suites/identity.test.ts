import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import test from 'ava';
import { decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import type { IdentityProvider } from '../../../../core/contract/plugin.ts';
import { type IdentitySubject, identityChecks } from '../../../../plugins/kit/suites/identity.ts';

/** Checks that have to notice each fault. */
const CAUGHT = {
  'lets anyone in': 'refuses text that is no token, with unauthorized',
  'refuses in words of its own': 'refuses text that is no token, with unauthorized',
  'forgets the name': 'accepts the tokens that it issued, each for its user',
  'forgets the session': 'accepts the tokens that it issued, each for its user',
  'forgets when a token ends': 'accepts the tokens that it issued, each for its user',
  'skips signatures': 'refuses a token that was changed, with unauthorized',
  'skips the time': 'refuses a token that has expired, with unauthorized',
  'trusts every key': 'refuses a token of another issuer, with unauthorized',
  'compares the first half of a password': 'accepts the right password alone',
  'keeps old passwords': 'accepts the right password alone',
  'forgets old keys': 'accepts its tokens after a rotation of keys, and publishes each key',
  'publishes how to sign': 'accepts its tokens after a rotation of keys, and publishes each key',
} as const;
type Fault = keyof typeof CAUGHT;

interface Data {
  keys: { kid: string; privateKey: KeyObject; publicKey: KeyObject }[];
  passwords: Map<string, string[]>;
}

const ISSUER = 'simple';
const HOUR_MS = 3600_000;
const NOON = Date.UTC(2026, 10, 2, 12);
/** Whatever was signed by anyone, for the fault that trusts it. */
const EVERY_KEY: Data['keys'] = [];

function newKey(): Data['keys'][number] {
  const key = { kid: randomUUID(), ...generateKeyPairSync('ed25519') };
  EVERY_KEY.push(key);
  return key;
}

/** As simple as can be; with `fault`, wrong in one way. */
function open({ keys, passwords }: Data, aheadMs: number, fault?: Fault): IdentityProvider {
  const now = NOON + aheadMs;

  async function claimsOf(token: string) {
    if (fault === 'skips signatures') return decodeJwt(token);
    const { kid } = decodeProtectedHeader(token);
    const trusted = fault === 'trusts every key' ? EVERY_KEY : keys;
    const key = trusted.find(each => each.kid === kid);
    if (!key) throw new Error('no such key');
    const currentDate = new Date(fault === 'skips the time' ? NOON : now);
    return (await jwtVerify(token, key.publicKey, { currentDate })).payload;
  }

  return {
    issuer: ISSUER,
    async issue({ subject, name, session }) {
      const [key] = keys;
      if (!key) throw new Error('no key');
      const expiresAt = now + HOUR_MS;
      const token = await new SignJWT({
        name: fault === 'forgets the name' ? '' : name,
        ...(session !== undefined && fault !== 'forgets the session' && { sid: session }),
      })
        .setProtectedHeader({ alg: 'EdDSA', kid: key.kid })
        .setIssuer(ISSUER)
        .setSubject(subject)
        .setIssuedAt(now / 1000)
        .setExpirationTime(expiresAt / 1000)
        .sign(key.privateKey);
      return { token, expiresAt };
    },
    async verify(token) {
      const expiresAt = now + HOUR_MS;
      if (fault === 'lets anyone in')
        return { issuer: ISSUER, subject: 'u1', name: 'Anna', issuedAt: now, expiresAt };
      try {
        const { sub = '', name, sid, iat = 0, exp = 0 } = await claimsOf(token);
        const end = fault === 'forgets when a token ends' ? Number.NaN : exp * 1000;
        return {
          ...{ issuer: ISSUER, subject: sub, name: String(name), issuedAt: iat * 1000, expiresAt: end },
          ...(typeof sid === 'string' && { session: sid }),
        };
      } catch (cause) {
        const code = fault === 'refuses in words of its own' ? 'nope' : 'unauthorized';
        throw Object.assign(new Error('no', { cause }), { code });
      }
    },
    passwords: {
      async set(subject, password) {
        const old = fault === 'keeps old passwords' ? (passwords.get(subject) ?? []) : [];
        passwords.set(subject, password === null ? [] : [...old, password]);
      },
      async check(subject, password) {
        const own = passwords.get(subject ?? '') ?? [];
        const half = fault === 'compares the first half of a password';
        return own.some(each => (half ? each.slice(0, 8) === password.slice(0, 8) : each === password));
      },
    },
    keys: {
      async rotate() {
        if (fault === 'forgets old keys') keys.length = 0;
        keys.unshift(newKey());
      },
      async publicKeys() {
        const shown = fault === 'publishes how to sign' ? 'privateKey' : 'publicKey';
        const all = keys.map(key => ({ ...key[shown].export({ format: 'jwk' }), kid: key.kid }));
        return { keys: all.map(key => ({ ...key, kty: 'OKP', use: 'sig', alg: 'EdDSA' })) };
      },
    },
  };
}

function subjectOf(fault?: Fault): IdentitySubject {
  const data = (): Data => ({ keys: [newKey()], passwords: new Map() });
  const own = data();
  return {
    provider: open(own, 0, fault),
    later: async ms => open(own, ms, fault),
    stranger: async () => open(data(), 0, fault),
  };
}

test('an identity provider without fault passes every check', async t => {
  for (const check of identityChecks) await t.notThrowsAsync(check.run(subjectOf()), check.title);
});

test('one that only checks tokens is asked for nothing else', async t => {
  const { provider, ...others } = subjectOf();
  const { issuer, verify } = provider;
  for (const check of identityChecks)
    await t.notThrowsAsync(check.run({ provider: { issuer, verify }, ...others }), check.title);
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`an identity provider that ${fault} is caught`, async t => {
    const check = identityChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(subjectOf(fault as Fault)));
  });
}
