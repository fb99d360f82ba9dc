import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { z } from 'zod';
import type { AppAction, Scope, User } from '../contract/model.ts';
import { type Credentials, type Principal, requireScope } from '../domain/accounts/credentials.ts';
import type { Apps } from '../domain/apps/apps.ts';
import { AppError } from '../runtime/errors.ts';
import { setHeaders } from './failure.ts';
import { text } from './fields.ts';
import type { Asker, NotificationLimit, Policy, RateLimits } from './rate-limit.ts';
import { validate } from './validate.ts';

/** Who may call an operation; the OpenAPI document says the same. */
export type Access =
  /** A key with this scope, or the owner's ID token, which may do everything. */
  | { scope: Scope; credential?: never }
  /** This kind of credential alone, whatever its scopes. */
  | { credential: 'idToken' | 'apiKey'; scope?: never }
  /**
   * A secret of the app that is named, for a user who installed it and allowed this action; null: it needs none.
   * `named`: where both are told; absent: `app_id` in the path, `uid` in the query.
   */
  | { credential: 'appSecret'; action: AppAction | null; named?: 'body'; scope?: never };

/** For whom an app asks. */
export interface Named {
  appId: string;
  userId: string;
}

const InQuery = z.object({ uid: text() });
const InBody = z.object({ aid: text(), uid: text() });

/** Whom a request names; `invalid_request` where it does not. */
export async function namedBy(
  access: Access,
  request: { params: Record<string, string>; query: unknown; body(): Promise<unknown> },
): Promise<Named> {
  if (access.credential === 'appSecret' && access.named === 'body') {
    const { aid, uid } = validate(InBody, await request.body(), 'body');
    return { appId: aid, userId: uid };
  }
  return { appId: request.params.app_id ?? '', userId: validate(InQuery, request.query, 'query').uid };
}

const KINDS = { idToken: ['token'], apiKey: ['key'] } as const;

export type Gate = ReturnType<typeof createGate>;

/** Where it is seen to that only those come in who may, and not too often. */
export function createGate({
  credentials,
  apps,
  rateLimits,
  notificationLimit,
  addressOf,
}: {
  credentials: Pick<Credentials, 'authenticate' | 'app'>;
  apps: Pick<Apps, 'permit'>;
  /** Absent: nothing is limited. */
  rateLimits?: Pick<RateLimits, 'take' | 'failed' | 'attempted'> | undefined;
  /** Likewise. */
  notificationLimit?: NotificationLimit | undefined;
  /** From which IP address a request comes. */
  addressOf(request: IncomingMessage): string;
}) {
  type Asked = Pick<Context, 'req' | 'res'>;

  /**
   * Who sends a request, once it is sure that they may: `unauthorized`, `rate_limited`, or `forbidden` with the missing
   * scope. The answer tells how many more may come, whatever becomes of this one. An app is told `not_found` and
   * `forbidden` before it is counted.
   * @param named whom an app asks for; asked once its secret is known to be one
   */
  async function admit(
    context: Asked,
    access: Access,
    policy: Policy,
    named: () => Promise<Named>,
  ): Promise<Principal> {
    if (access.credential === 'appSecret') return admitApp(context, access.action, policy, named);
    const kinds = access.credential && KINDS[access.credential];
    const principal = await counted(
      context,
      credentials.authenticate(context.req.headers.authorization, kinds),
    );
    await charge(context, principal, policy);
    if (access.scope) requireScope(principal, access.scope);
    return principal;
  }

  /**
   * Who sends a request that any key or token may send, whatever its scopes; counted as reading.
   * @param resource also takes access tokens that were issued for it (RFC 8707)
   */
  async function admitAny(context: Asked, resource: string | undefined): Promise<Principal> {
    const principal = await counted(
      context,
      credentials.authenticate(context.req.headers.authorization, undefined, resource),
    );
    await charge(context, principal, 'read');
    return principal;
  }

  /** Counts something more that a request does: `rate_limited` where there was too much. */
  async function charge(context: Asked, { user, keyId: subject = user.id }: Principal, policy: Policy) {
    await take(context, { userId: user.id, subject }, policy);
  }

  /** What is refused here is counted by address, whatever it is: who asks for users one by one is stopped, too. */
  async function admitApp(
    context: Asked,
    action: AppAction | null,
    policy: Policy,
    named: () => Promise<Named>,
  ): Promise<Principal> {
    const { authorization } = context.req.headers;
    const { app, user } = await counted(
      context,
      (async () => {
        const app = await credentials.app(authorization, async () => (await named()).appId);
        return { app, user: await apps.permit(app, (await named()).userId, action) };
      })(),
      isRefusal,
    );
    await take(context, { userId: user.id, subject: app.id, isApp: true }, policy);
    return { user, kind: 'app', scopes: NO_SCOPES, app };
  }

  async function take(context: Asked, who: Asker, policy: Policy) {
    const standing = await (policy === 'notification'
      ? notificationLimit?.take(who)
      : rateLimits?.take(who, policy));
    if (standing) setHeaders(context.res, standing.headers);
    if (standing?.refusal) throw standing.refusal;
  }

  /** Counts a request without a credential by its address: `rate_limited` where there were too many. */
  function admitStranger(context: Asked): void {
    const standing = rateLimits?.attempted(addressOf(context.req));
    if (!standing?.refusal) return;
    setHeaders(context.res, standing.headers);
    throw standing.refusal;
  }

  /** Whose secret link it is, once the request is counted: by its address first, and then by the account. */
  async function admitByLink(context: Asked, verify: () => Promise<User>): Promise<User> {
    admitStranger(context);
    const user = await counted(context, verify(), isRefusal);
    await take(context, { userId: user.id, subject: CALENDAR }, 'search');
    return user;
  }

  async function counted<T>(context: Asked, checking: Promise<T>, counts = isWrongCredential): Promise<T> {
    try {
      return await checking;
    } catch (error) {
      throw countFailure(error, context.req, headers => setHeaders(context.res, headers), counts) ?? error;
    }
  }

  /** Counts what failed for its credential. What to answer instead where too many did: `rate_limited`; or null. */
  function countFailure(
    error: unknown,
    request: IncomingMessage,
    tell: (headers: Record<string, string>) => void = () => {},
    counts = isWrongCredential,
  ): AppError | null {
    const standing = error instanceof AppError && counts(error) && rateLimits?.failed(addressOf(request));
    if (!standing) return null;
    tell(standing.headers);
    return standing.refusal;
  }

  return { admit, admitAny, admitByLink, charge, admitStranger, countFailure };
}

/** Whose bucket pays for a calendar that is read by its link. */
const CALENDAR = 'calendar link';

const NO_SCOPES: ReadonlySet<Scope> = new Set();

const isWrongCredential = ({ code }: AppError) => code === 'unauthorized';
const isRefusal = ({ status }: AppError) => status < 500;
