import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on a real socket of this machine. A request that `answer` rejects loses its connection. */
export async function startLocalServer(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<{ url: string; close(): Promise<void> }> {
  const http = createServer((request, response) => {
    answer(request, response).catch(error => response.destroy(error));
  });
  http.keepAliveTimeout = 0; // for ever: on a busy machine the plugin may be late with its next request
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}
