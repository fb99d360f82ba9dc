import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { Conversations } from '../domain/conversations.ts';
import { type Credentials, type Principal, requireScope } from '../domain/credentials.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import type { Log } from '../log.ts';
import type { ListenMetrics } from '../metrics.ts';
import type { Clock } from '../model.ts';
import { type Claim, createBacklog } from './backlog.ts';
import { closeSocket, refuse } from './closing.ts';
import { firstToken } from './first-token.ts';
import { createInbox } from './inbox.ts';
import { createLifecycle, type Lifecycle } from './lifecycle.ts';
import { connectionOf, parseConnection, queryOf, quietMs, Refusal } from './parameters.ts';
import { CLOSE } from './protocol.ts';
import { type Client, NOBODY, runSession, type SessionDeps } from './session.ts';
import type { Spool, StreamName } from './spool.ts';
import type { Send } from './thread.ts';
import { nextInLine } from './turn.ts';

export interface ListenLimits {
  idleMs: number;
  heartbeatMs: number;
  maxQueuedBytes: number;
  maxUnsentBytes: number;
  maxConnectionsPerUser: number;
  maxConnections: number;
  maxUntranscribedMs: number;
}

/** The live side of the server: who may connect, and what happens on the socket. Knows nothing of HTTP routing. */
export interface Listen {
  paths: readonly string[];
  /** Throws 401, 403 or 429 before the upgrade is accepted. Null: the first message will tell who it is. */
  authorize(request: IncomingMessage): Promise<Principal | null>;
  /** Takes up what an earlier process left untranscribed. Resolves once nothing ends the conversations that wait for it. */
  start(): Promise<void>;
  /** Runs the connection to its end; never throws. */
  accept(socket: WebSocket, request: IncomingMessage, principal: Principal | null): Promise<void>;
  /** Closes every socket with 1012 and waits until what they said is stored, at most `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>;
}

interface ListenOptions {
  credentials: Credentials;
  events: EventBus;
  limits: ListenLimits;
  metrics: ListenMetrics;
  clock: Clock;
  log: Log;
  conversations: Conversations;
  spool: Spool;
  /** Everything else that a session needs, asked for each one: a plugin may have been started again. */
  sessionDeps(log: Log): Omit<SessionDeps, 'spool' | 'claim' | 'conversations' | 'events' | 'clock' | 'log'>;
}

/** Browsers cannot send the header: they connect here, and their first message is the credential. */
const WEB_PATH = '/v4/web/listen';
const STOPPING = 'server is stopping';
const REVOKED = 'this credential was revoked';
const EXPIRED = 'the ID token has expired: connect with a new one';
/** A clock may be set while it is waited for. */
const LOOK_AT_CLOCK_MS = 60_000;
/** Unanswered pings after which the peer counts as gone. */
const MISSED_PONGS = 2;
/** What an older connection of the same stream has to store what it heard. */
const TAKE_OVER_MS = 5000;
/** How often a conversation is kept open that waits for its text, at least. */
const TOUCH_MS = 5000;

/** Who is at the other end. */
interface Caller {
  principal: Principal;
  /** Looks at the credential once more. */
  check(): Promise<unknown>;
}

interface Live {
  userId: string;
  /** Null: connected with an ID token. */
  keyId: string | null;
  streamKey: string | null;
  /** Its socket is closed, or about to be; what came is being stored. */
  isLeaving: boolean;
  halt: AbortController;
  /** Closes the socket, takes no more messages and stores what came. */
  letGo(code: number, reason: string): void;
  done: Promise<void>;
}

