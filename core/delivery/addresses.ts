import { BlockList, isIP } from 'node:net';

/**
 * Ranges that are not public hosts (IANA's registries of special-purpose addresses, September 2025). For IPv6,
 * everything outside of `2000::/3` is not public either.
 */
const NOT_PUBLIC = [
  '0.0.0.0/8', // this machine
  '10.0.0.0/8', // private
  '100.64.0.0/10', // inside a provider; Alibaba's metadata is at 100.100.100.200
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's metadata
  '169.254.0.0/16', // link-local; metadata of most clouds is at 169.254.169.254
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocols; Oracle's metadata is at 192.0.0.192
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112: a bin
  '192.52.193.0/24', // automatic multicast tunnels
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved; broadcast
  '2001::/23', // protocols: Teredo, which holds IPv4, ORCHID, benchmarks
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: holds IPv4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
];
const notPublic = blockListOf(NOT_PUBLIC);
const globalUnicast = blockListOf(['2000::/3']);

/** Whether it is the address of a public host. False also for text that is no address. */
export function isPublic(address: string): boolean {
  const inner = withoutIPv6(address);
  if (isIP(inner) === 4) return !notPublic.check(inner, 'ipv4');
  if (isIP(inner) !== 6 || inner.includes('%')) return false; // an address with a zone is link-local
  return globalUnicast.check(inner, 'ipv6') && !notPublic.check(inner, 'ipv6');
}

/** Hosts that an operator trusts with `http`, and whose addresses need not be public. */
export interface AllowList {
  /** Listed names, without their ports. */
  names: string[];
  /** Whether this host name is listed, whatever its address. */
  hasName(name: string, port: number): boolean;
  hasAddress(address: string, port: number): boolean;
}

/** @param entries names, `name:port`, addresses, `address:port`, networks such as `10.0.0.0/8` */
export function createAllowList(entries: readonly string[]): AllowList {
  const networks = blockListOf(entries.filter(entry => entry.includes('/')));
  const hosts = new Set(entries.filter(entry => !entry.includes('/')).map(normalEntry));
  const alone = [...new Set([...hosts].map(host => host.split(' ')[0] ?? ''))];
  const has = (host: string, port: number) => hosts.has(host) || hosts.has(`${host} ${port}`);
  return {
    names: alone.filter(host => isIP(host) === 0),
    hasName: (name, port) => isIP(name) === 0 && has(name, port),
    hasAddress(address, port) {
      const inner = withoutIPv6(address);
      const family = isIP(inner);
      return has(inner, port) || (family > 0 && networks.check(inner, family === 4 ? 'ipv4' : 'ipv6'));
    },
  };
}

/** Normalises a name or address for comparison: without brackets, and without dots at the end. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? withoutIPv6(hostname.slice(1, -1)) : hostname.replace(/(?<!\.)\.+$/, '');
}

export function portOf({ port, protocol }: URL): number {
  return port === '' ? ({ 'http:': 80, 'https:': 443 }[protocol] ?? 0) : Number(port);
}

/** `host`, or `host port`. */
function normalEntry(entry: string): string {
  if (isIP(entry) === 6) return hostOf(new URL(`http://[${entry}]`));
  const port = /:(\d+)$/.exec(entry)?.[1]; // URLs omit the default port 80
  const host = hostOf(new URL(`http://${entry}`));
  return port === undefined ? host : `${host} ${Number(port)}`;
}

/**
 * Extracts the IPv4 address in `::ffff:0:0/96` and `64:ff9b::/96` (NAT64, through which a network without IPv4
 * reaches IPv4 hosts). Other addresses stay as they are, IPv6 in its canonical form.
 */
function withoutIPv6(address: string): string {
  if (isIP(address) !== 6 || address.includes('%')) return address;
  const normal = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const groups = groupsOf(normal);
  if (!HOLD_IPV4.includes(groups.slice(0, 6).join(':'))) return normal;
  return groups
    .slice(6)
    .flatMap(group => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
    .join('.');
}

const HOLD_IPV4 = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'];

/** All eight groups of an IPv6 address. */
function groupsOf(normal: string): string[] {
  const [front = [], back = []] = normal.split('::').map(part => (part === '' ? [] : part.split(':')));
  return [...front, ...Array<string>(8 - front.length - back.length).fill('0'), ...back];
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
