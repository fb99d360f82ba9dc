import type { Middleware } from 'koa';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
const ASKED_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-None-Match, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id';
const TOLD_HEADERS =
  'ETag, Retry-After, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';
/** A day; browsers use a lower maximum. */
const KNOWN_S = 86_400;

/**
 * Lets scripts of these pages read responses, including failures. Access is still decided by the credential that a
 * page must send itself; no cookie authenticates it.
 * @param origins as browsers send them; `*`: all
 */
export function cors(origins: readonly string[]): Middleware {
  const isOpen = origins.includes('*');
  const known: ReadonlySet<string> = new Set(origins);

  return async (context, next) => {
    const origin = context.get('Origin');
    if (!isOpen) context.vary('Origin');
    if (origin === '' || !(isOpen || known.has(origin))) return next();
    context.set({
      'Access-Control-Allow-Origin': isOpen ? '*' : origin,
      'Access-Control-Expose-Headers': TOLD_HEADERS,
    });
    if (context.method !== 'OPTIONS' || context.get('Access-Control-Request-Method') === '') return next();
    context.set({
      'Access-Control-Allow-Methods': METHODS,
      'Access-Control-Allow-Headers': ASKED_HEADERS,
      'Access-Control-Max-Age': String(KNOWN_S),
    });
    context.status = 204;
  };
}
