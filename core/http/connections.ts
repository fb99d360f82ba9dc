import type { Socket } from 'node:net';
import { networkOf } from '../domain/network.ts';

export type Connections = ReturnType<typeof createConnections>;

/**
 * Keeps connections on which nobody has authenticated from taking the place of others: where there are too many, of one
 * network or in all, the oldest is closed. While a request of an account is served on a connection, and once it is a
 * WebSocket, it is not counted.
 * @param isProxy peers that pass on the requests of many clients: they are bounded only by what all may have
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
  /** The oldest first. */
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

  /** Null: it is not bounded by its network. */
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
    /** Someone has authenticated on it: it stays until as many `leave`. */
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
