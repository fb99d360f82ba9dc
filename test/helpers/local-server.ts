import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
/** A self-signed certificate. */
export const untrusted = { key: pem('key.pem'), cert: pem('certificate.pem') };

/** An HTTP server on a real socket of this machine. When `answer` rejects, the connection is cut. */
export async function startLocalServer(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  { tls = false, port: wanted = 0 }: { tls?: boolean; port?: number } = {},
): Promise<{ url: string; close(): Promise<void> }> {
  const listener: RequestListener = (request, response) => {
    answer(request, response).catch(error => response.destroy(error));
  };
  const http = tls ? createTlsServer(untrusted, listener) : createServer(listener);
  http.keepAliveTimeout = 0; // for ever: on a busy machine the plugin may be late with its next request
  http.listen(wanted, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}
