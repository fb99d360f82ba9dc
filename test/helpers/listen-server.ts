import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { KEEP_ALIVE_BYTES, ListenQuery } from '../../core/listen/protocol.ts';

export interface HeldMessage {
  hex: string;
  /** Announced just before it. */
  gapMs: number;
}

/** One stream, as a server holds it over all its connections. */
export interface HeldStream {
  query: ListenQuery;
  messages: HeldMessage[];
}

export interface Connection {
  path: string;
  query: ListenQuery;
  authorization: string | undefined;
  socket: WebSocket;
  keepAlives: number;
  /** Binary messages that were held already. */
  repeated: number;
  closed: Promise<number>;
}

export interface ListenServer {
  /** `ws://127.0.0.1:port` */
  url: string;
  port: number;
  streams: Map<string, HeldStream>;
  connections: Connection[];
  /** Answers requests to connect with this HTTP status; null: connects them. */
  refuse: { status: number; retryAfter?: string } | null;
  /** Requests refused so far. */
  refusals: number;
  /** Connections that began behind what is held: a client that leaves out audio. */
  holes: number;
  /** Are messages confirmed as they come? */
  acks: boolean;
  /** Does it tell what it holds, right after connecting? */
  greets: boolean;
  /** Resolves as soon as `what` is true; looked at whenever something happens. */
  until(what: () => boolean): Promise<void>;
  /** Confirms to every open connection what is held. */
  confirm(): void;
  /** Ends at once, as a killed process would; what it held is kept for a next one by `held`. */
  kill(): Promise<void>;
}

/**
 * A server that speaks the protocol of /v4/listen as far as audio goes, over a real WebSocket: streams that go on over
 * connections, `received`, `ack`, gaps that belong to the message behind them.
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
    until(what) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (!what()) return;
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
      if (!isBinary) gapMs += JSON.parse(bytes.toString()).ms;
      else if (bytes.length <= KEEP_ALIVE_BYTES) connection.keepAlives += 1;
      else take(bytes);
      happened();
    });
    happened();

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
