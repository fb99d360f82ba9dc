import { request } from 'node:http';
import type { ExecutionContext } from 'ava';
import { startLocalServer } from './local-server.ts';

/** A reverse proxy that behaves like an unconfigured nginx: it does not pass on `Upgrade` and `Connection`. */
export async function startPlainProxy(t: ExecutionContext, target: string): Promise<string> {
  const proxy = await startLocalServer(async (incoming, response) => {
    const { upgrade: _, connection: __, ...headers } = incoming.headers;
    const onward = request(new URL(incoming.url ?? '/', target), { method: incoming.method, headers });
    onward.on('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });
  t.teardown(() => proxy.close());
  return proxy.url;
}
