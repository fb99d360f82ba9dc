import type { RawData, WebSocket } from 'ws';
import type { ListenMetrics } from '../runtime/metrics.ts';
import type { Pace, Valve } from './pace.ts';
import { KEEP_ALIVE_BYTES } from './protocol.ts';
import { createQueue } from './queue.ts';

export interface Message {
  bytes: Buffer;
  binary: boolean;
}

/**
 * The messages of one socket, pulled one by one; `quiet` among them where audio paused. Ends with the socket, or when
 * told to.
 */
export interface Inbox extends AsyncIterable<Message | 'quiet'> {
  /** Nothing more is taken in; what waits is still given. */
  end(): void;
  /** Ends at once and forgets what waits. */
  clear(): void;
}

interface InboxOptions {
  /** While more wait, the socket is paused, so that the peer feels it through TCP. */
  maxBytes: number;
  /** A client that sends nothing for so long has paused: what it said before is not waiting for more. */
  quietMs: number;
  metrics: Pick<ListenMetrics, 'watch'>;
  valve: Valve;
  pace: Pick<Pace, 'spend'>;
  onMessage(): void;
}

/** Memory that a waiting message takes beside its bytes. */
const OVERHEAD_BYTES = 128;

export function createInbox(
  socket: WebSocket,
  { maxBytes, quietMs, metrics, valve, pace, onMessage }: InboxOptions,
): Inbox {
  const queue = createQueue<Message | 'quiet'>(taken => {
    if (taken !== 'quiet') count(-taken.bytes.length - OVERHEAD_BYTES);
  });
  let waitingBytes = 0;

  const isOpen = () => socket.readyState === socket.OPEN;
  const count = (bytes: number) => {
    waitingBytes += bytes;
    if (waitingBytes > maxBytes && isOpen()) valve.hold('backlog');
    else if (waitingBytes < maxBytes / 2) valve.release('backlog');
  };
  const unwatch = metrics.watch('messages', () => waitingBytes);
  let pause: NodeJS.Timeout | undefined; // runs from the first audio on
  socket.on('close', () => {
    clearTimeout(pause);
    unwatch();
    queue.end();
  });
  socket.on('message', (data: RawData, binary: boolean) => {
    onMessage();
    pace.spend(1);
    // One that is being closed is read to its end, where it says goodbye; what is too much of that is not kept.
    if (waitingBytes > maxBytes && !isOpen()) return;
    const bytes = toBuffer(data);
    if (binary && bytes.length > KEEP_ALIVE_BYTES)
      pause = pause?.refresh() ?? setTimeout(() => queue.push('quiet'), quietMs);
    queue.push({ bytes, binary });
    count(bytes.length + OVERHEAD_BYTES);
  });

  return {
    end: queue.end,
    clear: queue.clear,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  };
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
