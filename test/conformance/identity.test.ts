import test from 'ava';
import { type IdentitySubject, identityChecks } from '../../core/conformance/identity.ts';

type Fault = 'lets anyone in' | 'refuses in words of its own' | 'forgets the name' | 'reads half of a token';

/** Tokens are JSON, twice; with `fault`, wrong in one way. */
function twice(fault?: Fault): IdentitySubject {
  const issuer = 'twice';
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    provider: {
      issuer,
      issue: async user => `${encode(user)}.${encode(user)}`,
      async verify(token) {
        const [user = '', copy] = token.split('.');
        if (fault === 'lets anyone in') return { issuer, subject: 'u1', name: 'Anna' };
        if (user === '' || (user !== copy && fault !== 'reads half of a token')) {
          const code = fault === 'refuses in words of its own' ? 'nope' : 'unauthorized';
          throw Object.assign(new Error('no'), { code });
        }
        const { subject, name } = JSON.parse(Buffer.from(user, 'base64url').toString());
        return { issuer, subject, name: fault === 'forgets the name' ? '' : name };
      },
    },
  };
}

/** Which check has to catch which fault. */
const CAUGHT: Record<Fault, string> = {
  'lets anyone in': 'refuses what is no token, with unauthorized',
  'refuses in words of its own': 'refuses what is no token, with unauthorized',
  'forgets the name': 'knows the tokens that it issued, each for its user',
  'reads half of a token': 'refuses a token that was changed, with unauthorized',
};

test('an identity provider without fault passes every check', async t => {
  for (const check of identityChecks) await t.notThrowsAsync(check.run(twice()), check.title);
});

test('one that issues no tokens is not asked for any', async t => {
  const { issuer, verify } = twice().provider;
  for (const check of identityChecks) await t.notThrowsAsync(check.run({ provider: { issuer, verify } }));
});

for (const [fault, title] of Object.entries(CAUGHT)) {
  test(`an identity provider that ${fault} is caught`, async t => {
    const check = identityChecks.find(each => each.title === title);
    await t.throwsAsync(async () => check?.run(twice(fault as Fault)));
  });
}
