import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Stores } from '../../contract/plugin.ts';
import { AppError } from '../../runtime/errors.ts';

/** Target of a mute link: a user, and an app or an event. */
export interface Mute {
  userId: string;
  name: string;
}

/** Key for core's own state, which no plugin's name can equal. */
const OWNER = 'core.notifications';
const KEY = 'mute-links';
const SECRET_BYTES = 32;
const SEAL_BYTES = 16;
const MAX_TOKEN_CHARS = 500;

/**
 * Tokens that mute one kind of notification for one user, and allow nothing else. They are signed rather than stored,
 * and never expire, because mail may be read late.
 */
export function createMuteLinks() {
  let secret: Buffer | null = null;

  /** The signing key, shared by all servers of a database. One created in a transaction is used after the commit. */
  async function secretIn({ pluginState }: Pick<Stores, 'pluginState'>): Promise<Buffer> {
    if (secret) return secret;
    const stored = await pluginState.get(OWNER, KEY);
    if (stored) {
      secret = Buffer.from(String(stored.value), 'base64url');
      return secret;
    }
    const made = randomBytes(SECRET_BYTES);
    const isOurs = await pluginState.compareAndSet(OWNER, KEY, 0, made.toString('base64url'));
    return isOurs ? made : secretIn({ pluginState });
  }

  async function tokenOf(stores: Pick<Stores, 'pluginState'>, { userId, name }: Mute): Promise<string> {
    const text = Buffer.from(JSON.stringify([userId, name])).toString('base64url');
    return `${text}.${seal(await secretIn(stores), text).toString('base64url')}`;
  }

  /** `not_found` for a token with an invalid signature. */
  async function read(stores: Pick<Stores, 'pluginState'>, token: string): Promise<Mute> {
    const [text = '', signature = ''] = token.length > MAX_TOKEN_CHARS ? [] : token.split('.');
    const given = Buffer.from(signature, 'base64url');
    const right = seal(await secretIn(stores), text);
    if (given.length !== right.length || !timingSafeEqual(given, right))
      throw new AppError('not_found', 'This link is incomplete, or belongs to another server');
    const [userId, name] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [string, string]; // as sealed
    return { userId, name };
  }

  return { tokenOf, read };
}

function seal(secret: Buffer, text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest().subarray(0, SEAL_BYTES);
}
