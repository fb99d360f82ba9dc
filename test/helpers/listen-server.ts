import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { KEEP_ALIVE_BYTES, ListenQuery } from '../../core/listen/protocol.ts';

export interface HeldMessage {
  hex: string;
  /** Gap announced just before the message. */
  gapMs: number;
}

interface ImagePiece {
  id: string;
  index: number;
  total: number;
  data: string;
  taken_at?: string;
}

/** A stream as the server holds it across connections. */
export interface HeldStream {
  query: ListenQuery;
  messages: HeldMessage[];
}

export interface HeldPhoto {
  id: string;
  jpeg: Buffer;
  takenAt: string | undefined;
  query: ListenQuery;
  /** Audio messages of the stream before this one. */
  behind: number;
}

export interface Connection {
  path: string;
  query: ListenQuery;
  authorization: string | undefined;
  socket: WebSocket;
  keepAlives: number;
  /** Binary messages received more than once. */
  repeated: number;
  closed: Promise<number>;
}

export interface ListenServer {
  /** `ws://127.0.0.1:port` */
  url: string;
  port: number;
  streams: Map<string, HeldStream>;
  connections: Connection[];
  /** HTTP status that refuses connections; null: accepts them. */
  refuse: { status: number; retryAfter?: string } | null;
  /** Requests refused so far. */
  refusals: number;
  /** Connections that start beyond the held audio: their clients skipped some. */
  holes: number;
  /** Whether messages are confirmed as they arrive. */
  acks: boolean;
  /** Whether a new connection is told at once how much is held. */
  greets: boolean;
  /** Complete photos, in the order received. */
  photos: HeldPhoto[];
  /** Answer to a photo; null: none. */
  answerPhoto: (id: string) => object | null;
  /** Resolves once the condition is true; it is checked at every event. */
  until(condition: () => boolean): Promise<void>;
  /** Tells every open connection how much is held. */
  confirm(): void;
  /** Ends at once, like a killed process. The option `held` passes its streams on to the next server. */
  kill(): Promise<void>;
}

/**
 * A server with the audio part of the protocol of /v4/listen, over a real WebSocket: streams that continue over connections,
 * `received`, `ack`, gaps that belong to the message after them.
 */
export async function startListenServer(
  options: { port?: number; held?: ListenServer['streams'] } = {},
): Promise<ListenServer> {
  const http = createServer();
  const upgrades = new WebSocketServer({ noServer: true });
  const watchers = new Set<() => void>();
  const server: ListenServer = {
    url: '',
    port: 0,
    streams: options.held ?? new Map(),
    connections: [],
    refuse: null,
    refusals: 0,
    holes: 0,
    acks: true,
    greets: true,
    photos: [],
    answerPhoto: id => ({ type: 'photo_processing', temp_id: id, photo_id: `stored ${id}` }),
    until(condition) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (!condition()) return;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
      return promise;
    },
    confirm() {
      for (const { query, socket } of server.connections) ack(query, socket);
    },
    async kill() {
      for (const socket of upgrades.clients) socket.terminate();
      http.closeAllConnections();
      await new Promise(resolve => http.close(resolve));
    },
  };
  const happened = () => {
    for (const look of [...watchers]) look();
  };

  http.on('upgrade', (request, socket, head) => {
    if (!server.refuse) return upgrades.handleUpgrade(request, socket, head, ws => accept(ws, request));
    const { status, retryAfter } = server.refuse;
    const extra = retryAfter ? `Retry-After: ${retryAfter}\r\n` : '';
    socket.end(`HTTP/1.1 ${status} Refused\r\n${extra}Content-Length: 0\r\nConnection: close\r\n\r\n`);
    server.refusals += 1;
    happened();
  });

  function ack({ stream }: ListenQuery, socket: WebSocket): void {
    const messages = server.streams.get(stream ?? '')?.messages.length ?? 0;
    socket.send(JSON.stringify({ type: 'ack', messages, samples: messages * 320 }));
  }

  function accept(socket: WebSocket, request: IncomingMessage): void {
    const url = new URL(request.url ?? '', 'ws://host');
    const query = ListenQuery.parse(Object.fromEntries(url.searchParams));
    const held = server.streams.get(query.stream ?? '') ?? { query, messages: [] };
    server.streams.set(query.stream ?? '', held);
    const { promise: closed, resolve } = Promise.withResolvers<number>();
    const connection: Connection = {
      path: url.pathname,
      query,
      authorization: request.headers.authorization,
      socket,
      keepAlives: 0,
      repeated: 0,
      closed,
    };
    server.connections.push(connection);
    let next = query.from ?? held.messages.length;
    let gapMs = 0;
    let pieces: string[] = [];
    if (next > held.messages.length) server.holes += 1;
    if (server.greets)
      socket.send(
        JSON.stringify({
          type: 'conversation_session',
          conversation_id: 'c1',
          status: 'in_progress',
          received: held.messages.length,
        }),
      );
    socket.on('error', () => {});
    socket.on('close', code => {
      resolve(code);
      happened();
    });
    socket.on('message', (data: RawData, isBinary: boolean) => {
      const bytes = data as Buffer;
      if (!isBinary) takeText(JSON.parse(bytes.toString()));
      else if (bytes.length <= KEEP_ALIVE_BYTES) connection.keepAlives += 1;
      else take(bytes);
      happened();
    });
    happened();

    function takeText(message: { type: string; ms: number } & ImagePiece): void {
      if (message.type === 'gap') gapMs += message.ms;
      if (message.type !== 'image_chunk') return;
      const { id, index, total, data, taken_at: takenAt } = message;
      pieces = index === 0 ? [data] : [...pieces, data];
      if (index < total - 1) return;
      const jpeg = Buffer.concat(pieces.map(piece => Buffer.from(piece, 'base64')));
      server.photos.push({ id, jpeg, takenAt, query, behind: held.messages.length });
      const answer = server.answerPhoto(id);
      if (answer) socket.send(JSON.stringify(answer));
    }

    function take(bytes: Buffer): void {
      if (next < held.messages.length) connection.repeated += 1;
      else held.messages.push({ hex: bytes.toString('hex'), gapMs });
      next += 1;
      gapMs = 0;
      if (server.acks && query.ack === 'enabled') ack(query, socket);
    }
  }

  await new Promise<void>(resolve => http.listen(options.port ?? 0, '127.0.0.1', resolve));
  server.port = (http.address() as AddressInfo).port;
  server.url = `ws://127.0.0.1:${server.port}`;
  return server;
}
