import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { type Credentials, type Principal, requireScope } from '../domain/credentials.ts';
import { AppError } from '../errors.ts';
import type { Scope } from '../model.ts';
import { setHeaders } from './failure.ts';
import type { Policy, RateLimits } from './rate-limit.ts';

/** Who may call an operation; the OpenAPI document says the same. */
export type Access =
  /** A key with this scope, or the owner's ID token, which may do everything. */
  | { scope: Scope; credential?: never }
  /** This kind of credential alone, whatever its scopes. */
  | { credential: 'idToken' | 'apiKey'; scope?: never };

const KINDS = { idToken: ['token'], apiKey: ['key'] } as const;

export type Gate = ReturnType<typeof createGate>;

/** Where it is seen to that only those come in who may, and not too often. */
export function createGate({
  credentials,
  rateLimits,
  addressOf,
}: {
  credentials: Pick<Credentials, 'authenticate'>;
  /** Absent: nothing is limited. */
  rateLimits?: Pick<RateLimits, 'take' | 'failed'> | undefined;
  /** From which IP address a request comes. */
  addressOf(request: IncomingMessage): string;
}) {
  type Asked = Pick<Context, 'req' | 'res'>;

  /**
   * Who sends a request, once it is sure that they may: `unauthorized`, `rate_limited`, or `forbidden` with the missing
   * scope. The answer tells how many more may come, whatever becomes of this one.
   */
  async function admit(context: Asked, access: Access, policy: Policy): Promise<Principal> {
    const principal = await authenticate(context, access);
    const { user, keyId: subject = user.id } = principal;
    const standing = await rateLimits?.take({ userId: user.id, subject }, policy);
    if (standing) setHeaders(context.res, standing.headers);
    if (standing?.refusal) throw standing.refusal;
    if (access.scope) requireScope(principal, access.scope);
    return principal;
  }

  async function authenticate(context: Asked, { credential }: Access): Promise<Principal> {
    try {
      const kinds = credential && KINDS[credential];
      return await credentials.authenticate(context.req.headers.authorization, kinds);
    } catch (error) {
      throw countFailure(error, context.req, headers => setHeaders(context.res, headers)) ?? error;
    }
  }

  /** Counts what failed for its credential. What to answer instead where too many did: `rate_limited`; or null. */
  function countFailure(
    error: unknown,
    request: IncomingMessage,
    tell: (headers: Record<string, string>) => void = () => {},
  ): AppError | null {
    const isWrong = error instanceof AppError && error.code === 'unauthorized';
    const standing = isWrong && rateLimits?.failed(addressOf(request));
    if (!standing) return null;
    tell(standing.headers);
    return standing.refusal;
  }

  return { admit, countFailure };
}
