import type { Clock } from '../../clock.ts';
import { guard } from '../../guard.ts';
import { type ConnectionLimits, openConnection, type ProxyAddress, type ProxyInfo } from './connection.ts';
import { FEATURE } from './messages.ts';
import { ProxyError } from './proxy-error.ts';

export const CONNECTION_LIMITS: ConnectionLimits = {
  helloMs: 10_000,
  pingMs: 5000,
  silentMs: 15_000,
  messagesPerSecond: 4000,
  bytesPerSecond: 2 * 1024 * 1024,
};

const NEEDED = FEATURE.activeConnections | FEATURE.remoteCaching | FEATURE.rawAdvertisements;
const SLOTS_MS = 2000;

/** @throws ProxyError if the proxy lacks a feature that is needed */
export function checkFeatures({ bluetoothFeatures: features, version }: ProxyInfo): void {
  if (features === 0)
    throw new ProxyError('unsupported', 'it is no Bluetooth proxy; set bluetooth_proxy: in its YAML');
  if ((features & FEATURE.activeConnections) === 0)
    throw new ProxyError(
      'unsupported',
      'it only listens; set bluetooth_proxy: active: true in its YAML, on a board that can connect',
    );
  if ((features & NEEDED) !== NEEDED)
    throw new ProxyError('unsupported', `its ESPHome (${version}) is too old; install a newer one`);
}

/**
 * Requests the description of a proxy and its number of free connections. Does not subscribe to advertisements, so that
 * another program that uses the proxy is not disturbed.
 * @throws ProxyError with the reason why the proxy cannot be used
 */
export async function examineProxy(
  address: ProxyAddress,
  clock: Clock,
): Promise<{ info: ProxyInfo; slots: { free: number; limit: number } | null }> {
  const told = Promise.withResolvers<{ free: number; limit: number }>();
  const stopping = new AbortController();
  const proxy = await openConnection(address, {
    clock,
    limits: CONNECTION_LIMITS,
    signal: stopping.signal,
    onMessage({ name, content }) {
      if (name === 'connectionsFree') told.resolve(content);
    },
    onMalformed() {},
  });
  try {
    checkFeatures(proxy.info);
    proxy.send('subscribeConnectionsFree');
    const slots = await guard('asking', told.promise, { limitMs: SLOTS_MS }).catch(() => null);
    return { info: proxy.info, slots };
  } finally {
    proxy.close();
  }
}
