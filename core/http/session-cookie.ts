import type { Context } from 'koa';
import { AppError } from '../runtime/errors.ts';
import type { SessionCookie } from './route.ts';

/** Browsers send the cookie only with requests below this path. */
export const SESSION_PATH = '/v1/auth/session';
const NAME = 'earshot_session';

/**
 * The cookie of a browser's session. It is only used to get a new token, which is in the response body: another page that
 * makes the browser send the cookie can neither read that response nor change anything. `SameSite=Strict` keeps other sites
 * from sending it. Pages on other ports of this host count as the same site, and are refused by the origin that browsers
 * report. Without TLS it cannot be `Secure`: then anybody on the network can read it, like the password.
 */
export function sessionCookie(context: Pick<Context, 'req' | 'res' | 'get'>): SessionCookie {
  const isSecure =
    'encrypted' in context.req.socket || context.get('X-Forwarded-Proto').toLowerCase().startsWith('https');

  function write(value: string, seconds: number): void {
    requireOwnPage();
    const attributes = `Path=${SESSION_PATH}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`;
    context.res.setHeader('Set-Cookie', `${NAME}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`);
  }

  /** Programs that are not browsers send no such header, and have no cookie that could be abused. */
  function requireOwnPage(): void {
    const site = context.get('Sec-Fetch-Site');
    if (site === '' || site === 'same-origin' || site === 'none') return;
    throw new AppError('unauthorized', 'Sessions are for pages of this server');
  }

  return {
    token() {
      requireOwnPage();
      const pairs = context.get('Cookie').split('; ');
      return pairs.find(pair => pair.startsWith(`${NAME}=`))?.slice(NAME.length + 1) || undefined;
    },
    keep: write,
    drop: () => write('', 0),
  };
}
