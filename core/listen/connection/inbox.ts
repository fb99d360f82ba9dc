import { setImmediate as nextRound } from 'node:timers/promises';
import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../contract/model.ts';
import type { ListenMetrics } from '../../runtime/metrics.ts';
import { createQueue } from '../../runtime/queue.ts';
import { KEEP_ALIVE_BYTES } from '../protocol.ts';
import type { Pace, Valve } from './pace.ts';

export interface Message {
  bytes: Buffer;
  binary: boolean;
}

/**
 * Messages of one socket, to be pulled one by one, with `quiet` where audio paused. Ends with the socket or on request.
 */
export interface Inbox extends AsyncIterable<Message | 'quiet'> {
  /** From now on, reports pauses: also one before the first audio. */
  watchPauses(): void;
  /** Accepts no more messages; waiting ones are still delivered. */
  end(): void;
  /** Ends at once and drops waiting messages. */
  clear(): void;
}

interface InboxOptions {
  /** The socket is paused while more wait, so that TCP slows the peer down. */
  maxBytes: number;
  /** Silence after which the client has paused: its last speech does not wait for more audio. */
  quietMs: number;
  metrics: Pick<ListenMetrics, 'watch'>;
  valve: Valve;
  pace: Pick<Pace, 'spend'>;
  clock: Clock;
  onMessage(): void;
}

/** Memory of a waiting message beyond its bytes. */
const OVERHEAD_BYTES = 128;
/** A pause is this many waits without audio in a row: however long this process is held up, only one of them passes. */
const PAUSE_PARTS = 4;

export function createInbox(
  socket: WebSocket,
  { maxBytes, quietMs, metrics, valve, pace, clock, onMessage }: InboxOptions,
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
  const closed = new AbortController();
  let cameAudio = false;
  /** Whether a pause was reported and no audio came since. */
  let isPausing = false;

  async function reportPause() {
    isPausing = false;
    let quietParts = 0;
    while (quietParts < PAUSE_PARTS) {
      cameAudio = false;
      await clock.sleep(quietMs / PAUSE_PARTS, closed.signal);
      await nextRound(); // reads what came while this process was held up
      quietParts = cameAudio || socket.isPaused ? 0 : quietParts + 1; // what waits unread may be audio
    }
    isPausing = true;
    queue.push('quiet');
  }

  const watchPauses = () => void reportPause().catch(() => {}); // the socket is closed
  socket.on('close', () => {
    closed.abort();
    unwatch();
    queue.end();
  });
  socket.on('message', (data: RawData, binary: boolean) => {
    onMessage();
    pace.spend(1);
    // A closing socket is read to its end for the peer's close frame; messages beyond the limit are dropped.
    if (waitingBytes > maxBytes && !isOpen()) return;
    const bytes = toBuffer(data);
    if (binary && bytes.length > KEEP_ALIVE_BYTES) {
      cameAudio = true;
      if (isPausing) watchPauses();
    }
    queue.push({ bytes, binary });
    count(bytes.length + OVERHEAD_BYTES);
  });

  return {
    watchPauses,
    end: queue.end,
    clear: queue.clear,
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  };
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
