import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

/**
 * The protocol of boards on the local network, version 1: docs/lan-boards.md. A message begins with its type; numbers
 * are little-endian. Messages of a session are encrypted: type, u32 number, ciphertext, tag.
 */

/** First byte of a message; messages of the bridge have types from 0x80 on. */
export const TYPE = {
  begin: 0x01,
  hello: 0x02,
  audio: 0x10,
  battery: 0x11,
  button: 0x12,
  alive: 0x13,
  challenge: 0x81,
  welcome: 0x82,
  refused: 0x83,
  heard: 0x93,
} as const;

/** Largest message. */
export const MAX_MESSAGE_BYTES = 2048;
export const NONCE_BYTES = 16;
const PROOF_BYTES = 32;
const HEADER_BYTES = 5;
const TAG_BYTES = 16;
/** Keeps the answer to an unknown sender no longer than its message, so that UDP cannot be used to amplify traffic. */
const MAX_REASON_BYTES = 64;

const CODECS = ['pcm16', 'pcm8', 'mulaw', 'ima-adpcm', 'opus', 'opus_fs320', 'aac', 'lc3_fs1030'] as const;

export const Introduction = z.object({
  protocol: z.literal(1),
  id: z.string().min(1).max(64),
  codec: z.enum(CODECS),
  sampleRate: z.number().int().min(8000).max(48_000),
  /** Duration of one frame. */
  frameMs: z.number().min(1).max(200),
  model: z.string().max(100).optional(),
  firmware: z.string().max(100).optional(),
});
/** Description of a board, sent by the board. */
export type Introduction = z.output<typeof Introduction>;

export interface Nonces {
  board: Buffer;
  bridge: Buffer;
}

export interface Hello {
  nonces: Nonces;
  proof: Buffer;
  json: Buffer;
}

export function encodeBegin(board: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(TYPE.begin), board]);
}

/** Null: it is none. */
export function decodeBegin(message: Buffer): Buffer | null {
  const fits = message[0] === TYPE.begin && message.length === 1 + NONCE_BYTES;
  return fits ? message.subarray(1) : null;
}

export function encodeChallenge(bridge: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(TYPE.challenge), bridge]);
}

export function encodeHello(token: string, nonces: Nonces, introduction: object): Buffer {
  const json = Buffer.from(JSON.stringify(introduction));
  const proof = proofOf(token, nonces, json);
  return Buffer.concat([Buffer.of(TYPE.hello), nonces.board, nonces.bridge, proof, json]);
}

/** Null: it is none. */
export function decodeHello(message: Buffer): Hello | null {
  const jsonAt = 1 + 2 * NONCE_BYTES + PROOF_BYTES;
  if (message[0] !== TYPE.hello || message.length <= jsonAt) return null;
  return {
    nonces: {
      board: message.subarray(1, 1 + NONCE_BYTES),
      bridge: message.subarray(1 + NONCE_BYTES, 1 + 2 * NONCE_BYTES),
    },
    proof: message.subarray(1 + 2 * NONCE_BYTES, jsonAt),
    json: message.subarray(jsonAt),
  };
}

/** Checks that the sender knows the token. */
export function isProven(token: string, { nonces, proof, json }: Hello): boolean {
  return timingSafeEqual(proof, proofOf(token, nonces, json));
}

export function encodeRefused(reason: string): Buffer {
  return Buffer.concat([Buffer.of(TYPE.refused), Buffer.from(reason).subarray(0, MAX_REASON_BYTES)]);
}

function proofOf(token: string, { board, bridge }: Nonces, json: Uint8Array): Buffer {
  return createHmac('sha256', token).update('hello').update(board).update(bridge).update(json).digest();
}

// ── within a session ────────────────────────────────────────────────────────────────────────────────────────────────

export function sessionKey(token: string, { board, bridge }: Nonces): Buffer {
  return createHmac('sha256', token).update('key').update(board).update(bridge).digest();
}

export interface Opened {
  type: number;
  /** Counts the messages of this type, from 0. */
  number: number;
  body: Buffer;
}

/** Encrypts with AES-256-GCM. A number must not be used twice with the same type and key. */
export function seal(key: Uint8Array, type: number, number: number, body: Uint8Array = Buffer.of()): Buffer {
  const header = headerOf(type, number);
  const cipher = createCipheriv('aes-256-gcm', key, ivOf(header)).setAAD(header);
  return Buffer.concat([header, cipher.update(body), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts a message. Null: it was not encrypted with this key, or was changed. */
export function open(key: Uint8Array, message: Buffer): Opened | null {
  const end = message.length - TAG_BYTES;
  if (end < HEADER_BYTES) return null;
  const header = message.subarray(0, HEADER_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, ivOf(header), { authTagLength: TAG_BYTES });
  decipher.setAAD(header).setAuthTag(message.subarray(end));
  try {
    const body = Buffer.concat([decipher.update(message.subarray(HEADER_BYTES, end)), decipher.final()]);
    return { type: header.readUInt8(0), number: header.readUInt32LE(1), body };
  } catch {
    return null;
  }
}

function headerOf(type: number, number: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = type;
  header.writeUInt32LE(number, 1);
  return header;
}

/** Builds the IV: the type, seven zeros, the number. */
function ivOf(header: Buffer): Buffer {
  return Buffer.concat([header.subarray(0, 1), Buffer.alloc(7), header.subarray(1)]);
}
