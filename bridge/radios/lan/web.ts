import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { MAX_MESSAGE_BYTES } from './messages.ts';
import { nameOf, type Peer } from './session.ts';

/** Takes the messages of one connection. */
type Converse = (socket: Socket, peer: Peer) => (message: Buffer) => void;

/**
 * Serves boards that speak WebSocket, on connections that are open already. A module of its own: what it needs is
 * loaded when the first of them comes.
 */
export function createWeb(converse: Converse): (socket: Socket) => void {
  const web = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  const http = createServer((_request, response) => response.writeHead(426).end());
  http.on('upgrade', (request, socket, head) => {
    web.handleUpgrade(request, socket, head, client => {
      const raw = socket as Socket;
      const peer: Peer = {
        name: nameOf('ws', raw),
        send: message => client.send(message),
        end: () => client.close(),
      };
      const receive = converse(raw, peer);
      client.on('message', data => receive(Buffer.isBuffer(data) ? data : Buffer.of()));
      client.on('error', () => client.terminate());
    });
  });
  return socket => void http.emit('connection', socket);
}
