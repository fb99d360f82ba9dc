import type { WebSocket } from 'ws';

/** Outgoing messages that clients have not read yet, over all sockets. */
export interface Unsent {
  send(socket: WebSocket, text: string): void;
  /** Returns the unread bytes of this socket. */
  of(socket: WebSocket): number;
}

interface UnsentOptions {
  /**
   * Limit per socket, in addition to its largest message, which may be a whole conversation; beyond it the socket is
   * closed.
   */
  maxBytes: number;
  /** Limit for all sockets; beyond it the socket is closed that has held the most for the longest without reading. */
  maxTotalBytes: number;
  onTooMuch(socket: WebSocket): void;
  /** A steady clock, in ms. */
  now?: () => number;
}

interface Waiting {
  bytes: number;
  /** Sizes of its large waiting messages; there are few. */
  large: number[];
  /** When it last read something, or had nothing to read. */
  readAt: number;
}

/** Memory of a waiting message beyond its bytes: its frame's header, and the stream's record of the write. */
const OVERHEAD_BYTES = 512;
/**
 * Longer messages are split into frames of this size, each of which shows, once read, that the reader makes progress.
 */
const FRAME_CHARS = 64 * 1024;

export function createUnsent({
  maxBytes,
  maxTotalBytes,
  onTooMuch,
  now = () => performance.now(),
}: UnsentOptions): Unsent {
  const waiting = new Map<WebSocket, Waiting>();
  let total = 0;

  function add(socket: WebSocket, bytes: number, isLarge: boolean): Waiting {
    const own = waiting.get(socket) ?? { bytes: 0, large: [], readAt: now() };
    waiting.set(socket, own);
    own.bytes += bytes;
    total += bytes;
    if (isLarge) own.large.push(bytes);
    return own;
  }

  function wasRead(socket: WebSocket, own: Waiting, bytes: number) {
    own.bytes -= bytes;
    own.readAt = now();
    total -= bytes;
    if (own.bytes === 0) waiting.delete(socket);
  }

  function cutOffWorst() {
    const at = now();
    const cost = ({ bytes, readAt }: Waiting) => bytes * (1 + at - readAt);
    const [worst] = [...waiting].sort(([, a], [, b]) => cost(b) - cost(a));
    worst?.[0].terminate();
  }

  return {
    of: socket => waiting.get(socket)?.bytes ?? 0,
    send(socket, text) {
      if (socket.readyState !== socket.OPEN) return;
      const frames = framesOf(text);
      const sizes = frames.map(frame => Buffer.byteLength(frame) + OVERHEAD_BYTES);
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      const isLarge = frames.length > 1;
      const own = add(socket, bytes, isLarge);
      for (const [place, frame] of frames.entries()) {
        const fin = place === frames.length - 1;
        socket.send(frame, { fin }, () => {
          wasRead(socket, own, sizes[place] ?? 0);
          if (fin && isLarge) own.large.shift();
        });
      }
      if (own.bytes - Math.max(0, ...own.large) > maxBytes) onTooMuch(socket);
      if (total > maxTotalBytes) cutOffWorst();
    },
  };
}

/** Splits the text between characters, for clients that decode each frame by itself. */
function framesOf(text: string): string[] {
  const frames: string[] = [];
  for (let from = 0; from < text.length || frames.length === 0; ) {
    const most = from + FRAME_CHARS;
    const cutsCharacter =
      /[\uDC00-\uDFFF]/.test(text[most] ?? '') && /[\uD800-\uDBFF]/.test(text[most - 1] ?? '');
    const to = cutsCharacter ? most - 1 : most;
    frames.push(text.slice(from, to));
    from = to;
  }
  return frames;
}
