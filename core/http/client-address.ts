import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddress from 'proxy-addr';

/**
 * Determines the IP address of a request's client. `X-Forwarded-For` counts only from trusted proxies.
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
