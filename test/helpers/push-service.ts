import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { jwtVerify } from 'jose';
import { startLocalServer } from './local-server.ts';

interface Pushed {
  headers: IncomingMessage['headers'];
  bytes: number;
  /** Decrypted as a browser does. */
  payload: Record<string, unknown>;
  /** Claims of the VAPID token, which was verified and issued for this service. */
  claims: Record<string, unknown>;
}

/**
 * A push service and a subscribed browser, written from the RFCs: 8030 (the request), 8188 and 8291 (the encryption), 8292
 * (VAPID). It shares no code with the sender.
 */
export async function startPushService() {
  const browser = createECDH('prime256v1');
  const p256dh = browser.generateKeys();
  const auth = randomBytes(16);
  const pushed: Pushed[] = [];
  const state = {
    /** The only public key that may send; null: any. */
    sender: null as string | null,
    next: null as ((response: ServerResponse) => void) | null,
  };

  const { url, close } = await startLocalServer(async (request, response) => {
    const body = await buffer(request);
    const { next } = state;
    state.next = null;
    if (next) return next(response);
    if (request.method !== 'POST' || !request.url?.startsWith('/push/'))
      return void response.writeHead(404).end();
    if (!/^\d+$/.test(String(request.headers.ttl))) return void response.writeHead(400).end();
    if (body.length > 4096) return void response.writeHead(413).end();
    const claims = await vapidClaims(request.headers.authorization, url, state.sender);
    if (claims === null) return void response.writeHead(403).end();
    const payload = JSON.parse(decrypt(body, browser, auth).toString());
    pushed.push({ headers: request.headers, bytes: body.length, payload, claims });
    response.writeHead(201).end();
  });

  return {
    state,
    pushed,
    close,
    url,
    /** Result of `subscribe()` in the browser, as JSON. */
    subscription: {
      endpoint: `${url}/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV`,
      expirationTime: null,
      keys: { p256dh: p256dh.toString('base64url'), auth: auth.toString('base64url') },
    },
  };
}

/** Verifies `vapid t=<JWT>, k=<public key>` (RFC 8292, section 3) and returns its claims; null: refused. */
async function vapidClaims(authorization = '', audience: string, sender: string | null) {
  const [, token, key] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  if (token === undefined || key === undefined || (sender !== null && key !== sender)) return null;
  const point = Buffer.from(key, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'));
  const publicKey = createPublicKey({
    key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' },
    format: 'jwk',
  });
  try {
    const { payload } = await jwtVerify(token, publicKey, { algorithms: ['ES256'], audience });
    const lifetimeS = Number(payload.exp) - Date.now() / 1000;
    return lifetimeS > 0 && lifetimeS <= 24 * 3600 ? payload : null;
  } catch {
    return null;
  }
}

/** Decrypts one record (RFC 8188, section 2) with the key of RFC 8291, section 3.4. */
function decrypt(body: Buffer, browser: ReturnType<typeof createECDH>, auth: Buffer): Buffer {
  const salt = body.subarray(0, 16);
  const recordSize = body.readUInt32BE(16);
  const idLength = body.readUInt8(20);
  const sender = body.subarray(21, 21 + idLength);
  const record = body.subarray(21 + idLength);
  if (record.length > recordSize) throw new Error('more than one record');
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser.getPublicKey(), sender]);
  const input = hkdfSync('sha256', browser.computeSecret(sender), auth, info, 32);
  const derive = (what: string, length: number) =>
    Buffer.from(hkdfSync('sha256', Buffer.from(input), salt, `Content-Encoding: ${what}\0`, length));
  const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2); // the last record's delimiter, before zeros
  if (end < 0 || padded.subarray(end + 1).some(byte => byte !== 0)) throw new Error('bad padding');
  return padded.subarray(0, end);
}
