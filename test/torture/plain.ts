import { setTimeout as sleep } from 'node:timers/promises';
import { type Device, RETRY_MS } from './careful.ts';
import { type Connection, connect } from './connection.ts';
import { MESSAGE_MS, type Script } from './script.ts';

interface PlainOptions {
  /** Address to connect to, complete except for `started_at`. */
  url: URL;
  key: string;
  script: Script;
  /** Zero of its clock, epoch ms. */
  startedAt: number;
  /** Multiple of real time. */
  speed: number;
  /** Time without any sign of life after which a connection is given up. */
  patienceMs: number;
}

export interface Plain extends Device {
  /** Whether the server has confirmed everything between these times of its clock, in ms, within one recording. */
  confirmed(fromMs: number, toMs: number): boolean;
}

/**
 * A client that keeps nothing: each connection is a new recording, and what was unconfirmed when a connection broke is
 * not sent again.
 */
export function startPlain({ url, key, script, startedAt, speed, patienceMs }: PlainOptions): Plain {
  const counts = { messages: 0, acks: 0, connections: 0 };
  const beganAt = performance.now();
  const stopping = new AbortController();
  const recordings: { fromMs: number; toMs: number }[] = [];
  /** Messages of its script that were sent. */
  let said = 0;
  let saidAll = false;
  let live: Connection | null = null;
  const done = Promise.withResolvers<void>();

  function say(connection: Connection) {
    const due = ((performance.now() - beganAt) * speed) / MESSAGE_MS;
    while (!saidAll && said < due && connection.hasRoom) {
      const message = script.next();
      saidAll = message === null;
      if (!message) return;
      connection.send(message);
      said += 1;
    }
  }

  /** Runs one connection to its end. */
  async function talk() {
    const first = said * MESSAGE_MS;
    const recording = { fromMs: first, toMs: first };
    recordings.push(recording);
    url.searchParams.set('started_at', new Date(startedAt + first).toISOString());
    const connection = connect({
      url,
      key,
      patienceMs,
      counts,
      onHeld(messages) {
        recording.toMs = Math.max(recording.toMs, first + messages * MESSAGE_MS);
      },
      onTick() {
        say(connection);
        if (saidAll && recording.toMs === said * MESSAGE_MS) connection.close();
      },
    });
    live = connection;
    await connection.closed;
  }

  async function run() {
    while (!stopping.signal.aborted && !saidAll) {
      await talk();
      await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
    done.resolve();
  }
  const running = run();

  return {
    counts,
    confirmed: (fromMs, toMs) => recordings.some(it => it.fromMs <= fromMs && it.toMs >= toMs),
    repeat: () => false,
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
