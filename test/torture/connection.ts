import WebSocket from 'ws';
import type { Message } from './script.ts';

export interface Counts {
  /** Messages sent, repetitions included. */
  messages: number;
  acks: number;
  connections: number;
}

interface ConnectionOptions {
  url: URL;
  key: string;
  /** Time without any sign of life after which the connection is given up. */
  patienceMs: number;
  counts: Counts;
  /** Called with the number of messages that the server holds. */
  onHeld(messages: number): void;
  /** Called when it is time to record and to send. */
  onTick(): void;
}

export interface Connection {
  /** Whether more may be sent now. */
  readonly hasRoom: boolean;
  send(message: Message): void;
  close(): void;
  /** Cuts the connection at once, without telling the server. */
  cut(): void;
  closed: Promise<void>;
}

const TICK_MS = 20;
const MAX_UNSENT_BYTES = 256 * 1024;

/** Opens one connection of a device. */
export function connect({ url, key, patienceMs, counts, onHeld, onTick }: ConnectionOptions): Connection {
  const socket = new WebSocket(url, {
    headers: { Authorization: `Bearer ${key}` },
    perMessageDeflate: false,
  });
  let aliveAt = performance.now();
  for (const sign of ['open', 'pong', 'message'])
    socket.on(sign, () => {
      aliveAt = performance.now();
    });
  socket.on('error', () => {});
  socket.on('open', () => {
    counts.connections += 1;
  });
  socket.on('message', data => {
    const event: { type?: string; messages?: number; received?: number } = JSON.parse(String(data));
    if (event.type === 'ack') {
      counts.acks += 1;
      onHeld(event.messages ?? 0);
    }
    if (event.type === 'conversation_session') onHeld(event.received ?? 0);
  });
  let ticks = 0;
  const timer = setInterval(() => {
    if (performance.now() - aliveAt > patienceMs) return socket.terminate();
    if (socket.readyState === socket.OPEN && ++ticks % 25 === 0) socket.ping();
    onTick();
  }, TICK_MS);
  const closed = new Promise<void>(resolve => socket.on('close', () => resolve()));
  return {
    get hasRoom() {
      return socket.readyState === socket.OPEN && socket.bufferedAmount < MAX_UNSENT_BYTES;
    },
    send({ finish, gapMs, bytes }) {
      if (finish) socket.send('{"type":"finish_conversation"}');
      if (gapMs > 0) socket.send(JSON.stringify({ type: 'gap', ms: gapMs }));
      socket.send(bytes);
      counts.messages += 1;
    },
    close: () => socket.close(),
    cut: () => socket.terminate(),
    closed: closed.finally(() => clearInterval(timer)),
  };
}
