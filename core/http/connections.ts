import type { Socket } from 'node:net';
import { networkOf } from '../domain/network.ts';

export type Connections = ReturnType<typeof createConnections>;

/**
 * Prevents unauthenticated connections from crowding out others: where there are too many, of one network or in
 * total, the oldest is closed. Connections that serve a request of an account, and WebSockets, do not count.
 * @param isProxy tells proxies, which pass on the requests of many clients and are bounded only by the total
 */
export function createConnections({
  most,
  mostOfNetwork,
  isProxy,
}: {
  most: number;
  mostOfNetwork: number;
  isProxy(address: string): boolean;
}) {
  /** Oldest first. */
  const idle = new Set<Socket>();
  const byNetwork = new Map<string, Set<Socket>>();
  const networks = new WeakMap<Socket, string | null>();
  const served = new WeakMap<Socket, number>();

  function add(socket: Socket): void {
    idle.add(socket);
    if (idle.size > most) closeOldest(idle);
    const network = networkIn(socket);
    if (network === null) return;
    const own = byNetwork.get(network) ?? new Set();
    byNetwork.set(network, own.add(socket));
    if (own.size > mostOfNetwork) closeOldest(own);
  }

  function remove(socket: Socket): void {
    idle.delete(socket);
    const network = networkIn(socket);
    const own = network === null ? undefined : byNetwork.get(network);
    own?.delete(socket);
    if (own?.size === 0) byNetwork.delete(network ?? '');
  }

  function closeOldest([oldest]: Set<Socket>): void {
    if (!oldest) return;
    remove(oldest);
    oldest.destroy();
  }

  /** Null: not bounded by its network. */
  function networkIn(socket: Socket): string | null {
    const known = networks.get(socket);
    if (known !== undefined) return known;
    const address = socket.remoteAddress ?? '';
    const network = isProxy(address) ? null : networkOf(address);
    networks.set(socket, network);
    return network;
  }

  return {
    open(socket: Socket): void {
      add(socket);
      socket.once('close', () => remove(socket));
    },
    /** Called when a request on it was authenticated: it stays open until `leave` was called as often. */
    enter(socket: Socket): void {
      served.set(socket, (served.get(socket) ?? 0) + 1);
      remove(socket);
    },
    leave(socket: Socket): void {
      const left = (served.get(socket) ?? 1) - 1;
      served.set(socket, left);
      if (left === 0 && !socket.destroyed) add(socket);
    },
  };
}
