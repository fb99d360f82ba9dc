import { once } from 'node:events';
import WebSocket from 'ws';
import { ServerEvent, type WireSegment } from '../../core/listen/protocol.ts';

type Event = ServerEvent | { type: 'segments'; segments: WireSegment[] };

/** A client of `/v4/listen` that keeps everything it receives. */
export interface ListenClient {
  socket: WebSocket;
  events: Event[];
  /** Resolves with the first event, past or future, that fits; rejects if the socket closes first. */
  until<T extends Event['type']>(
    type: T,
    fits?: (event: Event & { type: T }) => boolean,
  ): Promise<Event & { type: T }>;
  closed: Promise<{ code: number; reason: string }>;
  /** Resolves once the server has read everything sent before; rejects if the socket closes first. */
  received(): Promise<void>;
  /** The latest version of each segment, by id. */
  segments(): WireSegment[];
}

export async function connectListen(
  url: string,
  credential: string | null,
  query: Record<string, string | number> = {},
  path = '/v4/listen',
  options: WebSocket.ClientOptions = {},
): Promise<ListenClient> {
  const address = new URL(path, url.replace(/^http/, 'ws'));
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, String(value));
  const headers = credential === null ? {} : { Authorization: `Bearer ${credential}` };
  const socket = new WebSocket(address, { headers, perMessageDeflate: false, ...options });
  const client = watch(socket);
  await once(socket, 'open');
  return client;
}

/** Returns the status and JSON body of a refused upgrade. */
export async function refusedListen(
  url: string,
  credential: string | null,
  query: Record<string, string | number> = {},
  path = '/v4/listen',
): Promise<{ status: number; body: unknown; headers: NodeJS.Dict<string | string[]> }> {
  const address = new URL(path, url.replace(/^http/, 'ws'));
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, String(value));
  const headers = credential === null ? {} : { Authorization: `Bearer ${credential}` };
  const socket = new WebSocket(address, { headers });
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  const chunks = await response.toArray();
  socket.terminate();
  return {
    status: response.statusCode,
    body: JSON.parse(Buffer.concat(chunks).toString('utf8')),
    headers: response.headers,
  };
}

function watch(socket: WebSocket): ListenClient {
  const events: Event[] = [];
  const waiting = new Set<() => void>();
  const closed = new Promise<{ code: number; reason: string }>(resolve => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString('utf8') }));
  });
  async function closedBefore(what: string): Promise<never> {
    const { code, reason } = await closed;
    throw new Error(`closed with ${code} ${reason} before ${what}; had ${JSON.stringify(events)}`);
  }
  socket.on('error', () => {});
  socket.on('message', data => {
    const json: unknown = JSON.parse(String(data));
    events.push(Array.isArray(json) ? { type: 'segments', segments: json } : ServerEvent.parse(json));
    for (const look of waiting) look();
  });
  return {
    socket,
    events,
    closed,
    until(type, fits = () => true) {
      return new Promise((resolve, reject) => {
        const look = () => {
          for (const event of events) {
            if (event.type !== type) continue;
            const typed = event as Event & { type: typeof type };
            if (!fits(typed)) continue;
            waiting.delete(look);
            resolve(typed);
            return;
          }
        };
        waiting.add(look);
        look();
        closedBefore(type).catch(reject);
      });
    },
    async received() {
      socket.ping();
      await Promise.race([once(socket, 'pong'), closedBefore('a pong')]);
    },
    segments() {
      const byId = new Map<string, WireSegment>();
      for (const event of events) {
        if (event.type === 'segments') for (const segment of event.segments) byId.set(segment.id, segment);
      }
      return [...byId.values()];
    },
  };
}
