import type { PluginContext } from '../../../core/contract/plugin.ts';

/** A P-256 key pair in base64url: a point of 65 bytes and a scalar of 32. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
}

const STATE_KEY = 'vapid';

/**
 * Opens this server's key pair, creating it at the first start. Browsers subscribe to its public key, so a new pair
 * would end all subscriptions.
 */
export async function openVapidKeys({
  state,
  error,
}: Pick<PluginContext<never>, 'state' | 'error'>): Promise<VapidKeys> {
  const found = await state.get(STATE_KEY);
  if (found) return read(found.value);
  await state.compareAndSet(STATE_KEY, 0, await generate());
  const kept = await state.get(STATE_KEY); // another node may have created them first
  if (!kept) throw error('internal', 'web-push: its keys were not kept');
  return read(kept.value);
}

function read(value: unknown): VapidKeys {
  return value as VapidKeys; // this plugin is the only writer
}

async function generate(): Promise<VapidKeys & Record<string, string>> {
  const key = { name: 'ECDH', namedCurve: 'P-256' } as const;
  const { publicKey, privateKey } = await crypto.subtle.generateKey(key, true, ['deriveBits']);
  const { d = '' } = await crypto.subtle.exportKey('jwk', privateKey);
  const point = await crypto.subtle.exportKey('raw', publicKey);
  return { publicKey: Buffer.from(point).toString('base64url'), privateKey: d };
}
