/** A WebSocket connection to a recogniser, with limits of time and size, and errors by cause. */
import WebSocket from 'ws';
import type { PluginContext, Utterance } from '../../../core/contract/plugin.ts';
import { deadline } from '../../../core/runtime/deadline.ts';
import { untrustedCertificate } from '../http.ts';

export interface Place {
  /** The plugin's name, for messages. */
  plugin: string;
  url: URL;
  headers?: Record<string, string>;
  /** Time limit for each: to connect, to accept audio, and to answer after the end of speech. */
  timeoutMs: number;
  /** Names of the options that hold the address and the key, for messages. */
  options: { url: string; key?: string };
}

export interface Wire {
  /** Resolves once it is written; rejects with `timeout` where the server does not read. */
  send(data: string | Uint8Array): Promise<void>;
  /**
   * Returns the next text message; null: the server closed the connection normally. Rejects with the cause of an
   * abnormal end. One reader at a time.
   */
  next(): Promise<string | null>;
  /**
   * Requires an answer from now on: without one in time the connection ends with `timeout`. Returns a function that
   * cancels this, as the end of the connection does.
   */
  expect(): () => void;
  /** Ends the connection with this reason. */
  fail(reason: unknown): void;
  /** Rejects when the connection is lost, resolves when either side closes it normally. */
  readonly over: Promise<void>;
  readonly isOpen: boolean;
  close(): void;
}

type Context = Pick<PluginContext<never>, 'clock' | 'error'>;

const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Maximum number of unread messages. */
const MAX_WAITING = 10_000;
/** Audio in one message: a fifth of a second. */
const CHUNK_SAMPLES = 3200;

