import type { IncomingMessage } from 'node:http';
import proxyAddress from 'proxy-addr';

/**
 * Tells from which IP address a request comes: what a proxy says of it counts where the proxy is one of these.
 * @param trusted addresses, networks such as `10.0.0.0/8`, or `loopback`, `linklocal`, `uniquelocal`
 */
export function createClientAddress(trusted: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = proxyAddress.compile([...trusted]);
  return request => proxyAddress(request, isTrusted);
}
