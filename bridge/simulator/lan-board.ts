import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { WebSocket } from 'ws';
import {
  encodeBegin,
  encodeHello,
  type Introduction,
  NONCE_BYTES,
  open,
  seal,
  sessionKey,
  TYPE,
} from '../radios/lan/messages.ts';

/** Simulated board on the local network, which does what a sketch on a microcontroller would. */
export interface LanBoard {
  /** Resolves when the bridge has accepted the board and proved that it knows the token. Rejects if it refuses. */
  readonly welcomed: Promise<void>;
  /** Resolves when the bridge has ended the connection; never over UDP. */
  readonly closed: Promise<void>;
  /** Number of answers to `alive`. */
  readonly answers: number;
  audio(frame: Uint8Array): void;
  battery(percent: number): void;
  button(code: number): void;
  alive(): void;
  /** Skips the numbers of frames, as a board does that could not send them. */
  skip(frames: number): void;
  /** Sends these bytes unencrypted. */
  raw(message: Uint8Array): void;
  /** All messages sent so far. */
  readonly sent: readonly Buffer[];
  close(): void;
}

export type Way = 'tcp' | 'ws' | 'udp';

interface Wire {
  send(message: Uint8Array): void;
  close(): void;
  closed: Promise<unknown>;
}

export async function connectBoard({
  way,
  port,
  token,
  introduction,
}: {
  way: Way;
  port: number;
  token: string;
  introduction: Partial<Introduction>;
}): Promise<LanBoard> {
  const welcome = Promise.withResolvers<void>();
  welcome.promise.catch(() => {}); // not every caller awaits it
  const nonce = randomBytes(NONCE_BYTES);
  const numbers = new Map<number, number>();
  const sent: Buffer[] = [];
  let key: Buffer = Buffer.alloc(32);
  let answers = 0;

  function onMessage(message: Buffer): void {
    if (message[0] === TYPE.challenge) {
      const nonces = { board: nonce, bridge: message.subarray(1) };
      key = sessionKey(token, nonces);
      write(encodeHello(token, nonces, { protocol: 1, ...introduction }));
    } else if (message[0] === TYPE.refused) welcome.reject(new Error(message.subarray(1).toString()));
    else if (open(key, message)?.type === TYPE.welcome) welcome.resolve();
    else if (open(key, message)?.type === TYPE.heard) answers += 1;
  }

  const wire = await WAYS[way](port, onMessage);
  void wire.closed.then(() => welcome.reject(new Error('the connection was closed')));

  function write(message: Buffer): void {
    sent.push(message);
    wire.send(message);
  }

  function sealed(type: number, body?: Uint8Array): void {
    const number = numbers.get(type) ?? 0;
    numbers.set(type, number + 1);
    write(seal(key, type, number, body));
  }

  write(encodeBegin(nonce));
  return {
    welcomed: welcome.promise,
    closed: wire.closed.then(() => {}),
    get answers() {
      return answers;
    },
    audio: frame => sealed(TYPE.audio, frame),
    battery: percent => sealed(TYPE.battery, Uint8Array.of(percent)),
    button: code => sealed(TYPE.button, Uint8Array.of(code)),
    alive: () => sealed(TYPE.alive),
    skip: frames => numbers.set(TYPE.audio, (numbers.get(TYPE.audio) ?? 0) + frames),
    raw: message => wire.send(message),
    sent,
    close: wire.close,
  };
}

const WAYS: Record<Way, (port: number, onMessage: (message: Buffer) => void) => Promise<Wire>> = {
  async tcp(port, onMessage) {
    const socket = connect(port, '127.0.0.1');
    const closed = new Promise(resolve => socket.once('close', resolve));
    let held = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', chunk => {
      held = Buffer.concat([held, chunk]);
      while (held.length >= 2 && held.length >= 2 + held.readUInt16LE()) {
        const end = 2 + held.readUInt16LE();
        onMessage(held.subarray(2, end));
        held = held.subarray(end);
      }
    });
    await once(socket, 'connect');
    return {
      send(message) {
        const length = Buffer.alloc(2);
        length.writeUInt16LE(message.length);
        socket.write(Buffer.concat([length, message]));
      },
      close: () => socket.destroy(),
      closed,
    };
  },
  async ws(port, onMessage) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
    const closed = new Promise(resolve => socket.once('close', resolve));
    socket.on('message', data => onMessage(data as Buffer));
    socket.on('error', () => {});
    await once(socket, 'open');
    return { send: message => socket.send(message), close: () => socket.terminate(), closed };
  },
  async udp(port, onMessage) {
    const socket = createSocket('udp4');
    socket.on('message', onMessage);
    socket.connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return {
      send: message => socket.send(message),
      close: () => socket.close(),
      closed: new Promise(() => {}),
    };
  },
};
