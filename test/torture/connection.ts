import WebSocket from 'ws';
import type { Message } from './script.ts';

export interface Counts {
  /** Sent, those that were sent again included. */
  messages: number;
  acks: number;
  connections: number;
}

interface ConnectionOptions {
  url: URL;
  key: string;
  /** Without any sign of life for so long it is given up. */
  patienceMs: number;
  counts: Counts;
  /** The server holds the messages below this one. */
  onHeld(messages: number): void;
  /** Time to record, and to send. */
  onTick(): void;
}

export interface Connection {
  /** Whether it may be given more. */
  readonly hasRoom: boolean;
  send(message: Message): void;
  close(): void;
  /** At once, and nobody is told. */
  cut(): void;
  closed: Promise<void>;
}

const TICK_MS = 20;
const MAX_UNSENT_BYTES = 256 * 1024;

/** One connection of a device. */
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
