import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';
import type { Dice } from './dice.ts';
import { MESSAGE_MS, type Message, type Script } from './script.ts';

/** A device that says its script to the end. */
export interface Device {
  readonly counts: Readonly<Counts>;
  /** Comes back and says some of what the server has confirmed once more. */
  repeat(): boolean;
  /** Ends its script; resolves once the server has confirmed all of it. */
  finish(): Promise<void>;
  stop(): Promise<void>;
}

export interface Counts {
  /** Sent, those that were sent again included. */
  messages: number;
  acks: number;
  connections: number;
}

interface CarefulOptions {
  /** Where it connects, its query complete but for `from`. */
  url: URL;
  key: string;
  script: Script;
  /** Times real time. */
  speed: number;
  /** A connection without any sign of life for so long is given up. */
  patienceMs: number;
  dice: Dice;
}

/** What is confirmed is kept for so many messages, to be said again. */
const KEPT = 400;
const TICK_MS = 20;
const RETRY_MS = 150;
const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * A client that loses nothing: it numbers its messages, keeps each until the server has confirmed it, and begins every
 * connection at the first that it has not.
 */
export function startCareful({ url, key, script, speed, patienceMs, dice }: CarefulOptions): Device {
  const counts = { messages: 0, acks: 0, connections: 0 };
  const beganAt = performance.now();
  const stopping = new AbortController();
  let kept: Message[] = [];
  /** Numbers: of the first one that is kept, of the first that is not confirmed, of the next to be sent. */
  let base = 0;
  let confirmed = 0;
  let next = 0;
  /** So many messages earlier the next connection begins. */
  let again = 0;
  let saidAll = false;
  let socket: WebSocket | null = null;
  const done = Promise.withResolvers<void>();

  /** Records on, whether there is a connection or not. */
  function record() {
    const due = ((performance.now() - beganAt) * speed) / MESSAGE_MS;
    while (!saidAll && base + kept.length < due) {
      const message = script.next();
      if (message) kept.push(message);
      saidAll = message === null;
    }
    if (saidAll && confirmed >= base + kept.length) done.resolve();
  }

  function confirm(messages: number) {
    counts.acks += 1;
    confirmed = Math.max(confirmed, messages);
    const gone = Math.max(0, Math.min(confirmed, next) - KEPT - base);
    kept = kept.slice(gone);
    base += gone;
  }

  /** One connection, to its end. */
  async function talk() {
    next = Math.max(base, confirmed - again);
    again = 0;
    url.searchParams.set('from', String(next));
    const live = new WebSocket(url, {
      headers: { Authorization: `Bearer ${key}` },
      perMessageDeflate: false,
    });
    socket = live;
    let aliveAt = performance.now();
    for (const sign of ['open', 'pong', 'message'])
      live.on(sign, () => {
        aliveAt = performance.now();
      });
    live.on('error', () => {});
    live.on('open', () => {
      counts.connections += 1;
    });
    live.on('message', data => {
      const event: { type?: string; messages?: number; received?: number } = JSON.parse(String(data));
      if (event.type === 'ack') confirm(event.messages ?? 0);
      if (event.type === 'conversation_session') confirm(event.received ?? 0);
    });
    let pinged = 0;
    const timer = setInterval(() => {
      record();
      if (performance.now() - aliveAt > patienceMs) return live.terminate();
      if (live.readyState !== live.OPEN) return;
      if (++pinged % 25 === 0) live.ping();
      while (next < base + kept.length && live.bufferedAmount < MAX_UNSENT_BYTES) send(live, next++);
    }, TICK_MS);
    await new Promise(resolve => live.on('close', resolve));
    clearInterval(timer);
  }

  function send(live: WebSocket, number: number) {
    const message = kept[number - base];
    if (!message) throw new Error(`message ${number} is not kept any more`);
    if (message.finish) live.send('{"type":"finish_conversation"}');
    if (message.gapMs > 0) live.send(JSON.stringify({ type: 'gap', ms: message.gapMs }));
    live.send(message.bytes);
    counts.messages += 1;
  }

  async function run() {
    while (!stopping.signal.aborted) {
      await talk();
      await sleep(RETRY_MS * dice.next(), undefined, { signal: stopping.signal }).catch(() => {});
    }
  }
  const running = run();

  return {
    counts,
    repeat() {
      if (socket?.readyState !== WebSocket.OPEN) return false;
      again = dice.between(1, KEPT);
      socket.terminate();
      return true;
    },
    async finish() {
      script.end();
      await done.promise;
    },
    async stop() {
      stopping.abort();
      socket?.close();
      await running;
    },
  };
}
