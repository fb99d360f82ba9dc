import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { CLOSE } from '../protocol.ts';
import { closeSocket } from './closing.ts';
import type { Pace } from './pace.ts';

/** Limit for the first message of an unauthenticated client, frame header included. */
const MAX_SIGN_IN_BYTES = 8 * 1024;
/** Pongs are sent only while fewer unread bytes wait, for clients that do not read them. */
const MAX_UNREAD_PONGS_BYTES = 64 * 1024;
/**
 * Price of fragments, which no message event shows, by their processing time: one token per 20 µs, about one message.
 */
const TOKENS_PER_MS = 50;
/** Upper bound of that price: a process that was suspended meanwhile is not the client's fault. */
const MAX_CHUNK_TOKENS = 2000;
/** Price of bytes, so that few large messages cost as much as many small ones: 5,000 tokens a second are 10 MB. */
const BYTES_PER_TOKEN = 2048;

/** Charges a connection for every frame and byte, and answers pings. */
export function chargeFrames(socket: WebSocket, wire: Socket, pace: Pick<Pace, 'spend'>): void {
  let beganAt = 0;
  wire.prependListener('data', () => {
    beganAt = performance.now();
  });
  wire.on('data', chunk => {
    const took = Math.min(MAX_CHUNK_TOKENS, (performance.now() - beganAt) * TOKENS_PER_MS);
    pace.spend(took + chunk.length / BYTES_PER_TOKEN);
  });
  socket.on('ping', data => {
    pace.spend(1);
    if (socket.bufferedAmount < MAX_UNREAD_PONGS_BYTES) socket.pong(data);
  });
  socket.on('pong', () => pace.spend(1));
}

/**
 * Closes a client that sends more than a sign-in needs before its first message is complete. Returns a function that
 * lifts the limit.
 */
export function limitSignIn(socket: WebSocket, wire: Socket): () => void {
  let bytes = 0;
  let isOver = false;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (isOver || bytes <= MAX_SIGN_IN_BYTES) return; // the chunk may have completed the message
    stop();
    closeSocket(socket, CLOSE.tooBig, `more than ${MAX_SIGN_IN_BYTES} bytes before the sign-in`);
    socket.pause(); // or the rest of the message would still be read
  };
  const stop = () => {
    isOver = true;
    wire.off('data', count);
  };
  wire.on('data', count);
  socket.once('message', stop);
  return stop;
}
