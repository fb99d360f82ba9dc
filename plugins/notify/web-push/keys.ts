import type { PluginContext } from '../../../core/contract/plugin.ts';

/** Both as base64url: of P-256, a point of 65 bytes and a number of 32. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

const STATE_KEY = 'vapid';

/**
 * Opens this server's keys, made at its first start. Browsers subscribe to this public key alone, so that new keys
 * would end all subscriptions.
 */
export async function openVapidKeys({
  state,
  error,
}: Pick<PluginContext<never>, 'state' | 'error'>): Promise<VapidKeys> {
  const found = await state.get(STATE_KEY);
  if (found) return read(found.value);
  await state.compareAndSet(STATE_KEY, 0, await generate());
  const kept = await state.get(STATE_KEY); // another node may have been first
  if (!kept) throw error('internal', 'web-push: its keys were not kept');
  return read(kept.value);
}

function read(value: unknown): VapidKeys {
  return value as VapidKeys; // nobody else writes it
}

async function generate(): Promise<VapidKeys & Record<string, string>> {
  const key = { name: 'ECDH', namedCurve: 'P-256' } as const;
  const { publicKey, privateKey } = await crypto.subtle.generateKey(key, true, ['deriveBits']);
  const { d = '' } = await crypto.subtle.exportKey('jwk', privateKey);
  const point = await crypto.subtle.exportKey('raw', publicKey);
  return { publicKey: Buffer.from(point).toString('base64url'), privateKey: d };
}
