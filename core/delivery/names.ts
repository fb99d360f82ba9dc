import { lookup, Resolver } from 'node:dns/promises';

/** All addresses of a host, at least one. Rejects where there is none. */
export type Resolve = (name: string) => Promise<string[]>;

const PATIENCE = { timeout: 2000, tries: 2 };

/**
 * Resolves names by DNS. The system's resolver knows more names, but has two threads: names that anyone may enter, and
 * whose servers do not answer, would block everyone's.
 * @param servers other servers than this machine's, such as `127.0.0.1:5353`
 */
export function resolveByDns(servers?: readonly string[]): Resolve {
  return async name => {
    const resolver = new Resolver(PATIENCE); // each time: this machine may be on another network now
    if (servers) resolver.setServers(servers);
    const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = [four, six].flatMap(found => (found.status === 'fulfilled' ? found.value : []));
    if (addresses.length > 0) return addresses;
    throw four.status === 'rejected' ? four.reason : new Error(`${name} has no address`);
  };
}

/** As every program on this machine does: the hosts file, the local network (mDNS), DNS. */
export const resolveBySystem: Resolve = async name =>
  (await lookup(name, { all: true })).map(({ address }) => address);