export function createListen(options: ListenOptions): Listen {
  const { credentials, conversations, events, spool, limits, clock, log } = options;
  const live = new Set<Live>();
  let connections = 0;
  const lives = new WeakMap<IncomingMessage, { life: Lifecycle; log: Log }>();
  const stopping = new AbortController();
  const backlog = createBacklog({
    left: spool.left,
    work,
    touch: async ({ userId, id }) => {
      const stream = await conversations.stream(userId, id);
      if (stream) await conversations.touch(userId, stream.conversationId);
      const againMs = Math.min((stream?.setup?.timeoutMs ?? 0) / 4, TOUCH_MS) || TOUCH_MS;
      return { againMs, mayReturn: typeof stream?.clientStream === 'string' };
    },
    maxWaitMs: limits.maxUntranscribedMs,
    clock,
    log,
  });

  events.on('credential.revoked', ({ userId, keyId }) => {
    for (const entry of live)
      if (entry.userId === userId && entry.keyId === keyId) entry.letGo(CLOSE.policy, REVOKED);
  });

  function depsOf(log: Log, claim: SessionDeps['claim']): SessionDeps {
    return { ...options.sessionDeps(log), conversations, events, spool, clock, log, claim };
  }

  /** A stream without its client. What nobody can work through, or is never transcribed, is let go. */
  async function work({ userId, id }: StreamName, signal: AbortSignal) {
    const stream = await conversations.stream(userId, id);
    const connection = stream && connectionOf(stream);
    if (!connection) return discard({ userId, id });
    const workLog = log.child({ stream: id });
    workLog.info('transcribing what is held of a stream');
    const deps = depsOf(workLog, async () => UNCLAIMED);
    await runSession(connection, NOBODY, deps, signal);
  }

  function discard(stream: StreamName) {
    log.warn({ stream: stream.id }, 'audio is held of a stream that is not there any more; it goes');
    spool.open(stream, Number.MAX_SAFE_INTEGER).close();
  }

  /** The life of a connection begins with its request. */
  function begin(request: IncomingMessage) {
    connections += 1;
    const connectionLog = log.child({ connection: connections });
    const life = createLifecycle(options.metrics.connections, connectionLog);
    request.socket.once('close', () => {
      if (life.state === 'connecting') life.on('refused');
    });
    const begun = { life, log: connectionLog };
    lives.set(request, begun);
    return begun;
  }

  async function authorize(request: IncomingMessage) {
    begin(request);
    if (stopping.signal.aborted) throw new AppError('unavailable', STOPPING);
    if (isFull([...live], limits.maxConnections))
      throw new AppError('unavailable', 'Too many live connections on this server (listen.maxConnections)');
    if (new URL(request.url ?? '/', 'http://localhost').pathname === WEB_PATH) return null;
    return permitted(await credentials.authenticate(request.headers.authorization), request);
  }

  function permitted(principal: Principal, request: IncomingMessage) {
    requireScope(principal, 'listen');
    const { uid } = queryOf(request);
    if (uid !== undefined && uid !== principal.user.id)
      throw new AppError('forbidden', "uid is not this credential's user");
    checkRoom(principal.user.id, queryOf(request).stream);
    return principal;
  }

  /**
   * Asked before the upgrade, for a proper refusal, and again after it: many may have come in between. Who comes back
   * to a stream takes the place of its older connection, which may not know yet that it is dead.
   */
  function checkRoom(userId: string, stream?: string | null) {
    const key = streamKeyOf(userId, stream);
    const mine = [...live].filter(
      entry => entry.userId === userId && (key === null || entry.streamKey !== key),
    );
    if (isFull(mine, limits.maxConnectionsPerUser))
      throw new AppError(
        'rate_limited',
        'Too many live connections of this user (listen.maxConnectionsPerUser)',
      );
  }

  async function accept(socket: WebSocket, request: IncomingMessage, principal: Principal | null) {
    const { life, log: socketLog } = lives.get(request) ?? begin(request);
    life.on('accepted');
    let lastInboundAt = clock.now();
    const inbox = createInbox(socket, {
      maxBytes: limits.maxQueuedBytes,
      quietMs: quietMs(queryOf(request).stream),
      metrics: options.metrics,
      onMessage() {
        lastInboundAt = clock.now();
      },
    });
    socket.on('error', error => socketLog.info({ err: error }, 'socket error'));
    socket.on(
      'close',
      options.metrics.watch('answers', () => socket.bufferedAmount),
    );
    const stopWatching = watchPulse(socket, () => clock.now() - lastInboundAt);
    const client: Client = { inbox, send: sender(socket), on: life.on };
    try {
      await nextInLine(); // many may come at once
      socket.resume();
      if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
      const caller = principal
        ? { principal, check: () => credentials.authenticate(request.headers.authorization) }
        : await webLogin(request, client);
      life.on('authenticated');
      await converse(socket, request, caller, client, socketLog);
      closeSocket(socket, CLOSE.normal, '');
    } catch (error) {
      if (error instanceof Refusal && error.closeCode === CLOSE.unsupportedAudio)
        options.metrics.utterance('invalid_input');
      refuse(socket, error, client.send, socketLog);
    } finally {
      stopWatching();
      life.on(life.state === 'authenticating' ? 'refused' : 'closed');
    }
  }

  async function converse(
    socket: WebSocket,
    request: IncomingMessage,
    { principal: { user, keyId, expiresAt }, check }: Caller,
    client: Client,
    socketLog: Log,
  ) {
    await spool.checkDisk();
    if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
    const connection = parseConnection(request, user.id, keyId ?? 'token', clock.now());
    checkRoom(user.id, connection.stream);
    const streamKey = streamKeyOf(user.id, connection.stream);
    const halt = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const entry: Live = {
      userId: user.id,
      keyId: keyId ?? null,
      streamKey,
      isLeaving: socket.readyState !== socket.OPEN,
      halt,
      letGo(code, reason) {
        entry.isLeaving = true;
        client.inbox.end();
        closeSocket(socket, code, reason);
      },
      done,
    };
    const replaced = [...live].filter(other => streamKey !== null && other.streamKey === streamKey);
    live.add(entry);
    socket.once('close', () => {
      entry.isLeaving = true;
    });
    const ended = new AbortController();
    if (expiresAt !== undefined)
      waitUntil(expiresAt, ended.signal).then(
        () => entry.letGo(CLOSE.policy, EXPIRED),
        () => {},
      );
    try {
      await check().catch(whyRevoked); // it may have been, before it was among those that are told
      await Promise.all(replaced.map(takeOver));
      await runSession(connection, client, depsOf(socketLog, backlog.claim), halt.signal);
    } finally {
      ended.abort();
      live.delete(entry);
      resolve();
    }
  }

  /**
   * The newest connection of a stream has it. The older one, often dead without knowing, stores what it heard first:
   * what is here already need not come again. Past the limit it stops where it is, and the rest is sent anew.
   */
  async function takeOver(older: Live) {
    older.letGo(CLOSE.goingAway, 'this stream goes on in a newer connection');
    await endWithin(older, TAKE_OVER_MS);
  }

  async function waitUntil(at: number, signal: AbortSignal) {
    for (let leftMs = at - clock.now(); leftMs > 0; leftMs = at - clock.now())
      await clock.sleep(Math.min(leftMs, LOOK_AT_CLOCK_MS), signal);
  }

  async function endWithin(entry: Live, deadlineMs: number) {
    const timer = setTimeout(() => entry.halt.abort(), deadlineMs);
    await entry.done;
    clearTimeout(timer);
  }

  async function webLogin(request: IncomingMessage, { inbox, send }: Client): Promise<Caller> {
    const token = await firstToken(inbox, stopping.signal);
    if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
    try {
      if (token === null)
        throw new AppError('unauthorized', 'The first message must be {"type":"auth","token":…}');
      const principal = permitted(await credentials.token(token), request);
      send({ type: 'auth_response', success: true });
      return { principal, check: () => credentials.token(token) };
    } catch (error) {
      send({ type: 'auth_response', success: false });
      if (!(error instanceof AppError) || error.retryable) throw error; // no fault of the credential
      throw new Refusal(CLOSE.policy, error.message);
    }
  }

  /** Sends while the peer reads; one that leaves too much unread is closed, and holds no more memory. */
  function sender(socket: WebSocket): Send {
    return message => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(JSON.stringify(message));
      if (socket.bufferedAmount <= limits.maxUnsentBytes) return;
      closeSocket(socket, CLOSE.policy, 'slow consumer');
    };
  }

  /** Pings, and closes what is silent for too long. A socket that we paused ourselves cannot answer: it is left alone. */
  function watchPulse(socket: WebSocket, idleMs: () => number) {
    let missed = 0;
    socket.on('pong', () => {
      missed = 0;
    });
    const timer = setInterval(() => {
      if (socket.isPaused) return;
      if (idleMs() > limits.idleMs)
        return closeSocket(socket, CLOSE.goingAway, `no message for ${limits.idleMs} ms`);
      if (missed >= MISSED_PONGS) return socket.terminate();
      missed += 1;
      socket.ping();
    }, limits.heartbeatMs);
    return () => clearInterval(timer);
  }

  return {
    paths: ['/v4/listen', WEB_PATH],
    start: backlog.takeUp,
    authorize,
    accept,
    async stop(deadlineMs) {
      stopping.abort();
      const halted = backlog.stop();
      const all = [...live];
      for (const entry of all) entry.letGo(CLOSE.restarting, STOPPING);
      await Promise.all([halted, ...all.map(entry => endWithin(entry, deadlineMs))]);
    },
  };
}

const UNCLAIMED: Claim = { wasWorking: false, release() {} };

/** Who is on the way out is not one too many, unless there are as many of those again. */
function isFull(entries: Live[], most: number): boolean {
  return entries.length >= 2 * most || entries.filter(({ isLeaving }) => !isLeaving).length >= most;
}

function streamKeyOf(userId: string, stream: string | null | undefined): string | null {
  return stream == null ? null : `${userId} ${stream}`;
}

/** What to tell whose credential was right before; what is no fault of it is told as ever. */
function whyRevoked(error: unknown): never {
  const isWrong = error instanceof AppError && error.code === 'unauthorized';
  throw isWrong ? new Refusal(CLOSE.policy, REVOKED) : error;
}
