import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** Answers a request that a webhook receiver has read. */
export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void;

export interface Received {
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** A receiver with a configurable behaviour that records its requests. */
export async function startReceiver(t: Pick<ExecutionContext, 'teardown'>, behaviour: Behaviour = ok) {
  const received: Received[] = [];
  const watchers = new Set<() => void>();
  const receiver = { url: '', received, behaviour, arrived };

  async function arrived(count: number): Promise<void> {
    while (received.length < count) await new Promise<void>(resolve => watchers.add(resolve));
  }

  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    received.push({ path: request.url ?? '', headers: request.headers, body });
    receiver.behaviour(response, request);
    for (const look of watchers) look();
    watchers.clear();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}

const ok: Behaviour = response => void response.end('ok');

/** Behaviours seen in the field, by name. */
export const behaviours = {
  ok,
  'no content': response => void response.writeHead(204).end(),
  'never answers': () => {},
  'slow body': response => void response.writeHead(200).write('drop'),
  'endless body': response => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      response.once('drain', more);
    };
    more();
  },
  'reset at once': (_response, { socket }) => void socket.resetAndDestroy(),
  'reset in the body': (response, { socket }) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('half', () => setImmediate(() => socket.resetAndDestroy()));
  },
  'another host': response => void response.writeHead(301, { location: 'http://127.0.0.1:1/' }).end(),
  'asks to wait': response => void response.writeHead(429, { 'retry-after': '120' }).end('later'),
  'asks to wait little': response => void response.writeHead(503, { 'retry-after': '1' }).end(),
} satisfies Record<string, Behaviour>;

export function status(code: number): Behaviour {
  return response => void response.writeHead(code).end(`status ${code}`);
}
