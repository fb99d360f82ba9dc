import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Clock } from '../contract/model.ts';
import type { VadProvider } from '../contract/plugin.ts';
import { type Credentials, type Principal, requireScope } from '../domain/accounts/credentials.ts';
import type { Vocabularies } from '../domain/accounts/vocabulary.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import type { Listening } from '../domain/privacy/listening.ts';
import type { Voices } from '../domain/speech/voices.ts';
import { AppError } from '../runtime/errors.ts';
import { type EventBus, isRevoked } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';
import type { ListenMetrics } from '../runtime/metrics.ts';
import { type Claim, createBacklog } from './backlog.ts';
import { closeSocket, refuse } from './connection/closing.ts';
import type { OpenImages } from './connection/images.ts';
import { createInbox } from './connection/inbox.ts';
import { createLifecycle, type Lifecycle } from './connection/lifecycle.ts';
import { CONNECTION_RATE, chargeFrames, createPace, createValve } from './connection/pace.ts';
import {
  type Connection,
  connectionOf,
  parseConnection,
  queryOf,
  quietMs,
  Refusal,
} from './connection/parameters.ts';
import { createRoom, type Seat } from './connection/room.ts';
import { signIn } from './connection/sign-in.ts';
import { createTakeOver, endWithin, type Served } from './connection/take-over.ts';
import { createUnsent } from './connection/unsent.ts';
import type { LiveAudios } from './live-audio.ts';
import { CLOSE, type ServerEvent } from './protocol.ts';
import type { FinalPass } from './recogniser/final-pass.ts';
import type { NamedProvider } from './recogniser/providers.ts';
import type { Quarantine } from './recogniser/quarantine.ts';
import { createRecogniser } from './recogniser/recogniser.ts';
import { nextInLine } from './scheduler.ts';
import { type Client, NOBODY, runSession, type SessionDeps } from './session.ts';
import type { OrphanedAudio } from './spool/orphaned-audio.ts';
import type { HeldStream, Spool, StreamName } from './spool/spool.ts';
import type { Send } from './thread.ts';

export interface ListenLimits {
  idleMs: number;
  heartbeatMs: number;
  maxQueuedBytes: number;
  maxUnsentBytes: number;
  maxUnsentTotalBytes: number;
  maxConnectionsPerUser: number;
  maxConnections: number;
  maxUntranscribedMs: number;
}

/** Entry of live connections: authenticates clients and serves their sockets. Independent of HTTP routing. */
export interface Listen {
  paths: readonly string[];
  /** Checks cheaply whether to refuse a request before `authorize`. Null: no. */
  refusal(request: IncomingMessage): AppError | null;
  /**
   * Authenticates before the upgrade is accepted; throws 401, 403 or 429. Null: the first message will authenticate.
   * @param address IP address of the client
   */
  authorize(request: IncomingMessage, address: string): Promise<Principal | null>;
  /** Transcribes what an earlier process left. Resolves once the conversations that wait for it are kept open. */
  start(): Promise<void>;
  /** Runs the connection to its end; never throws. */
  accept(socket: WebSocket, request: IncomingMessage, principal: Principal | null): Promise<void>;
  /** Closes every socket with 1012 and waits at most `deadlineMs` until received audio is stored. */
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
  listening: Pick<Listening, 'watch'>;
  spool: Spool;
  orphaned: Pick<OrphanedAudio, 'save'>;
  quarantine: Quarantine;
  finalPass: FinalPass;
  audio: LiveAudios;
  images: OpenImages;
  voices: Voices;
  clips: SessionDeps['clips'];
  /** Looked up for each session: a plugin may have been restarted. */
  vad(): VadProvider;
  recognisers(): NamedProvider[];
  vocabularies: Pick<Vocabularies, 'expected'>;
}

/** Path for browsers, which cannot send the header: their first message authenticates. */
const WEB_PATH = '/v4/web/listen';
const STOPPING = 'server is stopping';
const REVOKED = 'this credential was revoked';
const EXPIRED = 'the ID token has expired: connect with a new one';
/** Longest wait without looking at the clock, which may be adjusted meanwhile. */
const LOOK_AT_CLOCK_MS = 60_000;
/** Unanswered pings after which the peer counts as gone. */
const UNANSWERED_PINGS = 2;
/** Longest interval at which a conversation with pending text is kept open. */
const TOUCH_MS = 5000;

