import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Plugin, PluginContext } from '../../../core/contract/plugin.ts';
import { discover, openKeys } from './provider.ts';

/** Public-key algorithms only: with a shared secret, everyone who verifies tokens could issue them. */
const ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const;
const ID_TOKEN = /^jwt$/i;
/** RFC 9068, section 2.1. */
const ACCESS_TOKEN = /^(?:application\/)?at\+jwt$/i;
const ANYONE = 'anyone';
/** OpenID Connect Core 1.0, section 2. */
const MAX_SUBJECT_CHARS = 255;

interface Options {
  issuer: string;
  audience: string[];
  allow: string[];
  algorithms: (typeof ALGORITHMS)[number][];
  clockToleranceS: number;
}

export default {
  name: 'oidc',
  api: 1,
  title: 'People whom an OpenID Connect provider of yours signs in: Keycloak, Authelia, authentik, …',
  options: z =>
    z.strictObject({
      issuer: z
        .url({ protocol: /^https?$/, error: 'must be an address such as https://id.example.org/realms/home' })
        .describe('Address of the provider, exactly as in the iss of its tokens'),
      audience: z
        .array(z.string().min(1))
        .min(1)
        .describe('Client ids that the provider knows your apps by: the aud of their ID tokens'),
      allow: z
        .array(z.string().trim().min(1))
        .min(1)
        .describe('Who may have an account: subjects, verified e-mail addresses, or anyone for all'),
      algorithms: z
        .array(z.enum(ALGORITHMS))
        .min(1)
        .default([...ALGORITHMS])
        .describe('Accepted signature algorithms of ID tokens'),
      clockToleranceS: z.coerce
        .number()
        .int()
        .min(0)
        .max(300)
        .default(30)
        .describe('Tolerated difference between the clocks of the provider and this machine, in seconds'),
    }),
  async setup(context) {
    const { options, clock, error } = context;
    const { issuer, audience, algorithms, clockToleranceS } = options;
    const keys = await openKeys(await discover(issuer, context), context);

    async function claimsOf(token: string, typ: RegExp, audience: string[]): Promise<JWTPayload> {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer,
        audience,
        algorithms,
        clockTolerance: clockToleranceS,
        requiredClaims: ['sub', 'exp', 'iat'],
        currentDate: new Date(clock.now()),
      });
      if (typ.test(protectedHeader.typ ?? 'JWT')) return payload;
      throw error('unauthorized', 'This is another token of the provider, not an ID token');
    }

    async function verified(token: string, typ: RegExp, audience: string[]) {
      const claims = await claimsOf(token, typ, audience).catch(cause => {
        throw cause instanceof errors.JOSEError ? error('unauthorized', reasonOf(cause), { cause }) : cause;
      });
      const { sub = '', iat = 0, exp = 0, scope } = claims;
      if (!isSubject(sub)) throw error('unauthorized', 'Invalid ID token');
      if (!isAllowed(claims, options.allow)) throw refusal(claims, context);
      const expiresAt = (exp + clockToleranceS) * 1000;
      return {
        identity: { issuer, subject: sub, name: nameOf(claims), issuedAt: iat * 1000, expiresAt },
        scopes: typeof scope === 'string' ? scope.split(' ') : [],
      };
    }

    return {
      identity: {
        issuer,
        verify: async token => (await verified(token, ID_TOKEN, audience)).identity,
        async verifyAccess(token, resource) {
          const { identity, scopes } = await verified(token, ACCESS_TOKEN, [resource]);
          return { ...identity, scopes };
        },
      },
    };
  },
} satisfies Plugin<Options>;

/** Checks the claim's type, which the signature does not vouch for. */
function isSubject(sub: unknown): boolean {
  return typeof sub === 'string' && sub !== '' && sub.length <= MAX_SUBJECT_CHARS && !sub.includes('\0');
}

function reasonOf(cause: errors.JOSEError): string {
  if (cause instanceof errors.JWTExpired) return 'The ID token has expired';
  const isOfOthers = cause instanceof errors.JWTClaimValidationFailed && cause.claim === 'aud';
  return isOfOthers ? 'The ID token was made for another app' : 'Invalid ID token';
}

function isAllowed({ sub = '', email, email_verified: isVerified }: JWTPayload, allow: string[]): boolean {
  if (allow.includes(ANYONE) || allow.includes(sub)) return true;
  if (typeof email !== 'string' || isVerified !== true) return false; // anyone can claim an unverified address
  return allow.some(each => each.toLowerCase() === email.toLowerCase());
}

function refusal(
  { sub, email, email_verified: isVerified }: JWTPayload,
  { options, error }: PluginContext<Options>,
) {
  const address =
    email === undefined
      ? 'no e-mail address'
      : isVerified === true
        ? 'another one'
        : 'one that is not verified';
  return error(
    'forbidden',
    `Your account at ${options.issuer} may not be used here: neither its subject, ${sub}, nor its e-mail address (the token has ${address}) stands in plugins.oidc.allow`,
  );
}

function nameOf({ preferred_username, name, email, sub }: JWTPayload): string {
  const names = [preferred_username, name, email, sub];
  return names.find((each): each is string => typeof each === 'string' && each.trim() !== '') ?? '';
}
