/** Sign-in by the first message of a connection, for clients that cannot send a header. */
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { Clock } from '../../contract/model.ts';
import { CLOSE } from '../protocol.ts';
import { closeSocket } from './closing.ts';
import type { Inbox } from './inbox.ts';
import type { Valve } from './pace.ts';

const AUTH_WAIT_MS = 5000;
/** Limit for the first message of an unauthenticated client, frame header included. */
const MAX_SIGN_IN_BYTES = 8 * 1024;
const Auth = z.object({ type: z.literal('auth'), token: z.string() });

interface SignInOptions {
  socket: WebSocket;
  /** The connection below the socket. */
  wire: Socket;
  inbox: Inbox;
  valve: Valve;
  /** Ends the wait for the first message. */
  signal: AbortSignal;
  clock: Clock;
}

/**
 * Waits for the first message, and passes its token to `check`. Nothing behind it is read before that has decided.
 * @param check gets null where the message contains no token, or came too late
 */
export async function signIn<T>(
  { socket, wire, inbox, valve, signal, clock }: SignInOptions,
  check: (token: string | null) => Promise<T>,
): Promise<T> {
  const unlimit = limitSignIn(socket, wire, clock);
  const hold = () => valve.hold('sign-in');
  socket.once('message', hold);
  try {
    return await check(await firstToken(inbox, signal));
  } finally {
    unlimit();
    socket.off('message', hold);
    valve.release('sign-in');
  }
}

/**
 * Reads the credential from the client's first message. Null: it contains none, or came too late.
 * @param signal ends the wait
 */
async function firstToken(inbox: Inbox, signal: AbortSignal): Promise<string | null> {
  // A round later, because the message may have come in time, and this process was held up.
  let giveUp: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    giveUp = setImmediate(inbox.clear);
  }, AUTH_WAIT_MS);
  signal.addEventListener('abort', inbox.clear);
  try {
    const first = await inbox[Symbol.asyncIterator]().next();
    return first.done || first.value === 'quiet' ? null : tokenOf(first.value.bytes);
  } finally {
    clearTimeout(timer);
    clearImmediate(giveUp);
    signal.removeEventListener('abort', inbox.clear);
  }
}

function tokenOf(bytes: Buffer): string | null {
  try {
    return Auth.parse(JSON.parse(bytes.toString('utf8'))).token;
  } catch {
    return null;
  }
}

/**
 * Closes a client that sends more than a sign-in needs before its first message is complete. Returns a function that
 * lifts the limit.
 */
function limitSignIn(socket: WebSocket, wire: Socket, clock: Clock): () => void {
  let bytes = 0;
  let isOver = false;
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (isOver || bytes <= MAX_SIGN_IN_BYTES) return; // the chunk may have completed the message
    stop();
    closeSocket(socket, CLOSE.tooBig, `more than ${MAX_SIGN_IN_BYTES} bytes before the sign-in`, clock);
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