/** Authenticated client of a socket. */
interface Caller {
  principal: Principal;
  /** Checks the credential again. */
  check(): Promise<unknown>;
}

interface Live extends Served {
  userId: string;
  /** The client's own name for itself. */
  device: string | null;
  deviceId: string;
  stream: string | null;
  seat: Seat | null;
  /** Null: authenticated by an ID token. */
  keyId: string | null;
  sessionId: string | undefined;
}

/** Connection from its request on. */
interface Begun {
  life: Lifecycle;
  log: Log;
  /** Null: not authenticated yet. */
  seat: Seat | null;
  /** Whether anything was sent since the last ping. */
  hasSent: boolean;
  /** Gives back its place among unauthenticated connections. */
  stopWaiting(): void;
}

export function createListen(options: ListenOptions): Listen {
  const { credentials, conversations, events, spool, orphaned, limits, clock, log } = options;
  const live = new Set<Live>();
  const room = createRoom(limits, clock);
  const alone = createTakeOver();
  const unsent = createUnsent({
    maxBytes: limits.maxUnsentBytes,
    maxTotalBytes: limits.maxUnsentTotalBytes,
    onTooMuch: socket => closeSocket(socket, CLOSE.policy, 'slow consumer', clock),
  });
  let connections = 0;
  const begun = new WeakMap<IncomingMessage, Begun>();
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

  events.on('credential.revoked', revocation => {
    for (const entry of live)
      if (entry.userId === revocation.userId && isRevoked(entry, revocation)) {
        if (!entry.seat?.isLeaving) revocation.onEnd?.(entry);
        entry.letGo(CLOSE.policy, REVOKED);
      }
  });

  function depsOf(log: Log, claim: SessionDeps['claim']): SessionDeps {
    const {
      listening,
      quarantine,
      finalPass,
      audio,
      images,
      voices,
      clips,
      metrics,
      vad,
      recognisers,
      vocabularies,
    } = options;
    return {
      conversations,
      listening,
      events,
      metrics,
      spool,
      quarantine,
      finalPass,
      claim,
      vad,
      audio,
      images,
      voices,
      clips,
      recogniser: ({ userId, language, sttService: wish }, signal, told) =>
        createRecogniser({
          providers: recognisers,
          language,
          wish,
          vocabulary: () => vocabularies.expected(userId),
          signal,
          clock,
          log,
          ...told,
        }),
      clock,
      log,
      maxQueuedBytes: limits.maxQueuedBytes,
    };
  }

  /** Transcribes a stream without its client. Audio of an unknown stream is saved to a file. */
  async function work({ userId, id }: StreamName, signal: AbortSignal) {
    const stream = await conversations.stream(userId, id);
    if (stream?.setup?.customStt) return letGo(spool.open({ userId, id }, 0)); // its client brings the text
    const connection = stream && connectionOf(stream);
    if (!connection) return saveOrphaned({ userId, id });
    const workLog = log.child({ stream: id });
    workLog.info('transcribing what is held of a stream');
    const deps = depsOf(workLog, async () => UNCLAIMED);
    await runSession(connection, NOBODY, deps, signal);
  }

  async function saveOrphaned(stream: StreamName) {
    const held = spool.open(stream, 0);
    try {
      await orphaned.save(stream, held);
    } catch (error) {
      held.close();
      throw error;
    }
    letGo(held);
  }

  function letGo(held: HeldStream) {
    held.settle(Number.MAX_SAFE_INTEGER);
    held.close();
  }

  /** Registers a connection when its request arrives. */
  function begin(request: IncomingMessage): Begun {
    connections += 1;
    const connectionLog = log.child({ connection: connections });
    const life = createLifecycle(options.metrics.connections, connectionLog);
    const entry: Begun = { life, log: connectionLog, seat: null, hasSent: false, stopWaiting() {} };
    request.socket.once('close', () => {
      entry.stopWaiting();
      if (entry.seat) entry.seat.isLeaving = true;
      if (life.state !== 'connecting') return;
      life.on('refused');
      entry.seat?.free();
    });
    begun.set(request, entry);
    return entry;
  }

  async function authorize(request: IncomingMessage, address: string) {
    const entry = begin(request);
    if (stopping.signal.aborted) throw new AppError('unavailable', STOPPING);
    if (new URL(request.url ?? '/', 'http://localhost').pathname === WEB_PATH) {
      entry.stopWaiting = room.wait(address, () => request.socket.destroy());
      return null;
    }
    return permitted(await credentials.authenticate(request.headers.authorization), request, entry);
  }

  function permitted(principal: Principal, request: IncomingMessage, entry: Begun) {
    requireScope(principal, 'listen');
    const { uid, stream } = queryOf(request);
    if (uid !== undefined && uid !== principal.user.id)
      throw new AppError('forbidden', "uid is not this credential's user");
    if (!request.socket.destroyed)
      entry.seat = room.take(principal.user.id, stream, request.headers.authorization);
    return principal;
  }

  async function accept(socket: WebSocket, request: IncomingMessage, principal: Principal | null) {
    const entry = begun.get(request) ?? begin(request);
    const { life, log: socketLog } = entry;
    life.on('accepted');
    const valve = createValve(socket);
    valve.hold('start');
    const pace = createPace({ rate: CONNECTION_RATE, valve, clock });
    chargeFrames(socket, request.socket, pace);
    let lastInboundAt = clock.now();
    const inbox = createInbox(socket, {
      maxBytes: limits.maxQueuedBytes,
      quietMs: quietMs(queryOf(request).stream),
      metrics: options.metrics,
      valve,
      pace,
      clock,
      onMessage() {
        lastInboundAt = clock.now();
      },
    });
    socket.on('error', error => socketLog.info({ err: error }, 'socket error'));
    socket.on(
      'close',
      options.metrics.watch('answers', () => unsent.of(socket)),
    );
    socket.once('close', pace.end);
    const stopWatching = watchPulse(socket, request.socket, entry, () => clock.now() - lastInboundAt);
    const client: Client = {
      owner: null,
      inbox,
      send: sender(socket, entry),
      spend: pace.spend,
      on: life.on,
    };
    try {
      await nextInLine(); // many may arrive at once
      valve.release('start');
      if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
      const caller = principal
        ? { principal, check: () => credentials.authenticate(request.headers.authorization) }
        : await signIn(
            { socket, wire: request.socket, inbox, valve, signal: stopping.signal, clock },
            token => webLogin(token, request, client, entry),
          ).finally(entry.stopWaiting);
      life.on('authenticated');
      if (entry.seat) pace.share(entry.seat.bucket);
      await converse(socket, request, caller, client, socketLog);
      closeSocket(socket, CLOSE.normal, '', clock);
    } catch (error) {
      if (error instanceof Refusal && error.closeCode === CLOSE.unsupportedAudio)
        options.metrics.utterance('invalid_input');
      refuse(socket, error, { send: client.send, log: socketLog, clock });
    } finally {
      stopWatching();
      life.on(life.state === 'authenticating' ? 'refused' : 'closed');
      const { seat } = entry;
      if (seat && request.socket.destroyed) seat.free();
      else if (seat) request.socket.once('close', seat.free);
    }
  }

  /**
   * Names the device of a client that does not name one, after its credential. While that device is connected, the next
   * such client counts as another device; a client that resumes the same recording is the same device.
   */
  function unnamedDevice({ userId, stream }: Connection, credential: string): string {
    const others = [...live].filter(other => other.userId === userId && other.seat?.isLeaving === false);
    const same = stream === null ? undefined : others.find(other => other.stream === stream);
    if (same) return same.deviceId;
    const taken = new Set(others.map(({ deviceId }) => deviceId));
    for (let number = 1; ; number++) {
      const id = number === 1 ? credential : `${credential} ${number}`;
      if (!taken.has(id)) return id;
    }
  }

  async function converse(
    socket: WebSocket,
    request: IncomingMessage,
    { principal: { user, keyId, sessionId, expiresAt }, check }: Caller,
    client: Client,
    socketLog: Log,
  ) {
    await spool.checkDisk();
    if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
    const asked = parseConnection(request, user.id, clock.now(), conversations.sources);
    const credential = keyId ?? 'token';
    const connection = { ...asked, deviceId: asked.deviceId ?? unnamedDevice(asked, credential) };
    const halt = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const seat = begun.get(request)?.seat ?? null;
    const entry: Live = {
      userId: user.id,
      device: asked.deviceId,
      deviceId: connection.deviceId,
      stream: connection.stream,
      seat,
      keyId: keyId ?? null,
      sessionId,
      halt,
      letGo(code, reason) {
        if (seat) seat.isLeaving = true;
        client.inbox.end();
        closeSocket(socket, code, reason, clock);
      },
      done,
    };
    live.add(entry);
    const device = { userId: user.id, device: asked.deviceId, source: connection.source };
    events.emit('device', { ...device, isConnected: true });
    const ended = new AbortController();
    if (expiresAt !== undefined)
      waitUntil(expiresAt, ended.signal).then(
        () => entry.letGo(CLOSE.policy, EXPIRED),
        () => {},
      );
    try {
      await check().catch(whyRevoked); // it may have been revoked before this listener was added
      const work = () =>
        runSession(connection, { ...client, owner: user }, depsOf(socketLog, backlog.claim), halt.signal);
      if (connection.stream === null) await work();
      else await alone(`${user.id} ${connection.stream}`, entry, work);
    } finally {
      ended.abort();
      live.delete(entry);
      events.emit('device', { ...device, isConnected: false });
      resolve();
    }
  }

  async function waitUntil(at: number, signal: AbortSignal) {
    for (let leftMs = at - clock.now(); leftMs > 0; leftMs = at - clock.now())
      await clock.sleep(Math.min(leftMs, LOOK_AT_CLOCK_MS), signal);
  }

  /** Authenticates a client by the token of its first message. */
  async function webLogin(
    token: string | null,
    request: IncomingMessage,
    { send }: Client,
    entry: Begun,
  ): Promise<Caller> {
    if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
    try {
      if (token === null)
        throw new AppError('unauthorized', 'The first message must be {"type":"auth","token":…}');
      const principal = permitted(await credentials.token(token), request, entry);
      send({ type: 'auth_response', success: true });
      return { principal, check: () => credentials.token(token) };
    } catch (error) {
      send({ type: 'auth_response', success: false });
      if (!(error instanceof AppError) || error.retryable) throw error; // the credential is not at fault
      throw new Refusal(CLOSE.policy, error.message);
    }
  }

  /**
   * Creates the function that sends to a socket. A peer that leaves too much unread is closed, which frees the memory.
   */
  function sender(socket: WebSocket, entry: Begun): Send {
    return message => {
      entry.hasSent = true;
      unsent.send(socket, JSON.stringify(message));
    };
  }

  /**
   * Pings the client (also by a text message where nothing else was sent), and closes a connection that stays silent
   * too long. Whatever arrives answers a ping: on a slow line, the pong waits behind all audio that is under way. A
   * socket that the server itself has paused cannot answer, and is left alone.
   */
  function watchPulse(socket: WebSocket, wire: Socket, entry: Begun, idleMs: () => number) {
    let [missed, read] = [0, wire.bytesRead];
    const ping: ServerEvent = { type: 'ping' };
    const timer = setInterval(() => {
      if (entry.life.state !== 'authenticating' && !entry.hasSent) unsent.send(socket, JSON.stringify(ping));
      entry.hasSent = false;
      if (socket.isPaused) return;
      if (idleMs() > limits.idleMs)
        return closeSocket(socket, CLOSE.goingAway, `no message for ${limits.idleMs} ms`, clock);
      if (wire.bytesRead > read) missed = 0;
      read = wire.bytesRead;
      if (missed >= UNANSWERED_PINGS) return socket.terminate();
      missed += 1;
      socket.ping();
    }, limits.heartbeatMs);
    return () => clearInterval(timer);
  }

  return {
    paths: ['/v4/listen', WEB_PATH],
    start: backlog.takeUp,
    refusal: ({ headers: { authorization } }) =>
      authorization === undefined ? null : room.refusal(authorization),
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

/** Rethrows as a revocation, because the credential was valid before; other errors stay as they are. */
function whyRevoked(error: unknown): never {
  const isWrong = error instanceof AppError && error.code === 'unauthorized';
  throw isWrong ? new Refusal(CLOSE.policy, REVOKED) : error;
}
