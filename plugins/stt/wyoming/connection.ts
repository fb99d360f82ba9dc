/** One connection for one question: what is sent waits for the server to take it, what comes is one answer. */
import { connect as connectSocket } from 'node:net';
import type { PluginContext } from '../../../core/contract/plugin.ts';
import { deadline } from '../../kit/kit.ts';
import { createEventReader, type WyomingEvent } from '../../kit/wyoming/events.ts';

export interface Server {
  host: string;
  port: number;
  timeoutMs: number;
}

export interface Connection {
  /** Resolves once there is room for more. Rejects when the connection is lost, or stands still for too long. */
  send(bytes: Uint8Array): Promise<void>;
  /** The data of the first event of the type that was wanted; other events are passed over. */
  answer: Promise<Record<string, unknown>>;
  /** The same, or `timeout`. */
  answerInTime(): Promise<Record<string, unknown>>;
  close(): void;
}

/** Rejections are `upstream_error`, `timeout`, or the signal's reason. Whoever opens it closes it. */
export async function connect(
  { host, port, timeoutMs }: Server,
  wanted: string,
  signal: AbortSignal,
  error: PluginContext<never>['error'],
): Promise<Connection> {
  signal.throwIfAborted();
  const name = `wyoming: ${host}:${port}`;
  const answer = Promise.withResolvers<Record<string, unknown>>();
  answer.promise.catch(() => undefined); // it may be asked for later, or never
  const reader = createEventReader();
  const socket = connectSocket({ host, port, noDelay: true });
  const abort = () => end(signal.reason);
  signal.addEventListener('abort', abort, { once: true });

  socket.on('data', receive);
  socket.on('error', cause => {
    const remedy = 'start the server there, or correct plugins.wyoming.host and plugins.wyoming.port';
    end(error('upstream_error', `${name} cannot be reached, or broke off; ${remedy}`, { cause }));
  });
  socket.on('close', () => end(error('upstream_error', `${name} closed the connection without an answer`)));

  function receive(bytes: Buffer): void {
    try {
      for (const event of reader.push(bytes)) take(event);
    } catch (cause) {
      end(error('upstream_error', `${name} does not speak the Wyoming protocol`, { cause }));
    }
  }

  function take({ type, data }: WyomingEvent): void {
    if (type === wanted) answer.resolve(data);
    if (type !== 'error') return;
    end(error('upstream_error', `${name} reports an error`, { cause: new Error(wordsOf(data)) }));
  }

  function end(reason: unknown): void {
    answer.reject(reason);
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }

  /** Waits for an event of the socket, no longer than allowed; what ends the connection ends the wait. */
  function until(event: 'connect' | 'drain', complaint: string): Promise<void> {
    const happened = Promise.withResolvers<void>();
    socket.once(event, happened.resolve);
    // A server may answer and then take no more: that is for the reader of the answer to judge.
    return inTime(Promise.race([happened.promise, answer.promise.then(() => undefined)]), complaint).finally(
      () => socket.off(event, happened.resolve),
    );
  }

  function inTime<T>(promise: Promise<T>, complaint: string): Promise<T> {
    const late = () => error('timeout', `${name} ${complaint} within ${timeoutMs} ms`);
    return deadline({ limitMs: timeoutMs, late }, () => promise);
  }

  async function send(bytes: Uint8Array): Promise<void> {
    if (socket.destroyed) await answer.promise;
    else if (!socket.write(bytes)) await until('drain', 'took no more audio');
  }

  try {
    await until('connect', 'could not be reached');
  } catch (reason) {
    end(reason);
    throw reason;
  }
  return {
    send,
    answer: answer.promise,
    answerInTime: () => inTime(answer.promise, 'did not answer'),
    close: () => end(error('upstream_error', `${name}: the connection is closed`)),
  };
}

function wordsOf({ code, text }: Record<string, unknown>): string {
  return `${String(code ?? 'error')}: ${String(text ?? '').slice(0, 500)}`;
}
