/** Closing of connections by the server. */
import type { WebSocket } from 'ws';
import type { Clock } from '../../contract/model.ts';
import { waitAtMost } from '../../runtime/deadline.ts';
import { AppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { CLOSE } from '../protocol.ts';
import type { Send } from '../thread.ts';
import { Refusal } from './parameters.ts';

/** A peer that does not answer the close frame is cut off after this. */
const CLOSE_WAIT_MS = 2000;
/** Bytes of a close reason; WebSocket allows three more. */
const MAX_REASON_BYTES = 120;

export function closeSocket(socket: WebSocket, code: number, reason: string, clock: Clock): void {
  if (socket.readyState === socket.CLOSED) return;
  socket.resume();
  const fitting = Buffer.from(reason).subarray(0, MAX_REASON_BYTES).toString('utf8');
  socket.close(code, fitting.replace(/\uFFFD$/, ''));
  const closed = new Promise(resolve => socket.once('close', resolve));
  void waitAtMost({ clock, limitMs: CLOSE_WAIT_MS }, closed).then(() => socket.terminate());
}

/** Closes with the code and reason that fit `error`. Details of no use to the client are logged. */
export function refuse(
  socket: WebSocket,
  error: unknown,
  { send, log, clock }: { send: Send; log: Log; clock: Clock },
): void {
  if (error instanceof AppError && error.code === 'storage_full')
    send({ type: 'error', code: error.code, message: error.message });
  const [code, reason] = closingOf(error, log);
  closeSocket(socket, code, reason, clock);
}

function closingOf(error: unknown, log: Log): [code: number, reason: string] {
  if (error instanceof Refusal) return [error.closeCode, error.message];
  if (error instanceof AppError && error.code === 'unsupported_media') {
    log.warn({ err: error }, 'a codec is not installed');
    return [CLOSE.unsupportedAudio, error.message];
  }
  if (error instanceof AppError && error.expose && error.retryable) {
    log.warn({ err: error }, 'connection cannot be served now');
    return [CLOSE.tryLater, error.message];
  }
  log.error({ err: error }, 'connection failed');
  return [CLOSE.failed, 'internal error'];
}
