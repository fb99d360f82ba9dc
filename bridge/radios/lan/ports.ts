import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { encodeRefused, MAX_MESSAGE_BYTES, TYPE } from './messages.ts';
import type { Reception } from './reception.ts';
import { type BoardSession, nameOf, type Peer } from './session.ts';

/** Listeners for TCP, WebSocket and UDP on the same port number. */
export interface Ports {
  readonly port: number;
  close(): Promise<void>;
}

export interface PortLimits {
  /** Time limit for a connection to begin a session. */
  helloMs: number;
}

/** Connections without a session; beyond this number the oldest is closed. */
const MAX_STRANGERS = 32;
/** Sessions over UDP: one for each possible board. */
const MAX_SENDERS = 64;
const LENGTH_BYTES = 2;
/** First byte of an HTTP request, `G`. A connection with plain TCP begins with the length of a `begin` message, 17. */
const HTTP = 0x47;

/** @throws Error if the port is in use or not permitted */
export async function openPorts(
  { host, port }: { host: string; port: number },
  reception: Reception,
  { helloMs }: PortLimits,
): Promise<Ports> {
  /** Connections without a session, the oldest first. */
  const strangers = new Set<Socket>();
  const sockets = new Set<Socket>();
  let web: Promise<(socket: Socket) => void> | null = null;

  /** Takes the messages of one connection. */
  function converse(socket: Socket, peer: Peer): (message: Buffer) => void {
    let session: BoardSession | null = null;
    socket.once('close', () => {
      session?.end('the board closed the connection');
    });
    return message => {
      if (session) return session.receive(message);
      session = reception.greet(peer, message);
      if (session) known(socket);
    };
  }

  function known(socket: Socket): void {
    strangers.delete(socket);
    socket.setTimeout(0);
  }

  function onConnection(socket: Socket): void {
    sockets.add(socket);
    strangers.add(socket);
    socket.setNoDelay(true);
    socket.setTimeout(helloMs, () => {
      if (strangers.has(socket)) socket.destroy();
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      sockets.delete(socket);
      strangers.delete(socket);
    });
    if (strangers.size > MAX_STRANGERS) [...strangers][0]?.destroy();
    socket.once('data', first => {
      socket.pause();
      socket.unshift(first);
      if (first[0] === HTTP) return void serveWeb(socket).catch(() => socket.destroy());
      readFramed(socket);
      socket.resume();
    });
  }

  async function serveWeb(socket: Socket): Promise<void> {
    web ??= import('./web.ts').then(({ createWeb }) => createWeb(converse));
    (await web)(socket);
    socket.resume();
  }

  function readFramed(socket: Socket): void {
    const peer: Peer = {
      name: nameOf('tcp', socket),
      send(message) {
        const length = Buffer.alloc(LENGTH_BYTES);
        length.writeUInt16LE(message.length);
        socket.write(Buffer.concat([length, message]));
      },
      end: () => socket.end(),
    };
    const receive = converse(socket, peer);
    let held = Buffer.alloc(0);
    socket.on('data', chunk => {
      held = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
      while (held.length >= LENGTH_BYTES && !socket.destroyed) {
        const length = held.readUInt16LE();
        if (length === 0 || length > MAX_MESSAGE_BYTES) {
          peer.send(encodeRefused(`a message has 1 to ${MAX_MESSAGE_BYTES} bytes, not ${length}`));
          return void socket.destroySoon();
        }
        if (held.length < LENGTH_BYTES + length) return;
        receive(held.subarray(LENGTH_BYTES, LENGTH_BYTES + length));
        held = held.subarray(LENGTH_BYTES + length);
      }
    });
  }

  const tcp = createServer(onConnection);
  tcp.listen(port, host);
  await once(tcp, 'listening');
  const bound = tcp.address();
  const taken = typeof bound === 'object' && bound ? bound.port : port;

  const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const senders = new Map<string, BoardSession>();
  udp.on('message', (message, { address, port: from }) => {
    const name = `udp ${address}:${from}`;
    const isGreeting = message[0] === TYPE.begin || message[0] === TYPE.hello;
    if (message.length > MAX_MESSAGE_BYTES) return;
    if (!isGreeting) return senders.get(name)?.receive(message);
    const peer: Peer = { name, send: answer => udp.send(answer, from, address, () => {}), end: () => {} };
    const session = reception.greet(peer, message);
    if (!session || senders.get(name) === session) return;
    senders.set(name, session);
    if (senders.size > MAX_SENDERS) senders.delete(senders.keys().next().value ?? '');
    void session.ended.then(() => {
      if (senders.get(name) === session) senders.delete(name);
    });
  });
  try {
    udp.bind(taken, host);
    await once(udp, 'listening');
  } catch (error) {
    tcp.close();
    throw error;
  }
  udp.on('error', () => {}); // a datagram that cannot be sent counts as lost on the network

  return {
    port: taken,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all([
        new Promise(resolve => tcp.close(resolve)),
        new Promise<void>(resolve => udp.close(resolve)),
      ]);
    },
  };
}
