import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { link, open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import type { JsonWebKeySet, PluginContext } from '../../../core/contract/plugin.ts';

/** The name holds the time of creation in epoch milliseconds. */
const FILE = /^signing-key-(\d{1,16})\.pem$/;
/** Minimum time between two looks into the directory for an unknown key, which another process may have created. */
const LOOK_MS = 1000;

export interface SigningKey {
  /** The key's RFC 7638 thumbprint, which is the `kid` of its tokens. */
  kid: string;
  madeAt: number;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

interface Options extends Pick<PluginContext<never>, 'dataDir' | 'clock' | 'error'> {
  /** Age at which a key is replaced by a new one. */
  signingMs: number;
  /** Time that a replaced key still verifies: the lifetime of its tokens. */
  verifyingMs: number;
}

/** Opens the keys: the newest signs, older ones still verify. Each is one file, written once. */
export async function openSigningKeys({ dataDir, clock, error, signingMs, verifyingMs }: Options) {
  /** Newest first. */
  let keys: SigningKey[] = [];
  let lookedAt = 0;

  /** Reads all keys, and deletes those whose tokens have expired. */
  async function look(): Promise<void> {
    lookedAt = clock.now();
    const found: SigningKey[] = [];
    for (const [file, madeAt] of await filesIn(dataDir)) {
      const successor = found.at(-1);
      if (successor && successor.madeAt + verifyingMs <= clock.now()) await unlink(join(dataDir, file));
      else found.push(keys.find(key => key.madeAt === madeAt) ?? (await read(file, madeAt)));
    }
    keys = found;
  }

  async function read(name: string, madeAt: number): Promise<SigningKey> {
    const file = join(dataDir, name);
    try {
      const privateKey = createPrivateKey(await readFile(file, 'utf8'));
      if (privateKey.asymmetricKeyType !== 'ed25519')
        throw new Error(`it holds a key of type ${privateKey.asymmetricKeyType}`);
      const publicKey = createPublicKey(privateKey);
      return { kid: await calculateJwkThumbprint(publicKey), madeAt, privateKey, publicKey };
    } catch (cause) {
      throw error(
        'config_error',
        `The signing key ${file} is damaged. Restore it from a backup; or delete it, and whoever has a token that it signed signs in again.`,
        { cause },
      );
    }
  }

  async function rotate(): Promise<SigningKey> {
    const madeAt = Math.max(clock.now(), (keys[0]?.madeAt ?? 0) + 1); // the newest, even if the clock was set back
    await createKeyFile(dataDir, `signing-key-${madeAt}.pem`);
    await look();
    const [newest] = keys;
    if (!newest) throw error('internal', `A signing key that was just written to ${dataDir} is not there`);
    return newest;
  }

  await look();
  if (keys.length === 0) await rotate();

  return {
    rotate,
    /** Returns the key that signs now, creating one when due. */
    async current(): Promise<SigningKey> {
      const [newest] = keys;
      return newest && clock.now() < newest.madeAt + signingMs ? newest : rotate();
    },
    async find(kid: string | undefined): Promise<SigningKey | null> {
      const find = () => keys.find(key => key.kid === kid) ?? null;
      const known = find();
      if (known || clock.now() < lookedAt + LOOK_MS) return known;
      await look();
      return find();
    },
    publicKeys(): JsonWebKeySet {
      const public_ = keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: 'jwk' }), kid }));
      return { keys: public_.map(key => ({ ...key, kty: 'OKP', use: 'sig', alg: 'EdDSA' })) };
    },
  };
}

/** Newest first. */
async function filesIn(dataDir: string): Promise<[file: string, madeAt: number][]> {
  const names = await readdir(dataDir);
  return names
    .flatMap((name): [string, number][] => {
      const madeAt = FILE.exec(name)?.[1];
      return madeAt === undefined ? [] : [[name, Number(madeAt)]];
    })
    .sort(([, a], [, b]) => b - a);
}

/**
 * Writes the file completely or not at all, also across a power loss; of two concurrent processes the first one wins.
 */
async function createKeyFile(dataDir: string, name: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const draft = join(dataDir, randomUUID());
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await handle.sync();
    await link(draft, join(dataDir, name));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await handle.close();
    await unlink(draft);
  }
}
