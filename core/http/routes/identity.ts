import { z } from 'zod';
import type { Clock } from '../../contract/model.ts';
import type { Credentials as CredentialCheck } from '../../domain/accounts/credentials.ts';
import { MAX_PASSWORD_CHARS, type Session, type SignIn } from '../../domain/accounts/sign-in.ts';
import { AppError } from '../../runtime/errors.ts';
import { text } from '../fields.ts';
import { type OpenOperation, type OpenRoute, openOperation, type SessionCookie } from '../route.ts';
import { SESSION_PATH } from '../session-cookie.ts';

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

const NewPassword = z
  .object({
    ...Credentials.shape,
    new_password: z.string().min(1).max(MAX_CHARS).meta({ format: 'password' }),
  })
  .meta({
    id: 'NewPassword',
    override: {
      examples: [{ name: 'owner', password: 'correct horse battery', new_password: 'a better one, I hope' }],
    },
  });

const Token = z
  .object({
    token: z.string().describe('An ID token: send it as "Authorization: Bearer …"'),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Lifetime in seconds; signing out revokes it earlier'),
  })
  .meta({ id: 'Token' });

const SessionJson = z
  .object({
    ...Token.shape,
    account: z.object({ id: z.string(), name: z.string(), role: z.enum(['owner', 'operator']) }),
  })
  .meta({ id: 'Session' });

const Welcome = z
  .object({
    code: text({ max: MAX_CHARS }).describe('Code of the link that the server prints'),
    password: z.string().min(1).max(MAX_CHARS).meta({ format: 'password' }),
  })
  .meta({
    id: 'Welcome',
    override: { examples: [{ code: 'VGhpcyBpcyBubyBjb2Rl', password: 'correct horse battery' }] },
  });

/** Signing in. */
export function identityOperations({
  signIn,
  credentials,
  clock,
}: {
  signIn: SignIn;
  credentials: Pick<CredentialCheck, 'token'>;
  clock: Clock;
}): OpenOperation[] {
  /** The browser keeps the one token where no script reads it; its scripts get the other one. */
  function begin({ user, access, kept }: Session, session: SessionCookie): z.input<typeof SessionJson> {
    const secondsTo = (at: number) => Math.floor((at - clock.now()) / 1000);
    session.keep(kept.token, secondsTo(kept.expiresAt));
    return {
      token: access.token,
      token_type: 'Bearer',
      expires_in: secondsTo(access.expiresAt),
      account: { id: user.id, name: user.name, role: user.role },
    };
  }

  return [
    openOperation({
      method: 'post',
      id: 'createSession',
      path: SESSION_PATH,
      tag: 'Signing in',
      summary:
        'Sign in from a browser: returns a token for an hour, and sets an HttpOnly cookie that gets new tokens for 30 days',
      errors: ['unauthorized', 'conflict', 'rate_limited'],
      body: Credentials,
      response: SessionJson,
      handle: async ({ address, body, session }) =>
        begin(await signIn.session({ ...body, address }), session),
    }),
    openOperation({
      method: 'post',
      id: 'renewSession',
      path: `${SESSION_PATH}/token`,
      tag: 'Signing in',
      summary: 'Get a new token with the session cookie',
      errors: ['unauthorized', 'conflict', 'rate_limited'],
      response: SessionJson,
      async handle({ session }) {
        const kept = session.token();
        if (kept === undefined) throw new AppError('unauthorized', 'There is no session: sign in');
        const { user } = await credentials.token(kept, ['token']);
        return begin(await signIn.renew(user), session);
      },
    }),
    openOperation({
      method: 'delete',
      id: 'endSession',
      path: SESSION_PATH,
      tag: 'Signing in',
      summary: 'Clear the session cookie',
      errors: ['rate_limited'],
      response: z.object({ status: z.literal('ok') }),
      async handle({ session }) {
        session.drop();
        return { status: 'ok' as const };
      },
    }),
    openOperation({
      method: 'post',
      id: 'acceptWelcome',
      path: '/v1/auth/welcome',
      tag: 'Signing in',
      summary:
        'Set the first password of the first account, with the code of the link that the server prints',
      errors: ['unauthorized', 'conflict', 'rate_limited'],
      body: Welcome,
      response: SessionJson,
      handle: async ({ body: { code, password }, session }) =>
        begin(await signIn.acceptWelcome(code, password), session),
    }),
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
    openOperation({
      method: 'post',
      id: 'changePassword',
      path: '/v1/auth/password',
      tag: 'Signing in',
      summary: 'Change your own password, with the present one; earlier ID tokens are revoked',
      errors: ['unauthorized', 'conflict', 'rate_limited'],
      body: NewPassword,
      response: z.object({ status: z.literal('ok') }),
      async handle({ address, body: { name, password, new_password: newPassword } }) {
        await signIn.changePassword({ name, password, newPassword, address });
        return { status: 'ok' as const };
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
    summary: 'Get the public keys of ID tokens that this server issues, as a JSON Web Key Set',
    answers: { 200: { description: 'The keys', type: 'application/json', schema: JsonWebKeys } },
    async serve(context) {
      context.set('Cache-Control', 'public, max-age=300');
      context.body = await signIn.publicKeys();
    },
  };
}
