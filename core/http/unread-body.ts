import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Bytes of an unread body that are discarded to keep the connection; for more, it is closed. */
const MAX_DISCARDED_BYTES = 64 * 1024;
/** Time for the client to read the response before the connection is reset. */
const LINGER_MS = 2000;

type Exchange = { req: IncomingMessage; res: ServerResponse };

/** Tells whether the client may still send more of the body than is worth discarding. */
export function isWorthClosing({ complete, headers }: IncomingMessage): boolean {
  if (headers.expect !== undefined) return true; // its body may never arrive, or is not waited for
  if (complete) return false;
  if (headers['transfer-encoding'] !== undefined) return true;
  return Number(headers['content-length'] ?? 0) > MAX_DISCARDED_BYTES;
}

/**
 * Called when the response is decided: stops reading the rest of the body where the connection is to be closed, and
 * discards it where the connection is kept.
 */
export function leaveBody({ req, res }: Exchange): void {
  if (req.complete) return;
  if (res.getHeader('Connection') !== 'close') return void req.resume();
  const { socket } = req;
  req.pause().read(); // a request of which nothing was ever read would be read to its end by Node itself
  socket.destroySoon = () => {
    socket.end();
    linger(socket);
  };
}

/**
 * Closes a connection that was ended, but not at once: a socket that is closed with unread bytes resets the connection,
 * and the client would lose the response.
 */
export function linger(socket: Duplex): void {
  socket.pause(); // not earlier: a socket that is paused before it starts reading continues to read
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
