import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto';
import { link, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { Plugin, PluginContext } from '../../core/plugin.ts';

const ISSUER = 'earshot';
const AUDIENCE = 'earshot';
const ALGORITHM = 'EdDSA';
const LIFETIME_S = 30 * 24 * 3600;
const KEY_FILE = 'signing-key.pem';

/** This server vouches for its own users: ID tokens signed with an Ed25519 key that never leaves its directory. */
export default {
  name: 'local',
  api: 1,
  title: 'Accounts of this server, signed in with ID tokens that it issues itself',
  async setup({ dataDir, clock, error }) {
    const privateKey = await signingKey(join(dataDir, KEY_FILE), error);
    const publicKey = createPublicKey(privateKey);
    const nowS = () => Math.floor(clock.now() / 1000);

    return {
      identity: {
        issuer: ISSUER,

        issue({ subject, name }) {
          return new SignJWT({ name })
            .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
            .setIssuer(ISSUER)
            .setAudience(AUDIENCE)
            .setSubject(subject)
            .setIssuedAt(nowS())
            .setExpirationTime(nowS() + LIFETIME_S)
            .sign(privateKey);
        },

        async verify(token) {
          const { payload } = await jwtVerify(token, publicKey, {
            algorithms: [ALGORITHM],
            issuer: ISSUER,
            audience: AUDIENCE,
            requiredClaims: ['sub', 'exp', 'iat'],
            currentDate: new Date(clock.now()),
          }).catch(cause => {
            const why = cause instanceof errors.JWTExpired ? 'The ID token has expired' : 'Invalid ID token';
            throw error('unauthorized', why, { cause });
          });
          const { sub, name } = payload;
          if (!sub || typeof name !== 'string') throw error('unauthorized', 'Invalid ID token');
          return { issuer: ISSUER, subject: sub, name };
        },
      },
    };
  },
} satisfies Plugin;

type MakeError = PluginContext<never>['error'];

async function signingKey(file: string, error: MakeError): Promise<KeyObject> {
  const pem = (await readIfThere(file)) ?? (await createKeyFile(file));
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== 'ed25519')
      throw new Error(`it holds a key of type ${key.asymmetricKeyType}`);
    return key;
  } catch (cause) {
    throw error(
      'config_error',
      `The signing key ${file} is damaged. Restore it from a backup; or delete it, and have every ID token issued anew.`,
      { cause },
    );
  }
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Appears whole or not at all, also when the machine stops; the first of two processes that do this at once wins. */
async function createKeyFile(file: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const draft = `${file}.${randomUUID()}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await handle.sync();
    await link(draft, file);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await handle.close();
    await unlink(draft);
  }
  return readFile(file, 'utf8');
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
