import { errors, jwtVerify, SignJWT } from 'jose';
import type { Plugin } from '../../../core/contract/plugin.ts';
import { createPasswords } from './passwords.ts';
import { openSigningKeys } from './signing-keys.ts';

const ISSUER = 'earshot';
const AUDIENCE = 'earshot';
const ALGORITHM = 'EdDSA';
const DAY_MS = 24 * 3600 * 1000;
const LIFETIME_MS = 30 * DAY_MS;
const SIGNING_MS = 90 * DAY_MS;

/** Authenticates this server's own users with ID tokens signed by Ed25519 keys that never leave its directory. */
export default {
  name: 'local',
  api: 1,
  title: 'Accounts of this server, signed in with passwords and with ID tokens that it issues itself',
  async setup({ dataDir, clock, state, error }) {
    const keys = await openSigningKeys({
      dataDir,
      clock,
      error,
      signingMs: SIGNING_MS,
      verifyingMs: LIFETIME_MS,
    });

    async function keyOf({ kid }: { kid?: string | undefined }) {
      const key = await keys.find(kid);
      if (key) return key.publicKey;
      throw error('unauthorized', 'Invalid ID token');
    }

    return {
      identity: {
        issuer: ISSUER,

        async issue({ subject, name, lifetimeMs = LIFETIME_MS, session }) {
          const { kid, privateKey } = await keys.current();
          const now = clock.now();
          const expiresAt = Math.ceil((now + Math.min(lifetimeMs, LIFETIME_MS)) / 1000) * 1000;
          const token = await new SignJWT({ name, ...(session !== undefined && { sid: session }) })
            .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT', kid })
            .setIssuer(ISSUER)
            .setAudience(AUDIENCE)
            .setSubject(subject)
            .setIssuedAt(now / 1000) // in milliseconds, so that a sign-out ends every token issued before it
            .setExpirationTime(expiresAt / 1000)
            .sign(privateKey);
          return { token, expiresAt };
        },

        async verify(token) {
          const { payload } = await jwtVerify(token, keyOf, {
            algorithms: [ALGORITHM],
            issuer: ISSUER,
            audience: AUDIENCE,
            requiredClaims: ['sub', 'exp', 'iat'],
            currentDate: new Date(clock.now()),
          }).catch(cause => {
            const why = cause instanceof errors.JWTExpired ? 'The ID token has expired' : 'Invalid ID token';
            throw error('unauthorized', why, { cause });
          });
          const { sub, name, iat, exp, sid } = payload;
          if (
            typeof sub !== 'string' ||
            sub === '' ||
            typeof name !== 'string' ||
            iat === undefined ||
            exp === undefined
          )
            throw error('unauthorized', 'Invalid ID token');
          const issuedAt = Math.round(iat * 1000);
          const identity = { issuer: ISSUER, subject: sub, name, issuedAt, expiresAt: exp * 1000 };
          return typeof sid === 'string' ? { ...identity, session: sid } : identity;
        },

        passwords: createPasswords({ state, error }),
        keys: {
          async rotate() {
            await keys.rotate();
          },
          publicKeys: async () => keys.publicKeys(),
        },
      },
    };
  },
} satisfies Plugin;
