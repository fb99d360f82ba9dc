import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { type BudgetLimits, createBudget } from '../budget.ts';
import type { Board } from './boards.ts';
import { type Introduction, open, seal, TYPE } from './messages.ts';

/** Sender of messages, over a connection or UDP. */
export interface Peer {
  /** Transport, address and port. */
  readonly name: string;
  send(message: Uint8Array): void;
  /** Closes the connection; does nothing over UDP. */
  end(): void;
}

/** Name of a peer. @param way its transport */
export function nameOf(way: string, { remoteAddress, remotePort }: Socket): string {
  return `${way} ${remoteAddress}:${remotePort}`;
}

export interface SessionLimits extends BudgetLimits {
  /** A board that sends nothing for this long counts as gone. */
  silentMs: number;
}

type Kind = 'audio' | 'battery' | 'button';
/** Gets a u32 number and the frame for `audio`, one byte for the other kinds. */
type Listener = (bytes: Buffer) => void;

/** Session of an authenticated board. */
export interface BoardSession {
  readonly board: Board;
  readonly peer: Peer;
  readonly introduction: Introduction;
  /** Proof of the hello that began it, to recognise a repeated hello. */
  readonly proof: Buffer;
  /** Percent; null: not reported yet. */
  readonly battery: number | null;
  readonly isOver: boolean;
  receive(message: Buffer): void;
  welcome(): void;
  /** Also delivers frames that came earlier and were kept. @returns a function that ends it */
  listen(kind: Kind, listener: Listener): () => void;
  end(reason: string): void;
  /** Resolves with the reason when it is over. */
  readonly ended: Promise<string>;
}

/** Frames that are kept until a driver listens; beyond this number the oldest is dropped. */
const MAX_KEPT = 256;
const KINDS: ReadonlyMap<number, Kind> = new Map([
  [TYPE.audio, 'audio'],
  [TYPE.battery, 'battery'],
  [TYPE.button, 'button'],
]);

export function createSession(
  about: Pick<BoardSession, 'board' | 'peer' | 'introduction' | 'proof'> & { key: Buffer },
  { clock, limits, onMalformed }: { clock: Clock; limits: SessionLimits; onMalformed(problem: string): void },
): BoardSession {
  const { key, peer } = about;
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const last = new Map<number, number>();
  const listeners = new Map<Kind, Listener>();
  const kept: Buffer[] = [];
  const isWithinBudget = createBudget(limits, clock);
  let battery: number | null = null;
  let heardAt = clock.now();
  let isOver = false;
  const watch = setInterval(() => {
    if (clock.now() - heardAt >= limits.silentMs) end('the board stopped responding');
  }, limits.silentMs / 3);
  watch.unref();

  function end(reason: string): void {
    if (isOver) return;
    isOver = true;
    clearInterval(watch);
    peer.end();
    resolve(reason);
  }

  function deliver(kind: Kind, bytes: Buffer): void {
    const listener = listeners.get(kind);
    if (listener) listener(bytes);
    else if (kind === 'audio') {
      kept.push(bytes);
      if (kept.length > MAX_KEPT) kept.shift(); // the missing number makes the driver count it as lost
    }
  }

  return {
    ...about,
    get battery() {
      return battery;
    },
    get isOver() {
      return isOver;
    },
    receive(message) {
      if (isOver) return;
      if (!isWithinBudget(message.length)) return end('the board sends too much data');
      const opened = open(key, message);
      if (!opened) return onMalformed('a message that cannot be decrypted');
      const { type, number, body } = opened;
      if (number <= (last.get(type) ?? -1)) return onMalformed('a message that is repeated or out of order');
      last.set(type, number);
      heardAt = clock.now();
      if (type === TYPE.alive) return peer.send(seal(key, TYPE.heard, number));
      const kind = KINDS.get(type);
      if (!kind) return onMalformed(`a message of the unknown type ${type}`);
      if (body.length === 0) return onMalformed(`an empty message ${kind}`);
      if (kind === 'battery') battery = Math.min(100, body[0] ?? 0);
      deliver(kind, kind === 'audio' ? Buffer.concat([message.subarray(1, 5), body]) : body.subarray(0, 1));
    },
    welcome: () => peer.send(seal(key, TYPE.welcome, 0)),
    listen(kind, listener) {
      listeners.set(kind, listener);
      if (kind === 'audio') for (const bytes of kept.splice(0)) listener(bytes);
      return () => {
        if (listeners.get(kind) === listener) listeners.delete(kind);
      };
    },
    end,
    ended,
  };
}
