import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddress from 'proxy-addr';

/**
 * Tells from which IP address a request comes: what a proxy says of it counts where the proxy is one of these.
 * @param trusted addresses, networks such as `10.0.0.0/8`, or `loopback`, `linklocal`, `uniquelocal`
 */
export function createClientAddress(trusted: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = proxyAddress.compile([...trusted]);
  return request => proxyAddress(request, isTrusted);
}

/** Tells whether an IP address is one of these. */
export function createIsProxy(trusted: readonly string[]): (address: string) => boolean {
  const isTrusted = proxyAddress.compile([...trusted]);
  return address => isIP(address) !== 0 && isTrusted(address, 0);
}
