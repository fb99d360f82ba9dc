import type { Packet } from './messages.ts';
import { type Ciphers, createInitiator } from './noise.ts';
import { ProxyError } from './proxy-error.ts';

/** Encodes packets for a connection, and decodes them. */
export interface Framing {
  /** Bytes to send first. */
  readonly greeting: Buffer;
  /** Whether packets can be sent; false during the handshake. */
  readonly isOpen: boolean;
  frame(packet: Packet): Buffer;
  /** Decodes received bytes. @throws ProxyError if the connection has to be closed */
  receive(chunk: Buffer): Packet[];
}

/** First byte of every frame. */
const MARK = { plain: 0x00, sealed: 0x01 } as const;
/** Maximum frame size; messages of proxies are much smaller. */
const MAX_FRAME_BYTES = 65_535;
const MAX_VARINT_BYTES = 3;
const SEALED_HEADER_BYTES = 3;
const TYPE_BYTES = 4;
/** Number of the encryption protocol, the only one that ESPHome defines. */
const NOISE_NNPSK0 = 1;
const MAC_FAILURE = 'Handshake MAC failure';

const WANTS_KEY =
  'it accepts encrypted connections only; set its key (api: encryption: key: in its YAML) in bridge.esphome';
const WANTS_NO_KEY =
  'it accepts no encrypted connections; set api: encryption: in its YAML, or remove its key from bridge.esphome';
const WRONG_KEY = 'the key in bridge.esphome is not that of the board (api: encryption: key: in its YAML)';

/** Creates the unencrypted framing: zero, length and type as varints, message. */
export function createPlainFraming(): Framing {
  let waiting: Buffer = Buffer.of();

  function next(): Packet | null {
    if (waiting.length === 0) return null;
    if (waiting[0] === MARK.sealed) throw new ProxyError('unauthorized', WANTS_KEY);
    if (waiting[0] !== MARK.plain) throw malformed('a frame that begins with an unknown byte');
    const length = varintAt(waiting, 1);
    const type = length && varintAt(waiting, length.end);
    if (!length || !type) return null;
    if (length.value > MAX_FRAME_BYTES) throw malformed(`a frame of ${length.value} bytes`);
    const end = type.end + length.value;
    if (waiting.length < end) return null;
    const body = waiting.subarray(type.end, end);
    waiting = waiting.subarray(end);
    return { type: type.value, body };
  }

  return {
    greeting: Buffer.of(),
    isOpen: true,
    frame: ({ type, body }) =>
      Buffer.concat([Buffer.of(MARK.plain), varint(body.length), varint(type), body]),
    receive(chunk) {
      waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      return all(next);
    },
  };
}

/**
 * Creates the encrypted framing: one, length in two bytes, and encrypted: type and length in two bytes each, message.
 * The first frames are a greeting and the handshake.
 */
export function createSealedFraming(key: Uint8Array): Framing {
  const initiator = createInitiator(key);
  let waiting: Buffer = Buffer.of();
  let stage: 'greeting' | 'handshake' | 'open' = 'greeting';
  let ciphers: Ciphers | null = null;

  function nextFrame(): Buffer | null {
    if (waiting.length === 0) return null;
    if (waiting[0] === MARK.plain && stage !== 'open') throw new ProxyError('unauthorized', WANTS_NO_KEY);
    if (waiting[0] !== MARK.sealed) throw malformed('a frame that begins with an unknown byte');
    if (waiting.length < SEALED_HEADER_BYTES) return null;
    const end = SEALED_HEADER_BYTES + waiting.readUInt16BE(1);
    if (waiting.length < end) return null;
    const frame = waiting.subarray(SEALED_HEADER_BYTES, end);
    waiting = waiting.subarray(end);
    return frame;
  }

  function shakeHands(frame: Buffer): void {
    if (frame[0] !== 0) throw refused(frame.subarray(1).toString('latin1'));
    try {
      ciphers = initiator.finish(frame.subarray(1));
    } catch {
      throw new ProxyError('unauthorized', WRONG_KEY);
    }
    stage = 'open';
  }

  function next(): Packet | null {
    for (let frame = nextFrame(); frame; frame = nextFrame()) {
      if (ciphers) return opened(ciphers, frame);
      if (stage === 'handshake') {
        shakeHands(frame);
        continue;
      }
      // The name of the board follows, which is not needed here.
      if (frame[0] !== NOISE_NNPSK0) throw malformed('an unknown protocol');
      stage = 'handshake';
    }
    return null;
  }

  return {
    greeting: Buffer.concat([sealedFrame(Buffer.of()), sealedFrame(Buffer.of(0), initiator.first)]),
    get isOpen() {
      return stage === 'open';
    },
    frame({ type, body }) {
      if (!ciphers) throw new Error('the handshake is not finished');
      const header = Buffer.alloc(TYPE_BYTES);
      header.writeUInt16BE(type);
      header.writeUInt16BE(body.length, 2);
      return sealedFrame(ciphers.send.seal(Buffer.concat([header, body])));
    },
    receive(chunk) {
      waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      return all(next);
    },
  };
}

/** Decrypts a frame. @throws ProxyError if it was not encrypted for this connection */
function opened({ receive }: Ciphers, frame: Buffer): Packet {
  try {
    const plain = receive.open(frame);
    return { type: plain.readUInt16BE(0), body: plain.subarray(TYPE_BYTES) };
  } catch {
    throw malformed('a frame that cannot be decrypted');
  }
}

function refused(reason: string): ProxyError {
  if (reason === MAC_FAILURE) return new ProxyError('unauthorized', WRONG_KEY);
  const shown = reason.slice(0, 100).replaceAll(/[^ -~]/g, '?');
  return new ProxyError('unauthorized', `it refuses the encrypted connection: ${shown}`);
}

function malformed(what: string): ProxyError {
  return new ProxyError('off', `it has sent ${what}`);
}

function all(next: () => Packet | null): Packet[] {
  const packets: Packet[] = [];
  for (let packet = next(); packet; packet = next()) packets.push(packet);
  return packets;
}

function sealedFrame(...parts: Uint8Array[]): Buffer {
  const header = Buffer.of(MARK.sealed, 0, 0);
  header.writeUInt16BE(
    parts.reduce((sum, { length }) => sum + length, 0),
    1,
  );
  return Buffer.concat([header, ...parts]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.of(...bytes, rest);
}

/** Decodes a varint. Null: incomplete. @throws ProxyError if it is too long */
function varintAt(bytes: Buffer, at: number): { value: number; end: number } | null {
  let value = 0;
  for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
    const byte = bytes[at + index];
    if (byte === undefined) return null;
    value |= (byte & 0x7f) << (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  throw malformed('a frame with an invalid length');
}
