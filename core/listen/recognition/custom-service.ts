/**
 * The external recognition service: a client sends speech as binary messages over a WebSocket, then
 * `{"type":"CloseStream"}`, and gets `{"segments": […]}` meanwhile. The plugin `custom-stt` is such a client.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { parseJson } from '../../../plugins/kit/json.ts';
import { SAMPLE_RATE } from '../../audio/pcm.ts';
import type { Clock } from '../../contract/model.ts';
import type { Transcript } from '../../contract/plugin.ts';
import { AppError, type ErrorCode, toAppError } from '../../runtime/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { closeSocket } from '../connection/closing.ts';
import { CLOSE } from '../protocol.ts';
import { createIntake } from './intake.ts';
import type { Recognition } from './recognition.ts';
import { createSessions, type Limits, type Session, shownTo, watchIdle } from './sessions.ts';

interface Options {
  recognition: Recognition;
  /** Token that clients have to send; null: none. */
  token: string | null;
  limits: Limits;
  clock: Clock;
  log: Log;
}

const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Maximum bytes of answers that a client has not read. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** Time limit for the request that opens a WebSocket. */
const HEADERS_MS = 10_000;
/** Maximum connections without a complete request. */
const MAX_UNASKED = 32;
const FORMAT = { codec: 'pcm16', sampleRate: SAMPLE_RATE, channels: 1 } as const;
const BASE = 'ws://recogniser';

/** An HTTP server that does not listen yet, and what stops its sessions. */
export function createCustomService({ recognition, token, limits, clock, log }: Options) {
  const sessions = createSessions(limits);
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    autoPong: false, // a client that pings without reading would be held any number of pongs
    maxBufferedChunks: 16_384,
    maxPayload: MAX_MESSAGE_BYTES,
  });
  const headersMs = Math.min(HEADERS_MS, limits.idleMs);
  const server = createServer({
    headersTimeout: headersMs,
    requestTimeout: headersMs,
    keepAliveTimeout: headersMs,
    connectionsCheckingInterval: 1000,
  });
  server.maxConnections = limits.connections + MAX_UNASKED;
  server.on('request', (_, response) => {
    response.writeHead(426, { connection: 'close', upgrade: 'websocket', 'content-type': 'text/plain' });
    response.end('This is a recogniser: connect with a WebSocket, and send speech as binary messages.\n');
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined); // a client may hang up at any time
    try {
      checkClient(request, token);
      sessions.admit();
    } catch (thrown) {
      return refuse(socket, shownTo(addressOf(request), thrown, log));
    }
    sockets.handleUpgrade(request, socket, head, client => sessions.add(converse(client, request)));
  });

  function converse(socket: WebSocket, request: IncomingMessage): Session {
    const language = new URL(request.url ?? '', BASE).searchParams.get('language');
    const leaving = new AbortController();
    const { signal } = leaving;
    const closed = Promise.withResolvers<void>();
    const intake = createIntake({ format: FORMAT, seconds: limits.seconds, source: socket, signal });
    const idle = watchIdle(limits.idleMs, () => !intake.isFull && !intake.isOver, fail);
    let isAnswering = false;

    function fail(thrown: unknown) {
      if (signal.aborted) return;
      const error = shownTo(addressOf(request), thrown, log);
      leaving.abort(error);
      idle.end();
      send({ type: 'Error', code: error.code, message: error.message });
      closeSocket(socket, CLOSE_CODES[error.code] ?? CLOSE.failed, error.message, clock);
    }

    function send(message: object) {
      if (socket.readyState !== socket.OPEN) return;
      if (socket.bufferedAmount > MAX_UNSENT_BYTES) socket.terminate();
      else socket.send(JSON.stringify(message), () => undefined); // a failure closes it
    }

    async function answer() {
      let sent = 0;
      const pieces = recognition.recognise(intake.samples(), { language, wish: null, signal });
      for await (const piece of pieces) {
        send({ segments: [segmentOf(piece)] });
        sent += 1;
      }
      if (sent === 0) send({ segments: [] });
      closeSocket(socket, CLOSE.normal, '', clock);
    }

    socket.on('message', (data: Buffer, isBinary) => {
      idle.alive();
      if (intake.isOver || signal.aborted) return;
      if (!isAnswering) answer().catch(fail);
      isAnswering = true;
      try {
        if (isBinary) intake.take(data);
        else if (isEnd(data.toString())) intake.end();
      } catch (thrown) {
        fail(thrown);
      }
    });
    socket.on('ping', data => {
      idle.alive();
      if (socket.bufferedAmount < MAX_UNSENT_BYTES) socket.pong(data, undefined, () => undefined);
    });
    socket.on('error', error => log.info({ client: addressOf(request), err: error }, 'a client broke off'));
    socket.on('close', () => {
      idle.end();
      leaving.abort(new AppError('unavailable', 'The client has left'));
      closed.resolve();
    });
    return {
      get isFinishing() {
        return intake.isOver;
      },
      fail,
      closed: closed.promise,
    };
  }

  async function stop() {
    server.closeAllConnections(); // of those that have not become WebSockets
    await sessions.stop(clock);
  }

  return { server, stop };
}

const CLOSE_CODES: Partial<Record<ErrorCode, number>> = {
  too_large: CLOSE.tooBig,
  too_slow: CLOSE.policy,
  invalid_request: CLOSE.policy,
  config_error: CLOSE.tryLater,
  unavailable: CLOSE.restarting,
};

/** Messages of other types are ignored, as the client ignores ours. @throws {AppError} `invalid_request` */
function isEnd(message: string): boolean {
  const said = parseJson(message);
  if (said === undefined)
    throw new AppError('invalid_request', 'A text message must be JSON, as {"type":"CloseStream"}');
  return Object(said).type === 'CloseStream';
}

function segmentOf({ text, speaker, startSample, endSample }: Transcript) {
  return {
    text: text.trim(),
    ...(speaker === undefined ? {} : { speaker }),
    start: startSample / SAMPLE_RATE,
    end: endSample / SAMPLE_RATE,
  };
}

/** Refuses pages in browsers, of any origin, if no token is required. @throws {AppError} */
function checkClient({ headers, url }: IncomingMessage, token: string | null): void {
  if (!URL.canParse(url ?? '', BASE)) throw new AppError('invalid_request', 'The path is no path');
  if (token === null && headers.origin !== undefined)
    throw new AppError('forbidden', 'Pages in a browser are not served without --token-file');
  const [, sent = ''] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  if (token !== null && !timingSafeEqual(digest(sent), digest(token)))
    throw new AppError('unauthorized', 'Send the token of the recogniser as Authorization: Bearer');
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function refuse(socket: Duplex, thrown: unknown): void {
  const { status, message } = toAppError(thrown);
  const body = `${message}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: text/plain',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? 'unknown';
}
