import { z } from 'zod';
import type { Clock } from '../../contract/model.ts';
import type { Credentials as CredentialCheck } from '../../domain/accounts/credentials.ts';
import type { Sessions } from '../../domain/accounts/sessions.ts';
import { MAX_PASSWORD_CHARS, type Session, type SignIn } from '../../domain/accounts/sign-in.ts';
import { AppError } from '../../runtime/errors.ts';
import { text } from '../fields.ts';
import {
  type OpenOperation,
  type OpenRoute,
  openOperation,
  type Route,
  route,
  type SessionCookie,
} from '../route.ts';
import { SESSION_PATH } from '../session-cookie.ts';

/** Longer than any name or password. */
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
  sessions,
  credentials,
  clock,
}: {
  signIn: SignIn;
  sessions: Pick<Sessions, 'end'>;
  credentials: Pick<CredentialCheck, 'token'>;
  clock: Clock;
}): OpenOperation[] {
  /** A browser keeps the refresh token in a cookie that no script can read; its scripts get the ID token. */
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

  /** A cookie that is not valid any more has no session to end. */
  async function end(kept: string): Promise<void> {
    try {
      const { user, sessionId } = await credentials.token(kept, ['token']);
      if (sessionId !== undefined) await sessions.end(user.id, sessionId);
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
    }
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
      handle: async ({ address, userAgent, body, session }) =>
        begin(await signIn.session({ ...body, address, userAgent }), session),
    }),
    openOperation({
      method: 'post',
      id: 'renewSession',
      path: `${SESSION_PATH}/token`,
      tag: 'Signing in',
      summary: 'Get a new token with the session cookie',
      errors: ['unauthorized', 'conflict', 'rate_limited'],
      response: SessionJson,
      async handle({ session, userAgent }) {
        const kept = session.token();
        if (kept === undefined) throw new AppError('unauthorized', 'There is no session: sign in');
        return begin(await signIn.renew(await credentials.token(kept, ['token']), userAgent), session);
      },
    }),
    openOperation({
      method: 'delete',
      id: 'endSession',
      path: SESSION_PATH,
      tag: 'Signing in',
      summary: 'Sign out: clear the session cookie, and end the session',
      errors: ['rate_limited'],
      response: z.object({ status: z.literal('ok') }),
      async handle({ session }) {
        const kept = session.token();
        session.drop();
        if (kept !== undefined) await end(kept);
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
      handle: async ({ userAgent, body: { code, password }, session }) =>
        begin(await signIn.acceptWelcome(code, password, userAgent), session),
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
      async handle({ address, userAgent, body }) {
        const { token, expiresAt } = await signIn.byPassword({ ...body, address, userAgent });
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

const SignedIn = z
  .object({
    id: z.string(),
    kind: z.enum(['browser', 'program']),
    user_agent: z.string().describe('Header User-Agent of the sign-in: not verified; empty: none'),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().describe('Up to a minute late'),
    expires_at: z.iso.datetime().describe('A browser that is used moves it on'),
    current: z.boolean().describe('Whether this request belongs to it'),
  })
  .meta({ id: 'SignedIn' });

const NOTHING = { params: z.object({}), query: z.object({}) };

/** Browsers and programs that are signed in to the account. */
export function sessionRoutes(sessions: Pick<Sessions, 'list' | 'end' | 'endOthers'>): Route[] {
  return [
    route({
      method: 'delete',
      id: 'endOneSession',
      path: '/v1/auth/sessions/{account_session_id}',
      tag: 'Signing in',
      summary: 'End a session: its tokens are refused at once, and its connections are closed',
      credential: 'idToken',
      errors: ['not_found'],
      params: z.object({ account_session_id: z.string() }),
      query: z.object({}),
      handle: ({ principal: { user }, params }) => sessions.end(user.id, params.account_session_id),
    }),
    route({
      method: 'get',
      id: 'listSessions',
      path: '/v1/auth/sessions',
      tag: 'Signing in',
      summary: 'List the browsers and programs that signed in with a password, the last used first',
      credential: 'idToken',
      ...NOTHING,
      response: z.array(SignedIn),
      handle: async ({ principal: { user, sessionId } }) =>
        (await sessions.list(user.id)).map(each => ({
          id: each.id,
          kind: each.kind,
          user_agent: each.userAgent,
          created_at: new Date(each.createdAt).toISOString(),
          last_used_at: new Date(each.lastUsedAt).toISOString(),
          expires_at: new Date(each.expiresAt).toISOString(),
          current: each.id === sessionId,
        })),
    }),
    route({
      method: 'delete',
      id: 'endOtherSessions',
      path: '/v1/auth/sessions',
      tag: 'Signing in',
      summary:
        'End all sessions but the one of this request; where it has one, ID tokens without a session end too',
      credential: 'idToken',
      ...NOTHING,
      handle: ({ principal: { user, sessionId } }) => sessions.endOthers(user.id, sessionId),
    }),
  ];
}

const JsonWebKeys = z.object({
  keys: z.array(z.looseObject({ kty: z.string(), kid: z.string(), use: z.string(), alg: z.string() })),
});

/** Public keys for programs that verify ID tokens of this server themselves. */
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
