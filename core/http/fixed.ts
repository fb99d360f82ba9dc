import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';

/**
 * Serves content that does not change while the server runs: it is read at the first request, and confirmed with 304
 * to clients that have it.
 * @param headers in addition to the usual ones, or in their place
 */
export function fixed(
  type: string,
  read: () => string | Buffer | Promise<Buffer>,
  headers: Record<string, string> = {},
): Middleware {
  async function load() {
    const content = await read();
    const hash = createHash('sha256').update(content).digest('base64url');
    return { content, etag: `"${hash.slice(0, 22)}"` };
  }
  let loading: ReturnType<typeof load> | undefined;

  return async context => {
    loading ??= load();
    const { content, etag } = await loading;
    context.set({ 'Cache-Control': 'no-cache', ...headers });
    context.etag = etag;
    context.type = type;
    context.body = content;
    if (context.fresh) context.status = 304; // a 304 has no body
  };
}
