import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, type Counts, connect } from './connection.ts';
import type { Dice } from './dice.ts';
import { MESSAGE_MS, type Message, type Script } from './script.ts';

/** A device that plays its script to the end. */
export interface Device {
  readonly counts: Readonly<Counts>;
  /** Reconnects and sends some confirmed messages again. */
  repeat(): boolean;
  /** Ends the script; resolves once everything possible was sent. */
  finish(): Promise<void>;
  stop(): Promise<void>;
}

interface CarefulOptions {
  /** Address to connect to, complete except for `from`. */
  url: URL;
  key: string;
  script: Script;
  /** Multiple of real time. */
  speed: number;
  /** Time without any sign of life after which a connection is given up. */
  patienceMs: number;
  dice: Dice;
}

/** Confirmed messages kept for sending again. */
const KEPT = 400;
export const RETRY_MS = 150;

/**
 * A client that loses nothing: it numbers its messages, keeps each one until the server has confirmed it, and starts
 * every connection at the first unconfirmed message.
 */
export function startCareful({ url, key, script, speed, patienceMs, dice }: CarefulOptions): Device {
  const counts = { messages: 0, acks: 0, connections: 0 };
  const beganAt = performance.now();
  const stopping = new AbortController();
  let kept: Message[] = [];
  /** Numbers of the first message kept, the first unconfirmed one, and the next to send. */
  let base = 0;
  let confirmed = 0;
  let next = 0;
  /** Number of messages by which the next connection starts earlier. */
  let again = 0;
  let saidAll = false;
  let live: Connection | null = null;
  const done = Promise.withResolvers<void>();

  /** Records, whether connected or not. */
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
    confirmed = Math.max(confirmed, messages);
    const gone = Math.max(0, Math.min(confirmed, next) - KEPT - base);
    kept = kept.slice(gone);
    base += gone;
  }

  function sendAll(connection: Connection) {
    while (next < base + kept.length && connection.hasRoom) {
      const message = kept[next - base];
      if (!message) throw new Error(`message ${next} is not kept any more`);
      connection.send(message);
      next += 1;
    }
  }

  /** Runs one connection to its end. */
  async function talk() {
    next = Math.max(base, confirmed - again);
    again = 0;
    url.searchParams.set('from', String(next));
    const connection = connect({
      url,
      key,
      patienceMs,
      counts,
      onHeld: confirm,
      onTick() {
        record();
        sendAll(connection);
      },
    });
    live = connection;
    await connection.closed;
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
      if (!live?.hasRoom) return false;
      again = dice.between(1, KEPT);
      live.cut();
      return true;
    },
    async finish() {
      script.end();
      await done.promise;
    },
    async stop() {
      stopping.abort();
      live?.close();
      await running;
    },
  };
}
