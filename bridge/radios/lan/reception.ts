import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { Board } from './boards.ts';
import {
  decodeBegin,
  decodeHello,
  encodeChallenge,
  encodeRefused,
  type Hello,
  Introduction,
  isProven,
  NONCE_BYTES,
  sessionKey,
} from './messages.ts';
import { type BoardSession, createSession, type Peer, type SessionLimits } from './session.ts';

/** Authenticates boards. Keeps no state for a sender that is not authenticated. */
export interface Reception {
  /** Answers a message of a sender without a session. @returns the session that it begins; null: none */
  greet(peer: Peer, message: Buffer): BoardSession | null;
  /** The session of each board; at most one. */
  readonly sessions: ReadonlyMap<string, BoardSession>;
  /** Replaces the list of boards that may connect. */
  admit(boards: readonly Board[]): void;
  /** Ends all sessions. */
  close(): void;
}

/** A challenge is valid for at least this long, and at most twice as long. */
const CHALLENGE_MS = 10_000;
/** Hello messages that are checked in a second; each costs a hash. */
const HELLOS_PER_SECOND = 50;

export function createReception({
  clock,
  limits,
  onSession,
  onMalformed,
}: {
  clock: Clock;
  limits: SessionLimits;
  onSession(session: BoardSession): void;
  onMalformed(problem: string, from: string): void;
}): Reception {
  const secret = randomBytes(32);
  const sessions = new Map<string, BoardSession>();
  /** Challenges that were used, and the time until which they are remembered so that they cannot be used again. */
  const spent = new Map<string, number>();
  let boards = new Map<string, Board>();
  let hellos = 0;
  let second = 0;

  /** Computes a challenge from what it is for, so that none needs to be remembered before it is used. */
  function challengeFor({ name }: Peer, board: Uint8Array, slot: number): Buffer {
    return createHmac('sha256', secret)
      .update(`${name} ${slot} `)
      .update(board)
      .digest()
      .subarray(0, NONCE_BYTES);
  }

  const slotNow = () => Math.floor(clock.now() / CHALLENGE_MS);

  function isOurs(peer: Peer, { nonces }: Hello): boolean {
    return [slotNow(), slotNow() - 1].some(slot =>
      timingSafeEqual(nonces.bridge, challengeFor(peer, nonces.board, slot)),
    );
  }

  function tooManyHellos(): boolean {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) hellos = 0;
    second = now;
    hellos += 1;
    return hellos > HELLOS_PER_SECOND;
  }

  function isSpent({ nonces }: Hello): boolean {
    const now = clock.now();
    for (const [challenge, untilMs] of spent) {
      if (untilMs > now) break; // the map is in the order of expiry
      spent.delete(challenge);
    }
    const challenge = nonces.bridge.toString('hex');
    if (spent.has(challenge)) return true;
    spent.set(challenge, now + 2 * CHALLENGE_MS);
    return false;
  }

  function refuse(peer: Peer, reason: string): null {
    onMalformed(reason, peer.name);
    peer.send(encodeRefused(reason));
    peer.end();
    return null;
  }

  function answer(peer: Peer, hello: Hello): BoardSession | null {
    if (tooManyHellos() || !isOurs(peer, hello)) return refuse(peer, 'begin again');
    const introduction = introductionOf(hello);
    const board = boards.get(introduction?.id ?? '');
    if (!board || !isProven(board.token, hello)) return refuse(peer, 'no board with this id has this token');
    const before = sessions.get(board.id);
    if (before?.proof.equals(hello.proof) && before.peer.name === peer.name && !before.isOver) {
      before.welcome(); // the hello was repeated because the first welcome was lost
      return before;
    }
    if (isSpent(hello)) return refuse(peer, 'begin again');
    if (!introduction?.checked) return refuse(peer, introduction?.problem ?? 'its introduction is invalid');
    before?.end('the board connected again');
    const session = createSession(
      {
        board,
        peer,
        introduction: introduction.checked,
        proof: Buffer.from(hello.proof),
        key: sessionKey(board.token, hello.nonces),
      },
      { clock, limits, onMalformed: problem => onMalformed(problem, board.id) },
    );
    sessions.set(board.id, session);
    void session.ended.then(() => {
      if (sessions.get(board.id) === session) sessions.delete(board.id);
    });
    session.welcome();
    onSession(session);
    return session;
  }

  return {
    sessions,
    greet(peer, message) {
      const begun = decodeBegin(message);
      if (begun) {
        peer.send(encodeChallenge(challengeFor(peer, begun, slotNow())));
        return null;
      }
      const hello = decodeHello(message);
      if (hello) return answer(peer, hello);
      onMalformed('a message from a sender that has not said hello', peer.name);
      peer.end();
      return null;
    },
    admit(admitted) {
      boards = new Map(admitted.map(board => [board.id, board]));
      for (const session of sessions.values())
        if (boards.get(session.board.id)?.token !== session.board.token) session.end('the board was removed');
    },
    close() {
      for (const session of sessions.values()) session.end('the bridge is stopping');
    },
  };
}

/** Parses an introduction. Null: it has no valid id. `checked` is absent if something else is wrong: see `problem`. */
function introductionOf({ json }: Hello): { id: string; checked?: Introduction; problem?: string } | null {
  let value: unknown;
  try {
    value = JSON.parse(json.toString());
  } catch {
    return null;
  }
  const { data, error } = Introduction.safeParse(value);
  if (data) return { id: data.id, checked: data };
  const named = Introduction.pick({ id: true }).safeParse(value);
  if (!named.data) return null;
  const [issue] = error.issues;
  return { id: named.data.id, problem: `${issue?.path.join('.')}: ${issue?.message}` };
}
