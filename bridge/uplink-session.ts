import type { IncomingMessage } from 'node:http';
import { type RawData, WebSocket } from 'ws';
import { z } from 'zod';
import { CLOSE, KEEP_ALIVE_BYTES, ServerEvent, WireSegment } from '../core/listen/protocol.ts';
import type { Clock } from './clock.ts';
import type { Recording } from './recording.ts';
import type { SpoolRecord } from './spool-file.ts';

export interface SessionLimits {
  /** Until core has answered the request to connect, and again until it has told what it holds already. */
  helloMs: number;
  /** Without any audio to send, a keep-alive goes out so often. */
  keepAliveMs: number;
  /** Between our own pings; a connection without any sign of life for four of these is dropped. */
  pingMs: number;
  /** After the last message of an ended recording: without a new confirmation for so long, the rest is asked for later. */
  finalAckMs: number;
  /** As much may wait in the socket before no more is read from the spool. */
  maxBufferedBytes: number;
}

/** How a connection to core ended. */
export type Ending =
  /** Core refused before there was a connection, with this HTTP status. */
  | { kind: 'refused'; status: number; retryAfterMs: number | null }
  /** Closed, by either side or by the network. `confirmed`: core confirmed something meanwhile. */
  | { kind: 'closed'; code: number; reason: string; confirmed: boolean }
  /** Everything was sent and the recording has ended; what core did not confirm yet is to be asked for later. */
  | { kind: 'sent' }
  /** Core's count and ours differ: go on at once with a new stream. */
  | { kind: 'restart' };

export interface SessionEvents {
  onHello(received: number): void;
  onSegments(segments: WireSegment[]): void;
  /** Everything else, confirmations aside. */
  onMessage(message: ServerEvent): void;
}

export interface SessionOptions {
  /** `ws://host:port`, perhaps with a path; `/v4/listen` is added. */
  core: string;
  key: string;
  recording: Recording;
  conversationTimeoutS: number;
  clock: Clock;
  limits: SessionLimits;
  /** To end it in good order: what is there is sent, then it closes. */
  signal: AbortSignal;
  events: SessionEvents;
}

const BATCH_MESSAGES = 64;
/** Whoever stops the bridge does not wait long: what is not confirmed is asked for after the next start. */
const MAX_STOP_MS = 1000;
const KEEP_ALIVE = Buffer.alloc(Math.min(1, KEEP_ALIVE_BYTES));
const FromServer = z.union([z.array(WireSegment), ServerEvent]);

/** The connection's address: what the audio is. Without `from`, core goes on at the first message that it does not hold. */
function listenUrl(core: string, recording: Recording, conversationTimeoutS: number): URL {
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
    conversation_timeout: conversationTimeoutS,
    ack: 'enabled',
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return url;
}

/**
 * Sends one recording over one connection to `/v4/listen`, from where core has it on, for as long as the recording
 * grows. Never rejects.
 */
export function runSession(
  options: SessionOptions,
  wake: (listener: () => void) => () => void,
): Promise<Ending> {
  const { core, key, recording, conversationTimeoutS, clock, limits, signal, events } = options;
  const { promise, resolve } = Promise.withResolvers<Ending>();
  const { base } = recording;
  const socket = new WebSocket(listenUrl(core, recording, conversationTimeoutS), {
    headers: { authorization: `Bearer ${key}` },
    handshakeTimeout: limits.helloMs,
    perMessageDeflate: false,
    maxPayload: 16 * 1024 * 1024,
  });
  let ending: Ending | null = null;
  let cursor: number | null = null; // next number to send; null until core has told what it holds
  let confirmed = false;
  let aliveAt = clock.now();
  let sentAt = clock.now();
  let finalTimer: NodeJS.Timeout | null = null;
  let closeTimer: NodeJS.Timeout | null = null;
  let failure = '';

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
    unwatch();
    signal.removeEventListener('abort', onAbort);
    resolve(ending ?? { kind: 'closed', code, reason: reason.toString() || failure, confirmed });
  });

  function finish(how: Ending): void {
    ending ??= how;
    socket.close(CLOSE.normal);
    closeTimer ??= setTimeout(() => socket.terminate(), signal.aborted ? MAX_STOP_MS : limits.helloMs);
  }

  function onAbort(): void {
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

  /** As much as is there and the socket takes. */
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
    }
    if (at >= recording.next && (recording.ended || signal.aborted)) awaitFinalAck();
  }

  function sendRecord({ gapMs, bytes }: SpoolRecord): void {
    if (gapMs > 0) socket.send(JSON.stringify({ type: 'gap', ms: gapMs }));
    socket.send(bytes, sentOne);
    sentAt = clock.now();
  }

  /** Called for every message that went out; only the one that makes room is of interest. */
  function sentOne(): void {
    if (cursor !== null && cursor < recording.next && socket.bufferedAmount < limits.maxBufferedBytes / 2)
      pump();
  }

  /** Core confirms what it has transcribed; an utterance under way ends only with the connection. */
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
      failure = 'core gives no sign of life';
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
      events.onMessage(message);
    }
  }

  function onHello(received: number): void {
    clearTimeout(hello);
    const at = base + received;
    if (at > recording.next && !recording.ended) {
      recording.skip(recording.first); // it holds more than there ever was, so not of this recording
      finish({ kind: 'restart' });
      return;
    }
    cursor = at;
    events.onHello(received);
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

/** Null: nothing that this bridge knows. */
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
