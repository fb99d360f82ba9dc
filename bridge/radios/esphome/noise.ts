import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';

/**
 * The handshake Noise_NNpsk0_25519_ChaChaPoly_SHA256 (noiseprotocol.org, revision 34). Both sides prove that they know
 * a pre-shared key, and agree on a new key for each direction.
 */

const PROTOCOL = 'Noise_NNpsk0_25519_ChaChaPoly_SHA256';
/** Prologue that ESPHome defines, including the two length bytes of the empty first frame. */
const PROLOGUE = Buffer.from('NoiseAPIInit\0\0');
const KEY_BYTES = 32;
const TAG_BYTES = 16;
/** DER prefix of an X25519 public key, which Node needs to import its 32 bytes. */
const SPKI_PREFIX = Buffer.from('302a300506032b656e032100', 'hex');

/** Encrypts and decrypts the messages of one direction, in their order. */
interface Cipher {
  seal(plain: Uint8Array): Buffer;
  /** @throws Error if it was not encrypted with this key, or is not the next message */
  open(sealed: Uint8Array): Buffer;
}

export interface Ciphers {
  send: Cipher;
  receive: Cipher;
}

interface Initiator {
  readonly first: Buffer;
  /** Completes the handshake. @throws Error if the other side has another key */
  finish(answer: Uint8Array): Ciphers;
}

/** Begins a handshake as the side that connects. @param psk pre-shared key */
export function createInitiator(psk: Uint8Array): Initiator {
  const state = createState(psk);
  const own = generateKeyPairSync('x25519');
  const first = Buffer.concat([state.addKey(rawKey(own.publicKey)), state.seal()]);
  return {
    first,
    finish(answer) {
      state.addKey(answer.subarray(0, KEY_BYTES));
      state.mixKey(shared(own.privateKey, answer.subarray(0, KEY_BYTES)));
      state.open(answer.subarray(KEY_BYTES));
      const [send, receive] = state.split();
      return { send, receive };
    },
  };
}

/** Creates the symmetric state of the handshake, with the pre-shared key mixed in. */
function createState(psk: Uint8Array) {
  let hash = sha256(Buffer.from(PROTOCOL));
  let chaining = hash;
  let cipher = createCipher(Buffer.alloc(KEY_BYTES));
  const mixHash = (data: Uint8Array) => {
    hash = sha256(hash, data);
  };
  const mixKey = (input: Uint8Array) => {
    const [next, key] = derive(chaining, input, 2);
    chaining = next;
    cipher = createCipher(key);
  };
  mixHash(PROLOGUE);
  const [next, forHash, key] = derive(chaining, psk, 3);
  chaining = next;
  mixHash(forHash);
  cipher = createCipher(key);

  return {
    mixKey,
    /** Mixes in the public key of either side. */
    addKey(key: Uint8Array): Uint8Array {
      mixHash(key);
      mixKey(key);
      return key;
    },
    /** Encrypts an empty payload, whose tag proves that this side knows the keys so far. */
    seal(): Buffer {
      const sealed = cipher.seal(Buffer.of(), hash);
      mixHash(sealed);
      return sealed;
    },
    /** Checks such a tag of the other side. */
    open(sealed: Uint8Array): void {
      cipher.open(sealed, hash);
      mixHash(sealed);
    },
    /** Returns the ciphers for the messages of the initiator and of the responder. */
    split(): [Cipher, Cipher] {
      const [forward, back] = derive(chaining, Buffer.of(), 2);
      return [createCipher(forward), createCipher(back)];
    },
  };
}

function createCipher(key: Uint8Array) {
  let count = 0;
  const nonce = () => {
    const bytes = Buffer.alloc(12);
    bytes.writeBigUInt64LE(BigInt(count), 4);
    count += 1;
    return bytes;
  };
  return {
    seal(plain: Uint8Array, associated: Uint8Array = Buffer.of()): Buffer {
      const cipher = createCipheriv('chacha20-poly1305', key, nonce(), { authTagLength: TAG_BYTES });
      cipher.setAAD(associated, { plaintextLength: plain.length });
      return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed: Uint8Array, associated: Uint8Array = Buffer.of()): Buffer {
      const length = sealed.length - TAG_BYTES;
      if (length < 0) throw new Error('too short to be encrypted data');
      const decipher = createDecipheriv('chacha20-poly1305', key, nonce(), { authTagLength: TAG_BYTES });
      decipher.setAAD(associated, { plaintextLength: length }).setAuthTag(sealed.subarray(length));
      return Buffer.concat([decipher.update(sealed.subarray(0, length)), decipher.final()]);
    },
  };
}

/** Derives keys with HKDF as Noise defines it: the chaining key is the salt. */
function derive(chaining: Uint8Array, input: Uint8Array, keys: 2): [Buffer, Buffer];
function derive(chaining: Uint8Array, input: Uint8Array, keys: 3): [Buffer, Buffer, Buffer];
function derive(chaining: Uint8Array, input: Uint8Array, keys: number): Buffer[] {
  const all = Buffer.from(hkdfSync('sha256', input, chaining, Buffer.of(), keys * KEY_BYTES));
  return Array.from({ length: keys }, (_, index) => all.subarray(index * KEY_BYTES, (index + 1) * KEY_BYTES));
}

function sha256(...parts: Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function rawKey(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX.length);
}

/** Computes the shared secret. @throws Error if the key is invalid or of low order */
function shared(privateKey: KeyObject, raw: Uint8Array): Buffer {
  if (raw.length !== KEY_BYTES) throw new Error('too short to be a key');
  const publicKey = createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), type: 'spki', format: 'der' });
  return diffieHellman({ privateKey, publicKey });
}
