import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { z } from 'zod';
import type { AppAction, Scope, User } from '../contract/model.ts';
import {
  type Credentials,
  type Principal,
  requireOperator,
  requireScope,
} from '../domain/accounts/credentials.ts';
import type { Apps } from '../domain/apps/apps.ts';
import { AppError } from '../runtime/errors.ts';
import { setHeaders } from './failure.ts';
import { text } from './fields.ts';
import type { Asker, NotificationLimit, Policy, RateLimits } from './rate-limit.ts';
import { validate } from './validate.ts';

/** Credentials that an operation accepts; the OpenAPI document describes the same. */
export type Access =
  /** A key with this scope, or the owner's ID token, which may do everything. */
  | { scope: Scope; credential?: never; role?: never }
  /** This kind of credential alone, whatever its scopes; with `role`, of an account that has it. */
  | { credential: 'idToken'; role?: 'operator'; scope?: never }
  | { credential: 'apiKey'; role?: never; scope?: never }
  /**
   * A secret of the named app, for a user who installed it and allowed this action; null: no permission is needed.
   * `named`: where the request names app and user; absent: `app_id` in the path, `uid` in the query.
   */
  | { credential: 'appSecret'; action: AppAction | null; named?: 'body'; role?: never; scope?: never };

/** The user and app that a request of an app names. */
export interface Named {
  appId: string;
  userId: string;
}

const InQuery = z.object({ uid: text() });
const InBody = z.object({ aid: text(), uid: text() });

/** Returns the user and the app that a request names; throws `invalid_request` where it names none. */
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

/** Authenticates requests, and applies rate limits. */
export function createGate({
  credentials,
  apps,
  rateLimits,
  notificationLimit,
  addressOf,
}: {
  credentials: Pick<Credentials, 'authenticate' | 'app'>;
  apps: Pick<Apps, 'permit'>;
  /** Absent: requests are not limited. */
  rateLimits?: Pick<RateLimits, 'take' | 'failed' | 'attempted'> | undefined;
  /** Absent: notifications are not limited. */
  notificationLimit?: NotificationLimit | undefined;
  /** Returns the IP address that a request comes from. */
  addressOf(request: IncomingMessage): string;
}) {
  type Asked = Pick<Context, 'req' | 'res'>;

  /**
   * Authenticates a request, checks its scope and charges its rate limit. The response carries the limit's headers in
   * any case. An app gets `not_found` and `forbidden` before it is charged.
   * @param named resolves the user that an app names; called once the app's secret is verified
   * @throws `unauthorized`, `rate_limited`, or `forbidden` with the missing scope
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
    if (access.role) requireOperator(principal.user);
    return principal;
  }

  /**
   * Authenticates a request that takes any key or token, whatever its scopes; charged as a read.
   * @param resource also accepts access tokens issued for this resource (RFC 8707)
   */
  async function admitAny(context: Asked, resource: string | undefined): Promise<Principal> {
    const principal = await counted(
      context,
      credentials.authenticate(context.req.headers.authorization, undefined, resource),
    );
    await charge(context, principal, 'read');
    return principal;
  }

  /** Charges further work of an authenticated request: `rate_limited` where there was too much. */
  async function charge(context: Asked, { user, keyId: subject = user.id }: Principal, policy: Policy) {
    await take(context, { userId: user.id, subject }, policy);
  }

  /**
   * Authenticates an app. Every refusal counts against the address, so that users cannot be probed for one by one.
   */
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

  /** Charges a request without a credential to its address: `rate_limited` where there were too many. */
  function admitStranger(context: Asked): void {
    const standing = rateLimits?.attempted(addressOf(context.req));
    if (!standing?.refusal) return;
    setHeaders(context.res, standing.headers);
    throw standing.refusal;
  }

  /** Resolves the owner of a secret link. The request is charged to its address first, then to the account. */
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

  /**
   * Counts a failed authentication. Returns the `rate_limited` error to send instead where too many failed, else
   * null.
   */
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

/** Rate-limit subject for calendar feeds, which are read by their secret link. */
const CALENDAR = 'calendar link';

const NO_SCOPES: ReadonlySet<Scope> = new Set();

const isWrongCredential = ({ code }: AppError) => code === 'unauthorized';
const isRefusal = ({ status }: AppError) => status < 500;
