import { z } from 'zod';
import { MAX_PASSWORD_CHARS, type SignIn } from '../../domain/sign-in.ts';
import type { Clock } from '../../model.ts';
import { text } from '../fields.ts';
import { type OpenOperation, type OpenRoute, openOperation } from '../route.ts';

/** Many more than a name or a password has: what is longer is neither. */
const MAX_CHARS = 4 * MAX_PASSWORD_CHARS;

const Credentials = z
  .object({
    name: text({ max: MAX_CHARS }),
    password: z.string().min(1).max(MAX_CHARS).meta({ format: 'password' }),
  })
  .meta({
    id: 'Credentials',
    override: { examples: [{ name: 'owner', password: 'correct horse battery' }] },
  });

const Token = z
  .object({
    token: z.string().describe('An ID token: send it as "Authorization: Bearer …"'),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds; then, or once its owner was signed out, a new one is needed'),
  })
  .meta({ id: 'Token' });

/** Signing in. */
export function identityOperations(signIn: SignIn, clock: Clock): OpenOperation[] {
  return [
    openOperation({
      method: 'post',
      id: 'createToken',
      path: '/v1/auth/token',
      tag: 'Signing in',
      summary: 'Sign in with name and password',
      errors: ['unauthorized', 'conflict', 'rate_limited'],
      body: Credentials,
      response: Token,
      async handle({ address, body }) {
        const { token, expiresAt } = await signIn.byPassword({ ...body, address });
        const expiresIn = Math.floor((expiresAt - clock.now()) / 1000);
        return { token, token_type: 'Bearer' as const, expires_in: expiresIn };
      },
    }),
  ];
}

const JsonWebKeys = z.object({
  keys: z.array(z.looseObject({ kty: z.string(), kid: z.string(), use: z.string(), alg: z.string() })),
});

/** For programs that check ID tokens of this server by themselves. */
export function publicKeysRoute(signIn: SignIn): OpenRoute {
  return {
    id: 'getPublicKeys',
    path: '/.well-known/jwks.json',
    tag: 'Signing in',
    summary: 'The public keys of ID tokens that this server issues, as a JSON Web Key Set',
    answers: { 200: { description: 'The keys', type: 'application/json', schema: JsonWebKeys } },
    async serve(context) {
      context.set('Cache-Control', 'public, max-age=300');
      context.body = await signIn.publicKeys();
    },
  };
}
