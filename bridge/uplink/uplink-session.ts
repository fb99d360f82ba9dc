import type { IncomingMessage } from 'node:http';
import { type RawData, WebSocket } from 'ws';
import { z } from 'zod';
import { CLOSE, KEEP_ALIVE_BYTES, ServerEvent, WireSegment } from '../../core/listen/protocol.ts';
import type { Clock } from '../clock.ts';
import type { Recording } from '../spool/recording.ts';
import type { SpoolRecord } from '../spool/spool-file.ts';
import type { PhotoCarrier } from './uplink-photos.ts';

export interface SessionLimits {
  /** Time limit for the connection to core, and again for its first message, which tells what it has already. */
  helloMs: number;
  /** Interval of keep-alive messages while there is no audio to send. */
  keepAliveMs: number;
  /** Interval of pings. A connection on which nothing arrives for four of these is dropped. */
  pingMs: number;
  /** Time without a new confirmation, after an ended recording was sent, after which the connection is closed. */
  finalAckMs: number;
  /** Bytes that may wait in the socket before reading from the spool pauses. */
  maxBufferedBytes: number;
}

/** How a connection to core ended. */
export type Ending =
  /** Core refused the connection with this HTTP status. */
  | { kind: 'refused'; status: number; retryAfterMs: number | null }
  /** The connection was closed by either side, or lost. `confirmed`: core confirmed some audio on it. */
  | { kind: 'closed'; code: number; reason: string; confirmed: boolean }
  /** The recording has ended and was sent completely. Missing confirmations are requested later. */
  | { kind: 'sent' }
  /** Core's message count differs from ours: continue at once with a new stream. */
  | { kind: 'restart' };

export interface SessionEvents {
  onHello(received: number): void;
  onSegments(segments: WireSegment[]): void;
  /** Called for all messages other than confirmations. */
  onMessage(message: ServerEvent): void;
}

export interface SessionOptions {
  /** `ws://host:port`, optionally with a path, to which `/v4/listen` is added. */
  core: string;
  key: string;
  recording: Recording;
  /**
   * Photos of the same wearable. Each is sent after the audio that is older than it; those taken by `upToMs` (UTC epoch
   * ms) are sent at once. Absent: it has no camera.
   */
  photos?: { carrier: PhotoCarrier; upToMs: number };
  /** Language code of the speech, or `multi`. */
  language: string;
  conversationTimeoutS: number;
  clock: Clock;
  limits: SessionLimits;
  /** Ends the session: what the recording holds is sent, then the connection closes. */
  signal: AbortSignal;
  events: SessionEvents;
}

const BATCH_MESSAGES = 64;
/** Time limit for the end of a session. What is not confirmed by then is sent again after the next start. */
const MAX_STOP_MS = 1000;
const KEEP_ALIVE = Buffer.alloc(Math.min(1, KEEP_ALIVE_BYTES));
const FromServer = z.union([z.array(WireSegment), ServerEvent]);

