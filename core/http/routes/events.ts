import { PassThrough } from 'node:stream';
import { z } from 'zod';
import type { Feed } from '../../delivery/feed.ts';
import { EventStream, type Route, route } from '../route.ts';

/** Interval of keep-alive frames: proxies close a connection that is silent for a minute. */
const HEARTBEAT_MS = 15_000;
/**
 * A client with this much unread data is disconnected; it can reconnect and continue after the last event it read.
 */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Live events as a stream. */
export function eventRoutes(feed: Feed): Route[] {
  return [
    route({
      method: 'get',
      id: 'streamEvents',
      path: '/v1/events',
      tag: 'Events',
      summary:
        'Stream live changes as server-sent events: spoken words, and changes of conversations, memories, action items and devices. A reconnecting client sends Last-Event-ID',
      scope: 'conversations:read',
      params: z.object({}),
      query: z.object({}),
      response: z.string(),
      type: 'text/event-stream',
      async handle({ principal, lastEventId }) {
        const stream = new PassThrough();
        stream.write('retry: 2000\n\n');
        stream.on('error', () => {}); // the client has disconnected
        const send = (text: string) => {
          if (!stream.writable) return;
          stream.write(text);
          if (stream.writableLength + stream.readableLength > MAX_UNREAD_BYTES) stream.destroy();
        };
        const leave = await feed.subscribe(principal, lastEventId, {
          push: ({ id, event, data }) => send(`id: ${id}\nevent: ${event}\ndata: ${data}\n\n`),
          end: () => stream.end(),
        });
        const timer = setInterval(() => {
          if (feed.isOver(principal)) stream.end();
          else send(': heartbeat\n\n');
        }, HEARTBEAT_MS);
        stream.once('close', () => {
          clearInterval(timer);
          leave();
        });
        return new EventStream(stream);
      },
    }),
  ];
}
