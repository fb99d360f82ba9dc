import type { Context } from 'koa';
import { type Credentials, type Principal, requireScope } from '../domain/credentials.ts';
import { AppError } from '../errors.ts';
import type { Scope } from '../model.ts';
import type { Policy, RateLimits, Standing } from './rate-limit.ts';

/** Who may call an operation; the OpenAPI document says the same. */
export type Access =
  /** A key with this scope, or the owner's ID token, which may do everything. */
  | { scope: Scope; credential?: never }
  /** This kind of credential alone, whatever its scopes. */
  | { credential: 'idToken' | 'apiKey'; scope?: never };

const KINDS = { idToken: ['token'], apiKey: ['key'] } as const;

type Asked = Pick<Context, 'req' | 'set'>;

interface Gate {
  credentials: Pick<Credentials, 'authenticate'>;
  /** Absent: nothing is limited. */
  rateLimits?: Pick<RateLimits, 'take' | 'failed'> | undefined;
}

/**
 * Who sends a request, once it is sure that they may: `unauthorized`, `rate_limited`, or `forbidden` with the missing
 * scope. The answer tells how many more may come, whatever becomes of this one.
 */
export function createGate({ credentials, rateLimits }: Gate) {
  function tell(context: Asked, { headers, refusal }: Standing): void {
    context.set(headers);
    if (refusal) throw refusal;
  }

  async function authenticate(context: Asked, { credential }: Access): Promise<Principal> {
    try {
      const kinds = credential && KINDS[credential];
      return await credentials.authenticate(context.req.headers.authorization, kinds);
    } catch (error) {
      const isWrong = error instanceof AppError && error.code === 'unauthorized';
      if (isWrong && rateLimits) tell(context, rateLimits.failed(context.req.socket.remoteAddress ?? ''));
      throw error;
    }
  }

  return async (context: Asked, access: Access, policy: Policy): Promise<Principal> => {
    const principal = await authenticate(context, access);
    const { user, keyId: subject = user.id } = principal;
    if (rateLimits) tell(context, await rateLimits.take({ userId: user.id, subject }, policy));
    if (access.scope) requireScope(principal, access.scope);
    return principal;
  };
}
