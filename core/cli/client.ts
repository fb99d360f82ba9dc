import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { ServerEvent, WireSegment } from '../listen/protocol.ts';
import { AppError } from '../runtime/errors.ts';
import type { Packet } from './stream/recording.ts';

/** A conversation that ended while the client listened. */
export interface Finished {
  id: string;
  title: string;
  overview: string;
}

export interface Outcome {
  /** Segments in their final form, in order. */
  segments: WireSegment[];
  conversations: Finished[];
}

interface Options {
  /** `ws://host:port/v4/listen?…` */
  url: URL;
  /** API key or ID token. */
  credential: string;
  packets: Iterable<Packet>;
  /** Speed of sending, as a multiple of real time. */
  speed: number;
  /** Silence after the last packet, which may end the conversation before the client does. */
  silenceMs: number;
  /** Time limit from the last packet to the end of processing. */
  patienceMs: number;
  onEvent(event: ServerEvent | WireSegment[]): void;
}

/** A message too short to be audio, which keeps the connection alive. */
const KEEP_ALIVE = new Uint8Array(1);
const KEEP_ALIVE_MS = 10_000;

/**
 * Sends a recording to a server as a device would, and listens until its conversations are finished.
 * Rejects with an AppError when the server refuses, fails, or takes too long.
 */
export async function streamTo(options: Options): Promise<Outcome> {
  const { url } = options;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${options.credential}` } });
  const progress = createProgress(options);
  const over = Promise.withResolvers<never>();
  socket.on('error', error => over.reject(new AppError('unavailable', `${url.host}: ${explain(error)}`)));
  socket.on('unexpected-response', (_request, response) => {
    refusal(response).then(over.reject, over.reject);
  });
  socket.on('close', (code, reason) => over.reject(closed(code, String(reason), progress.failure())));
  socket.on('message', data => progress.take(String(data)));
  try {
    await Promise.race([over.promise, converse(socket, options, progress)]);
    return progress.outcome();
  } finally {
    socket.removeAllListeners('close');
    socket.close();
  }
}

async function converse(socket: WebSocket, options: Options, progress: Progress): Promise<void> {
  await progress.ready;
  const startedAt = performance.now();
  let sentMs = 0;
  for (const { bytes, ms } of options.packets) {
    await send(socket, bytes);
    sentMs += ms;
    const aheadMs = startedAt + sentMs / options.speed - performance.now();
    if (aheadMs > 0) await sleep(aheadMs);
  }
  const keepAlive = setInterval(() => socket.send(KEEP_ALIVE), KEEP_ALIVE_MS);
  const patience = AbortSignal.timeout(options.patienceMs);
  try {
    await sleep(options.silenceMs); // as a device in silence
    await send(socket, JSON.stringify({ type: 'finish_conversation' }));
    await Promise.race([progress.finished, failWhen(patience, progress)]);
  } finally {
    clearInterval(keepAlive);
  }
}

function send(socket: WebSocket, data: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(data, error => (error ? reject(error) : resolve()));
  });
}

function failWhen(patience: AbortSignal, progress: Progress): Promise<void> {
  return new Promise((resolve, reject) => {
    patience.addEventListener('abort', () => {
      if (progress.isQuiet()) resolve();
      else reject(new AppError('timeout', 'the conversation was not finished in time'));
    });
  });
}

type Progress = ReturnType<typeof createProgress>;

/** Tracks what the server reported, and whether everything sent is in finished conversations. */
function createProgress({ onEvent }: Options) {
  const ready = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const segments = new Map<string, WireSegment>();
  const conversations: Finished[] = [];
  const unfinished = new Set<string>();
  let isOpen = false; // segments arrived that belong to no finished conversation
  let isAllHeard = false;
  let failure: string | null = null;

  function onSegments(batch: WireSegment[]) {
    for (const segment of batch) segments.set(segment.id, segment);
    isOpen = true;
  }

  function onServerEvent(event: ServerEvent) {
    if (event.type === 'conversation_finished') isAllHeard = true;
    if (event.type === 'error') failure = event.message ?? event.code;
    if (event.type === 'service_status' && event.status === 'ready') ready.resolve();
    if (event.type === 'service_status' && event.status === 'stt_failed') failure = event.status_text ?? null;
    if (event.type === 'memory_processing_started') {
      unfinished.add(event.memory.id);
      isOpen = false;
    }
    if (event.type === 'memory_created') {
      unfinished.delete(event.memory.id);
      conversations.push({ id: event.memory.id, ...event.memory.structured });
    }
  }

  const isQuiet = () => !isOpen && unfinished.size === 0;
  const settle = () => {
    if (isAllHeard && isQuiet()) done.resolve();
  };

  return {
    ready: ready.promise,
    isQuiet,
    failure: () => failure,
    /** Resolves when everything sent is stored and its conversations are finished. */
    finished: done.promise,
    take(text: string) {
      const message = parseMessage(text);
      if (message === null) return; // an event of a newer server
      if (Array.isArray(message)) onSegments(message);
      else onServerEvent(message);
      onEvent(message);
      settle();
    },
    outcome: (): Outcome => ({ segments: [...segments.values()], conversations }),
  };
}

const Segments = WireSegment.array();

function parseMessage(text: string): ServerEvent | WireSegment[] | null {
  const json: unknown = JSON.parse(text);
  const parsed = Array.isArray(json) ? Segments.safeParse(json) : ServerEvent.safeParse(json);
  return parsed.success ? parsed.data : null;
}

function explain(error: Error & { code?: string }): string {
  return error.code === 'ECONNREFUSED' ? 'nothing listens there' : error.message || String(error.code);
}

async function refusal(response: IncomingMessage): Promise<AppError> {
  let body = '';
  for await (const chunk of response) body += chunk;
  return new AppError(
    'forbidden',
    `the server refused the connection: ${response.statusCode} ${detailOf(body)}`,
  );
}

function detailOf(body: string): string {
  try {
    const { detail } = JSON.parse(body);
    return typeof detail === 'string' ? detail : JSON.stringify(detail);
  } catch {
    return body.slice(0, 200);
  }
}

function closed(code: number, reason: string, failure: string | null): AppError {
  const why = failure ?? reason;
  return new AppError('unavailable', `the server closed the connection (${code}${why ? `: ${why}` : ''})`);
}
