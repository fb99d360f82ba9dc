import type { Middleware } from 'koa';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
const ASKED_HEADERS =
  'Authorization, Content-Type, If-None-Match, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id';
const TOLD_HEADERS =
  'ETag, Retry-After, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset';
/** A day; browsers keep it for less. */
const KNOWN_S = 86_400;

/**
 * Lets scripts of these pages read what they are answered, failures too. What may be done is a matter of the credential,
 * which a page has to have: there are no cookies that would go along by themselves.
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
