/** Target of deliveries: `/at-once` answers at once, `/never` never answers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReceiverSaid = { event: 'listening'; port: number };

const server = createServer({ keepAlive: true }, (request, response) => {
  request.resume();
  if (request.url?.startsWith('/never')) return;
  request.once('end', () => response.end('ok'));
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const { port } = server.address() as AddressInfo;
process.send?.({ event: 'listening', port } satisfies ReceiverSaid);
