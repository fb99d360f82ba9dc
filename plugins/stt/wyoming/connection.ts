/** A connection for one request: sending waits until the server accepts the data, and one answer is read. */
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
  /** Resolves when more can be sent. Rejects when the connection is lost, or stalls for too long. */
  send(bytes: Uint8Array): Promise<void>;
  /** Data of the first event of the requested type; other events are ignored. */
  answer: Promise<Record<string, unknown>>;
  /** Waits for `answer`; rejects with `timeout` when that takes too long. */
  answerInTime(): Promise<Record<string, unknown>>;
  close(): void;
}

/** Opens a connection, which the caller closes. Rejections are `upstream_error`, `timeout`, or the signal's reason. */
export async function connect(
  { host, port, timeoutMs }: Server,
  wanted: string,
  signal: AbortSignal,
  { clock, error }: Pick<PluginContext<never>, 'clock' | 'error'>,
): Promise<Connection> {
  signal.throwIfAborted();
  const name = `wyoming: ${host}:${port}`;
  const answer = Promise.withResolvers<Record<string, unknown>>();
  answer.promise.catch(() => undefined); // the caller may read the answer later, or never
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
    end(error('upstream_error', `${name} reports an error`, { cause: new Error(codeOf(data)) }));
  }

  function end(reason: unknown): void {
    answer.reject(reason);
    signal.removeEventListener('abort', abort);
    socket.destroy();
  }

  /** Waits for an event of the socket, within the time limit, or until the connection ends. */
  function until(event: 'connect' | 'drain', complaint: string): Promise<void> {
    const happened = Promise.withResolvers<void>();
    socket.once(event, happened.resolve);
    // A server may answer and then read no more. The reader of the answer decides whether that is an error.
    return inTime(Promise.race([happened.promise, answer.promise.then(() => undefined)]), complaint).finally(
      () => socket.off(event, happened.resolve),
    );
  }

  function inTime<T>(promise: Promise<T>, complaint: string): Promise<T> {
    const late = () => error('timeout', `${name} ${complaint} within ${timeoutMs} ms`);
    return deadline({ clock, limitMs: timeoutMs, late }, () => promise);
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

/** Reads the code of an error event. Its text is not logged, as it may quote what was said. */
function codeOf({ code }: Record<string, unknown>): string {
  return typeof code === 'string' && /^[\w-]{1,64}$/.test(code) ? code : 'without a code';
}