/** Connects. Rejects with `config_error` for a refused key or certificate, else `upstream_error`, `timeout`, or the signal's reason. */
export async function connectSocket(
  place: Place,
  { clock, error }: Context,
  signal: AbortSignal,
): Promise<Wire> {
  signal.throwIfAborted();
  const { plugin, url, timeoutMs } = place;
  const name = `${plugin}: ${url.host}`;
  const socket = new WebSocket(url, {
    headers: place.headers ?? {},
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    followRedirects: false,
  });
  const waiting: string[] = [];
  const opened = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  let failure: unknown = null;
  let isOver = false;
  let changed = Promise.withResolvers<void>();
  opened.promise.catch(() => undefined); // it may end before anyone waits
  over.promise.catch(() => undefined);

  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  function end(reason: unknown) {
    if (isOver) return;
    isOver = true;
    failure = reason;
    signal.removeEventListener('abort', abort);
    if (reason === null) over.resolve();
    else over.reject(reason);
    opened.reject(reason ?? error('upstream_error', `${name} closed the connection`));
    change();
    socket.terminate();
  }
  const abort = () => end(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  socket.on('open', opened.resolve);
  socket.on('unexpected-response', (_, { statusCode = 0 }) => end(refused(statusCode)));
  socket.on('error', cause => end(broken(cause)));
  socket.on('close', code => {
    // 1001 means that the server stops, even if it still owed an answer.
    const isGood = code === 1000 || code === 1005;
    end(isGood ? null : error('upstream_error', `${name} closed the connection (${code})`));
  });
  socket.on('message', (data, isBinary) => {
    if (isBinary) return;
    if (waiting.push(data.toString()) > MAX_WAITING)
      end(error('upstream_error', `${name} sends more than anybody reads`));
    change();
  });

  function refused(status: number) {
    const { key = place.options.url } = place.options;
    if (status === 401 || status === 403)
      return error('config_error', `${name} refuses the key (${status}); correct plugins.${plugin}.${key}`);
    return error('upstream_error', `${name} refuses the connection (${status})`);
  }

  function broken(cause: Error & { code?: string }) {
    const certificate = untrustedCertificate(cause, `plugins.${plugin}.${place.options.url}`);
    if (certificate !== null) return error('config_error', `${name} ${certificate}`);
    const remedy = `start the server there, or correct plugins.${plugin}.${place.options.url}`;
    return error('upstream_error', `${name} cannot be reached, or broke off; ${remedy}`, { cause });
  }

  const late = (what: string) => error('timeout', `${name} ${what} within ${timeoutMs} ms`);

  function inTime<T>(work: Promise<T>, what: string): Promise<T> {
    return deadline({ limitMs: timeoutMs, late: () => late(what), clock }, () => work);
  }

  function expect() {
    const off = new AbortController();
    const cancel = () => off.abort();
    over.promise.then(cancel, cancel);
    clock.sleep(timeoutMs, off.signal).then(
      () => end(late('did not answer')),
      () => undefined, // cancelled
    );
    return cancel;
  }

  async function take(): Promise<string | null> {
    for (;;) {
      const message = waiting.shift();
      if (message !== undefined) return message;
      if (isOver && failure !== null) throw failure;
      if (isOver) return null;
      await changed.promise;
    }
  }

  try {
    await inTime(opened.promise, 'could not be reached');
  } catch (reason) {
    end(reason);
    throw reason;
  }
  return {
    send(data) {
      if (isOver) return Promise.reject(failure ?? error('upstream_error', `${name} closed the connection`));
      const written = Promise.withResolvers<void>();
      socket.send(data, cause => (cause ? written.reject(failure ?? broken(cause)) : written.resolve()));
      return inTime(Promise.race([written.promise, over.promise]), 'took no more audio');
    },
    next: take,
    expect,
    fail: end,
    over: over.promise,
    get isOpen() {
      return !isOver;
    },
    close() {
      if (isOver) return;
      socket.close(1000);
      end(null);
    },
  };
}

/**
 * Sends speech as it is spoken, in small messages, then `last`, after which an answer is required. Failures end the
 * connection, which its reader sees.
 * @returns a function that cancels the requirement, once all is sent
 */
export async function sendSpeech(
  wire: Wire,
  utterance: Utterance,
  last: string,
): Promise<(() => void) | null> {
  const chunks = utterance.pcm()[Symbol.asyncIterator]();
  const lost = wire.over.then(() => null);
  lost.catch(() => undefined);
  try {
    for (;;) {
      // The next chunk may take long to arrive; a lost connection does not wait for it.
      const next = await Promise.race([chunks.next(), lost]);
      if (next === null) return null;
      if (next.done) break;
      for (let at = 0; at < next.value.length; at += CHUNK_SAMPLES) {
        const samples = next.value.subarray(at, at + CHUNK_SAMPLES);
        await wire.send(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
      }
    }
    await wire.send(last);
    return wire.expect();
  } catch (reason) {
    wire.fail(reason);
    return null;
  } finally {
    void chunks.return?.().catch(() => undefined); // it may wait for speech that is no longer needed
  }
}

/** A message of the server, and whether all speech and `last` had been sent by then. */
export interface Answer {
  message: string;
  isAfterEnd: boolean;
}

/**
 * Sends speech as `sendSpeech` does, and yields the server's messages until it closes the connection normally. Throws
 * the cause of an abnormal end, and `closed` where the server closes before the speech has ended.
 */
export async function* answersTo(
  wire: Wire,
  { utterance, last, closed }: { utterance: Utterance; last: string; closed: () => Error },
): AsyncGenerator<Answer> {
  let isAfterEnd = false;
  const sent = sendSpeech(wire, utterance, last).then(callOff => {
    isAfterEnd = callOff !== null;
    return callOff;
  });
  for (let message = await wire.next(); message !== null; message = await wire.next())
    yield { message, isAfterEnd };
  const callOff = await sent;
  if (callOff === null) throw closed();
  callOff();
}

/** Clamps a position between two others; returns the lower one where they are out of order. */
export function within(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(Math.round(value), most));
}
