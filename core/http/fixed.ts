import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';

/**
 * Content that stays as it is while the server runs: read at the first request, and not sent again to who has it.
 * @param headers beside or instead of those that every answer has
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
    if (context.fresh) context.status = 304; // which takes the body away
  };
}