/** Builds the URL of a session. Without `from`, core continues at the first message that it does not have. */
function listenUrl({ core, recording, language, conversationTimeoutS }: SessionOptions): URL {
  const { info, stream } = recording;
  const url = new URL(core);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/v4/listen`; // a proxy may have put core below a path
  const query = {
    codec: info.codec,
    sample_rate: info.sampleRate,
    source: info.source,
    client_device_id: info.clientDeviceId,
    stream,
    started_at: new Date(recording.streamStartedAtMs).toISOString(),
    language,
    conversation_timeout: conversationTimeoutS,
    ack: 'enabled',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
}

/**
 * Sends a recording over one connection to `/v4/listen`, starting with the first message that core does not have, until
 * the recording ends. Never rejects.
 */
export function runSession(
  options: SessionOptions,
  wake: (listener: () => void) => () => void,
): Promise<Ending> {
  const { key, recording, clock, limits, signal, events } = options;
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const { base } = recording;
  const socket = new WebSocket(listenUrl(options), {
    headers: { authorization: `Bearer ${key}` },
    handshakeTimeout: limits.helloMs,
    perMessageDeflate: false,
    maxPayload: 16 * 1024 * 1024,
  });
  let ending: Ending | null = null;
  let cursor: number | null = null; // next number to send; null until core has reported what it has
  let confirmed = false;
  let aliveAt = clock.now();
  let sentAt = clock.now();
  let finalTimer: NodeJS.Timeout | null = null;
  let closeTimer: NodeJS.Timeout | null = null;
  let failure = '';
  const photos = options.photos?.carrier.open(sendText);

  const timers = [
    setInterval(checkAlive, limits.pingMs),
    setInterval(keepAlive, Math.max(10, Math.floor(limits.keepAliveMs / 4))),
  ];
  const hello = setTimeout(() => {
    failure = 'core did not answer';
    socket.terminate();
  }, limits.helloMs * 2);
  const unwatch = wake(pump);
  signal.addEventListener('abort', onAbort);

  socket.on('unexpected-response', (request, response) => {
    ending = { kind: 'refused', status: response.statusCode ?? 0, retryAfterMs: retryAfter(response) };
    request.destroy();
    socket.terminate();
  });
  socket.on('error', error => {
    failure = error.message;
  });
  socket.on('message', onMessage);
  for (const sign of ['ping', 'pong', 'message', 'open'])
    socket.on(sign, () => {
      aliveAt = clock.now();
    });
  socket.on('close', (code, reason) => {
    for (const timer of timers) clearInterval(timer);
    clearTimeout(hello);
    if (closeTimer) clearTimeout(closeTimer);
    stopFinalTimer();
    photos?.stop(0);
    unwatch();
    signal.removeEventListener('abort', onAbort);
    resolve(ending ?? { kind: 'closed', code, reason: reason.toString() || failure, confirmed });
  });

  /** Closes the connection after the current photo: one whose answer is missed may be stored twice. */
  function finish(how: Ending): void {
    if (ending) return;
    ending = how;
    if (how.kind !== 'sent') photos?.stop(limits.helloMs);
    void Promise.resolve(photos?.settled()).then(() => {
      socket.close(CLOSE.normal);
      closeTimer ??= setTimeout(() => socket.terminate(), signal.aborted ? MAX_STOP_MS : limits.helloMs);
    });
  }

  function onAbort(): void {
    photos?.stop(MAX_STOP_MS);
    stopFinalTimer();
    pump();
  }

  function stopFinalTimer(): void {
    if (finalTimer) clearTimeout(finalTimer);
    finalTimer = null;
  }

  // ── to core ───────────────────────────────────────────────────────────────────────────────────────────────────

  function pump(): void {
    if (ending) return;
    if (cursor === null) {
      if (signal.aborted) awaitFinalAck();
      return;
    }
    if (socket.readyState === WebSocket.OPEN) sendFrom(cursor);
  }

  /** Sends messages until there are no more, or the socket is full. */
  function sendFrom(start: number): void {
    let at = start;
    while (socket.bufferedAmount < limits.maxBufferedBytes) {
      const batch = recording.read(at, BATCH_MESSAGES);
      if (!batch) {
        recording.skip(at);
        finish({ kind: 'restart' });
        return;
      }
      if (batch.length === 0) break;
      for (const record of batch) sendRecord(record);
      at += batch.length;
      cursor = at;
      recording.sent(at);
      photos?.upTo(recording.info.startedAtMs + (batch.at(-1)?.atMs ?? 0));
    }
    if (at >= recording.next && !recording.ended) photos?.upTo(Number.POSITIVE_INFINITY);
    if (at >= recording.next && (recording.ended || signal.aborted)) awaitFinalAck();
  }

  function sendRecord({ gapMs, bytes }: SpoolRecord): void {
    if (gapMs > 0) socket.send(JSON.stringify({ type: 'gap', ms: gapMs }));
    socket.send(bytes, sentOne);
    sentAt = clock.now();
  }

  function sendText(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      socket.send(text, error => (error ? reject(error) : resolve()));
    });
  }

  /** Called after each message that was sent. Continues once the socket has room again. */
  function sentOne(): void {
    if (cursor !== null && cursor < recording.next && socket.bufferedAmount < limits.maxBufferedBytes / 2)
      pump();
  }

  /** Closes the connection after a time: core confirms an utterance in progress only when it ends. */
  function awaitFinalAck(): void {
    const limitMs = signal.aborted ? Math.min(MAX_STOP_MS, limits.finalAckMs) : limits.finalAckMs;
    finalTimer ??= setTimeout(() => finish({ kind: 'sent' }), limitMs);
  }

  function keepAlive(): void {
    if (cursor === null || socket.readyState !== WebSocket.OPEN) return;
    if (clock.now() - sentAt < limits.keepAliveMs) return;
    sentAt = clock.now();
    socket.send(KEEP_ALIVE);
  }

  function checkAlive(): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (clock.now() - aliveAt > limits.pingMs * 4) {
      failure = 'core does not respond';
      socket.terminate();
    } else socket.ping();
  }

  // ── from core ─────────────────────────────────────────────────────────────────────────────────────────────────

  function onMessage(data: RawData, isBinary: boolean): void {
    const message = isBinary ? null : parse(data.toString());
    if (message === null) return;
    if (Array.isArray(message)) events.onSegments(message);
    else if (message.type === 'ack') onAck(message.messages);
    else {
      if (message.type === 'conversation_session' && cursor === null) onHello(message.received ?? 0);
      photos?.onMessage(message);
      events.onMessage(message);
    }
  }

  function onHello(received: number): void {
    clearTimeout(hello);
    const at = base + received;
    if (at > recording.next && !recording.ended) {
      recording.skip(recording.first); // core has more messages than this recording ever had: start a new stream
      finish({ kind: 'restart' });
      return;
    }
    cursor = at;
    events.onHello(received);
    photos?.upTo(Math.max(options.photos?.upToMs ?? 0, recording.streamStartedAtMs));
    confirm(received);
    pump();
  }

  function onAck(messages: number): void {
    confirmed = true;
    confirm(messages);
    if (!finalTimer) return;
    stopFinalTimer();
    pump();
  }

  function confirm(messages: number): void {
    recording.cut(base + messages);
    const everything = recording.ended && base + messages >= recording.next;
    if (everything) finish({ kind: 'sent' });
  }

  return promise;
}

/** Parses a message of core. Null: unknown to this bridge. */
function parse(text: string): ServerEvent | WireSegment[] | null {
  try {
    return FromServer.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function retryAfter({ headers }: IncomingMessage): number | null {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}
