import { createHmac } from 'node:crypto';
import type { Hook } from '../contract/model.ts';

/**
 * The headers of Standard Webhooks 1.0 that prove where a delivery comes from, for one attempt. After a rotation the
 * secret of before signs too, after the new one, until its time is over.
 * @param now epoch ms: receivers refuse what is older than 5 minutes, so each attempt is signed anew
 */
export function signatureHeaders(
  { secret, oldSecret, oldSecretUntil }: Pick<Hook, 'secret' | 'oldSecret' | 'oldSecretUntil'>,
  { id, body }: { id: string; body: string | Uint8Array },
  now: number,
): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const secrets = [secret, ...(oldSecret !== null && now < (oldSecretUntil ?? 0) ? [oldSecret] : [])];
  const sign = (each: string) =>
    `v1,${createHmac('sha256', keyOf(each)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map(sign).join(' '),
  };
}

/** `whsec_` + base64. */
function keyOf(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}
