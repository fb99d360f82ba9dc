import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { hear } from './known-speech.ts';

interface Event {
  type: string;
  data: Record<string, unknown>;
  payload: Buffer;
}

/** A connection, seen from the server. */
export interface Caller {
  socket: Socket;
  /** Received events in order, with only the first of consecutive audio-chunk events. */
  events: { type: string; data: Record<string, unknown> }[];
  pcm: Buffer[];
  closed: Promise<void>;
}

export interface WyomingServer {
  port: number;
  callers: Caller[];
  /** Answer to `describe`. */
  info: unknown;
  /** Handles an event; true suppresses the normal answer. */
  intercept: (event: Event, caller: Caller) => boolean;
  /** Resolves to the first connection, past or future, that has received such an event. */
  called(type: string): Promise<Caller>;
  /** Cuts the connection that carries audio, or the next one that does. */
  crash(): void;
  close(): Promise<void>;
}

const NEWLINE = 0x0a;

export function wyomingInfo(models: { name: string; languages: string[]; installed?: boolean }[]) {
  return {
    asr: [
      { name: 'known-speech', installed: true, models: models.map(model => ({ installed: true, ...model })) },
    ],
    tts: [],
  };
}

/** Encodes an event as the protocol's own library does. */
export function wyomingEvent(type: string, data?: unknown): Buffer {
  const body = Buffer.from(data === undefined ? '' : JSON.stringify(data));
  const header = { type, version: '1.8.0', ...(body.length > 0 ? { data_length: body.length } : {}) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

/**
 * A server that speaks the Wyoming protocol on a real TCP socket. It recognises SPEECH, and closes the connection after
 * its answer.
 */
export async function startWyomingServer(listenOn = 0): Promise<WyomingServer> {
  const waiting: { type: string; resolve: (caller: Caller) => void }[] = [];
  let crashing = false;
  const tcp = createServer(socket => {
    const caller: Caller = { socket, events: [], pcm: [], closed: closeOf(socket) };
    server.callers.push(caller);
    const read = createReader();
    socket.on('data', bytes => {
      for (const event of read(bytes)) receive(event, caller);
    });
    socket.on('error', () => undefined); // a client may hang up at any time
  });
  tcp.listen(listenOn, '127.0.0.1');
  await once(tcp, 'listening');

  const server: WyomingServer = {
    port: (tcp.address() as AddressInfo).port,
    callers: [],
    info: wyomingInfo([{ name: 'tiny', languages: ['en', 'de'] }]),
    intercept: () => false,
    called(type) {
      const caller = server.callers.find(({ events }) => events.some(event => event.type === type));
      return caller ? Promise.resolve(caller) : new Promise(resolve => waiting.push({ type, resolve }));
    },
    crash() {
      const busy = server.callers.find(({ socket, pcm }) => pcm.length > 0 && !socket.destroyed);
      if (busy) busy.socket.destroy();
      else crashing = true;
    },
    async close() {
      for (const { socket } of server.callers) socket.destroy();
      tcp.close();
      await once(tcp, 'close');
    },
  };
  return server;

  function receive(event: Event, caller: Caller): void {
    if (event.type === 'audio-chunk') caller.pcm.push(event.payload);
    if (event.type !== 'audio-chunk' || caller.pcm.length === 1) {
      caller.events.push({ type: event.type, data: event.data });
    }
    for (const { type, resolve } of waiting) if (type === event.type) resolve(caller);
    if (crashing && event.type === 'audio-chunk') {
      crashing = false;
      caller.socket.destroy();
    }
    if (!server.intercept(event, caller)) answer(event, caller);
  }

  function answer({ type }: Event, { socket, pcm }: Caller): void {
    if (type === 'describe') socket.write(wyomingEvent('info', server.info));
    if (type === 'audio-stop')
      socket.end(wyomingEvent('transcript', { text: ` ${hear(Buffer.concat(pcm)).text}` }));
  }
}

/** Resolves when the socket is closed, for any reason. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise(resolve => socket.once('close', () => resolve()));
}

/** Decodes bytes into events. */
function createReader() {
  let pending: Buffer = Buffer.alloc(0);

  return function* read(bytes: Buffer): Generator<Event> {
    pending = Buffer.concat([pending, bytes]);
    for (;;) {
      const end = pending.indexOf(NEWLINE);
      if (end < 0) return;
      const {
        type,
        data,
        data_length: dataLength = 0,
        payload_length: payloadLength = 0,
      } = JSON.parse(pending.toString('utf8', 0, end));
      const payloadAt = end + 1 + dataLength;
      if (pending.length < payloadAt + payloadLength) return;
      const further = dataLength > 0 ? JSON.parse(pending.toString('utf8', end + 1, payloadAt)) : {};
      const payload = pending.subarray(payloadAt, payloadAt + payloadLength);
      pending = pending.subarray(payloadAt + payloadLength);
      yield { type, data: { ...data, ...further }, payload };
    }
  };
}
