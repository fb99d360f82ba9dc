import { lookup, Resolver } from 'node:dns/promises';

/** Resolves a host name to all its addresses, at least one. Rejects where there is none. */
export type Resolve = (name: string) => Promise<string[]>;

const PATIENCE = { timeout: 2000, tries: 2 };

/**
 * Resolves names by DNS. The system's resolver knows more names, but has two threads: names that any user may enter,
 * and whose servers do not answer, would block everyone's.
 * @param servers other servers than this machine's, such as `127.0.0.1:5353`
 */
export function resolveByDns(servers?: readonly string[]): Resolve {
  return async name => {
    const resolver = new Resolver(PATIENCE); // created each time, because this machine may have changed networks
    if (servers) resolver.setServers(servers);
    const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = [four, six].flatMap(found => (found.status === 'fulfilled' ? found.value : []));
    if (addresses.length > 0) return addresses;
    throw four.status === 'rejected' ? four.reason : new Error(`${name} has no address`);
  };
}

/** Resolves names like other programs on this machine: by the hosts file, the local network (mDNS), and DNS. */
export const resolveBySystem: Resolve = async name =>
  (await lookup(name, { all: true })).map(({ address }) => address);
