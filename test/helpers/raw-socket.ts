/** Writes WebSocket frames (RFC 6455) byte by byte, including invalid ones that no library would send. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

export interface Frame {
  fin?: boolean;
  /** Reserved bits, 0 to 7. */
  reserved?: number;
  opcode: number;
  payload?: Uint8Array | string;
  masked?: boolean;
  /** Length in the header, if it is wrong. */
  length?: bigint;
}

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export function encodeFrame(frame: Frame): Buffer {
  const { fin = true, reserved = 0, opcode, payload = '', masked = true } = frame;
  const body = Buffer.from(payload as string);
  const length = frame.length ?? BigInt(body.length);
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const short = length < 126n ? Number(length) : length < 65_536n ? 126 : 127;
  const extended = Buffer.alloc(short < 126 ? 0 : short === 126 ? 2 : 8);
  if (short === 126) extended.writeUInt16BE(Number(length));
  if (short === 127) extended.writeBigUInt64BE(length);
  const head = Buffer.concat([Buffer.from([first, (masked ? 0x80 : 0) | short]), extended]);
  if (!masked) return Buffer.concat([head, body]);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, body.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}

/** Returns the payload of a close frame. */
export function closing(code: number, reason: Uint8Array | string = ''): Buffer {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(code);
  return Buffer.concat([head, Buffer.from(reason as string)]);
}

export interface RawSocket {
  socket: Socket;
  /** Returns everything received so far, as text. */
  received(): string;
  /** Resolves when the server has closed its side of the connection, or all of it. */
  ended: Promise<void>;
  /** Returns the code of the server's close frame; null: it sent none. */
  closeCode(): number | null;
}

/** Opens a TCP connection and sends these bytes. It stays open for writing when the server closes its side. */
export async function openRaw(url: string, bytes: Uint8Array | string): Promise<RawSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on('data', chunk => chunks.push(chunk));
  socket.on('error', () => {}); // a reset ends the connection as well
  const ended = new Promise<void>(resolve => {
    socket.on('end', resolve);
    socket.on('close', () => resolve());
  });
  await new Promise(resolve => socket.once('connect', resolve));
  socket.write(bytes);
  return {
    socket,
    received: () => Buffer.concat(chunks).toString('latin1'),
    ended,
    closeCode: () => closeCodeIn(Buffer.concat(chunks)),
  };
}

/** Opens a connection and completes the WebSocket handshake. */
export async function openRawListen(url: string, key: string, query: string): Promise<RawSocket> {
  const raw = await openRaw(url, upgradeRequest(key, query));
  while (!raw.received().includes('\r\n\r\n')) await new Promise(resolve => setTimeout(resolve, 5));
  if (!raw.received().startsWith('HTTP/1.1 101 ')) throw new Error(raw.received());
  return raw;
}

export function upgradeRequest(
  key: string,
  query: string,
  headers: Record<string, string> = {},
  path = '/v4/listen',
): string {
  const all = {
    Host: 'localhost',
    Authorization: `Bearer ${key}`,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path}?${query} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

function closeCodeIn(bytes: Buffer): number | null {
  let at = bytes.indexOf('\r\n\r\n') + 4;
  while (at + 2 <= bytes.length) {
    const opcode = (bytes[at] ?? 0) & 0x0f;
    const short = (bytes[at + 1] ?? 0) & 0x7f;
    const from = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
    const length =
      short < 126 ? short : bytes.readUIntBE(from - (short === 126 ? 2 : 6), short === 126 ? 2 : 6);
    if (opcode === OPCODE.close) return length < 2 ? 1005 : bytes.readUInt16BE(from);
    at = from + length;
  }
  return null;
}
