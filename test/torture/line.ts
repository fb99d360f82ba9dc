/** A connection between a device and the server that can fail in the ways that real ones do. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * `reset`: both ends are told at once. `deaf`, `mute`: what the device, or the server, sends is dropped from now on,
 * and neither is told when the other closes. `stall`: nothing passes for a while.
 */
export const FAULTS = ['reset', 'deaf', 'mute', 'stall'] as const;
export type Fault = (typeof FAULTS)[number];

export interface Line {
  /** Address that the device connects to. */
  url: string;
  /** Applies the fault to every open connection. False: there is none. */
  cut(fault: Fault, stallMs: number): boolean;
  close(): void;
}

interface Way {
  from: Socket;
  to: Socket;
  swallows: boolean;
}

export async function openLine(target: URL): Promise<Line> {
  const connections = new Set<Connection>();
  const server = createServer(device => {
    const connection = join(device, connect(Number(target.port), target.hostname));
    connections.add(connection);
    connection.over.then(() => connections.delete(connection));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    cut(fault, stallMs) {
      for (const connection of connections) connection.suffer(fault, stallMs);
      return connections.size > 0;
    },
    close() {
      server.close();
      for (const connection of connections) connection.suffer('reset', 0);
    },
  };
}

type Connection = ReturnType<typeof join>;

function join(device: Socket, core: Socket) {
  const up: Way = { from: device, to: core, swallows: false };
  const down: Way = { from: core, to: device, swallows: false };
  let stalled = false;
  for (const way of [up, down]) carry(way);

  function carry(way: Way) {
    const { from, to } = way;
    from.setNoDelay(true);
    from.on('error', () => {});
    from.on('data', bytes => {
      if (way.swallows || to.write(bytes)) return;
      from.pause();
      to.once('drain', () => stalled || from.resume());
    });
    // Half open: the other side is not told and keeps a dead connection.
    from.on('close', () => up.swallows || down.swallows || to.destroy());
  }

  async function stall(ms: number) {
    stalled = true;
    for (const { from } of [up, down]) from.pause();
    await sleep(ms, undefined, { ref: false });
    stalled = false;
    for (const { from } of [up, down]) from.resume();
  }

  return {
    over: Promise.all([device, core].map(socket => new Promise(resolve => socket.on('close', resolve)))),
    suffer(fault: Fault, stallMs: number) {
      if (fault === 'stall') void stall(stallMs);
      else if (fault === 'deaf') up.swallows = true;
      else if (fault === 'mute') down.swallows = true;
      else for (const { from } of [up, down]) from.resetAndDestroy();
    },
  };
}
