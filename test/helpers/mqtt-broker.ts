import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import { connectAsync } from 'mqtt';

export interface Broker {
  url: string;
  close(): Promise<void>;
}

/** A real broker in this process; with `isLocked` it has the account `user`, `password`. */
export async function startBroker({ isLocked = false, port = 0 } = {}): Promise<Broker> {
  const aedes = await Aedes.createBroker();
  if (isLocked) {
    aedes.authenticate = (_client, username, password, done) => {
      const isRight = username === 'user' && password?.toString() === 'password';
      if (isRight) done(null, true);
      else done(Object.assign(new Error('no'), { returnCode: 5 }), false);
    };
  }
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    aedes.handle(socket);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await new Promise<void>(resolve => aedes.close(resolve));
    },
  };
}

/** Returns the address of a Mosquitto on this machine that accepts anyone; null if there is none. */
export async function findMosquitto(): Promise<string | null> {
  const socket = connect(1883, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return 'mqtt://127.0.0.1:1883';
  } catch {
    return null;
  } finally {
    socket.destroy();
  }
}

export interface Heard {
  topic: string;
  payload: Record<string, unknown>;
  /** True: retained by the broker from before. */
  isRetained: boolean;
}

/** Subscribes to these topics. Everything published before `settle` was called has been received when it resolves. */
export async function listenTo(url: string, topics: string[]) {
  const client = await connectAsync(url, { reconnectPeriod: 0 });
  const heard: Heard[] = [];
  const waiting = new Map<string, () => void>();
  const mark = `earshot-test/${crypto.randomUUID()}`;
  client.on('message', (topic, message, { retain }) => {
    if (topic === mark) return waiting.get(message.toString())?.();
    if (message.length === 0 || topic.endsWith('/@status')) return; // a cleared message, or the server's status
    heard.push({ topic, payload: JSON.parse(message.toString()), isRetained: retain });
  });
  await client.subscribeAsync([...topics, mark], { qos: 1 });
  return {
    heard,
    /** Resolves when everything published so far has arrived: a broker passes messages to a client in order. */
    async settle(): Promise<void> {
      const id = crypto.randomUUID();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(id, resolve);
      await client.publishAsync(mark, id, { qos: 1 });
      await promise;
    },
    publish: (topic: string, text: string, { retain = false } = {}) =>
      client.publishAsync(topic, text, { retain, qos: 1 }),
    /** Clears a retained message. */
    forget: (topic: string) => client.publishAsync(topic, '', { retain: true, qos: 1 }),
    close: () => client.endAsync(true),
  };
}
