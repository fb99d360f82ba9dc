import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { Clock } from '../contract/model.ts';
import type { VadProvider } from '../contract/plugin.ts';
import { type Credentials, type Principal, requireScope } from '../domain/accounts/credentials.ts';
import type { Vocabularies } from '../domain/accounts/vocabulary.ts';
import type { Conversations } from '../domain/conversations/conversations.ts';
import type { Voices } from '../domain/speech/voices.ts';
import { AppError } from '../runtime/errors.ts';
import type { EventBus } from '../runtime/events.ts';
import type { Log } from '../runtime/log.ts';
import type { ListenMetrics } from '../runtime/metrics.ts';
import { type Claim, createBacklog } from './backlog.ts';
import { closeSocket, refuse } from './closing.ts';
import type { FinalPass } from './final-pass.ts';
import { firstToken } from './first-token.ts';
import { chargeFrames, limitSignIn } from './frames.ts';
import type { OpenImages } from './images.ts';
import { createInbox } from './inbox.ts';
import { createLifecycle, type Lifecycle } from './lifecycle.ts';
import type { LiveAudios } from './live-audio.ts';
import type { OrphanedAudio } from './orphaned-audio.ts';
import { CONNECTION_RATE, createPace, createValve, type Valve } from './pace.ts';
import { type Connection, connectionOf, parseConnection, queryOf, quietMs, Refusal } from './parameters.ts';
import { CLOSE, type ServerEvent } from './protocol.ts';
import type { NamedProvider } from './providers.ts';
import type { Quarantine } from './quarantine.ts';
import { createRecogniser } from './recogniser.ts';
import { createRoom, type Seat } from './room.ts';
import { nextInLine } from './scheduler.ts';
import { type Client, NOBODY, runSession, type SessionDeps } from './session.ts';
import type { HeldStream, Spool, StreamName } from './spool/spool.ts';
import { createTakeOver, endWithin, type Served } from './take-over.ts';
import type { Send } from './thread.ts';
import { createUnsent } from './unsent.ts';

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

/** The live side of the server: who may connect, and what happens on the socket. Knows nothing of HTTP routing. */
export interface Listen {
  paths: readonly string[];
  /** A refusal that costs nothing: to be asked before `authorize`. Null: none. */
  refusal(request: IncomingMessage): AppError | null;
  /**
   * Throws 401, 403 or 429 before the upgrade is accepted. Null: the first message will tell who it is.
   * @param address IP address of the client
   */
  authorize(request: IncomingMessage, address: string): Promise<Principal | null>;
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
  orphaned: Pick<OrphanedAudio, 'save'>;
  quarantine: Quarantine;
  finalPass: FinalPass;
  audio: LiveAudios;
  images: OpenImages;
  voices: Voices;
  /** Both are asked for each session: a plugin may have been started again. */
  vad(): VadProvider;
  recognisers(): NamedProvider[];
  vocabularies: Pick<Vocabularies, 'expected'>;
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
/** How often a conversation is kept open that waits for its text, at least. */
const TOUCH_MS = 5000;

/** Authenticated client of a socket. */
interface Caller {
  principal: Principal;
  /** Looks at the credential once more. */
  check(): Promise<unknown>;
}

interface Live extends Served {
  userId: string;
  /** As its client calls itself. */
  device: string | null;
  deviceId: string;
  stream: string | null;
  seat: Seat | null;
  /** Null: connected with an ID token. */
  keyId: string | null;
}

/** A connection from its request on. */
interface Begun {
  life: Lifecycle;
  log: Log;
  /** Null: its user is not known yet. */
  seat: Seat | null;
  /** Something was sent since the last ping. */
  hasSent: boolean;
  /** Gives back its place among those whose user is not known. */
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
    onTooMuch: socket => closeSocket(socket, CLOSE.policy, 'slow consumer'),
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

  events.on('credential.revoked', ({ userId, keyId, onEnd }) => {
    for (const entry of live)
      if (entry.userId === userId && (keyId === 'all' || entry.keyId === keyId)) {
        if (!entry.seat?.isLeaving) onEnd?.(entry);
        entry.letGo(CLOSE.policy, REVOKED);
      }
  });

  function depsOf(log: Log, claim: SessionDeps['claim']): SessionDeps {
    const { quarantine, finalPass, audio, images, voices, metrics, vad, recognisers, vocabularies } = options;
    return {
      conversations,
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

  /** Transcribes a stream without its client. Audio of an unknown stream is kept in a file. */
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

  /** The life of a connection begins with its request. */
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
    const stopWatching = watchPulse(socket, entry, () => clock.now() - lastInboundAt);
    const client: Client = {
      owner: null,
      inbox,
      send: sender(socket, entry),
      spend: pace.spend,
      on: life.on,
    };
    try {
      await nextInLine(); // many may come at once
      valve.release('start');
      if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
      const caller = principal
        ? { principal, check: () => credentials.authenticate(request.headers.authorization) }
        : await signIn(socket, request, client, valve, entry);
      life.on('authenticated');
      if (entry.seat) pace.share(entry.seat.bucket);
      await converse(socket, request, caller, client, socketLog);
      closeSocket(socket, CLOSE.normal, '');
    } catch (error) {
      if (error instanceof Refusal && error.closeCode === CLOSE.unsupportedAudio)
        options.metrics.utterance('invalid_input');
      refuse(socket, error, client.send, socketLog);
    } finally {
      stopWatching();
      life.on(life.state === 'authenticating' ? 'refused' : 'closed');
      const { seat } = entry;
      if (seat && request.socket.destroyed) seat.free();
      else if (seat) request.socket.once('close', seat.free);
    }
  }

  /**
   * The device of a client that does not name one: that of its credential. While that is live, the next such client is
   * a device of its own; the same recording again is the same device.
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
    { principal: { user, keyId, expiresAt }, check }: Caller,
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
      halt,
      letGo(code, reason) {
        if (seat) seat.isLeaving = true;
        client.inbox.end();
        closeSocket(socket, code, reason);
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
      await check().catch(whyRevoked); // it may have been, before it was among those that are told
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

  /** Until it is known who they are, nothing behind their first message is read. */
  async function signIn(
    socket: WebSocket,
    request: IncomingMessage,
    client: Client,
    valve: Valve,
    entry: Begun,
  ): Promise<Caller> {
    const unlimit = limitSignIn(socket, request.socket);
    const hold = () => valve.hold('sign-in');
    socket.once('message', hold);
    try {
      return await webLogin(request, client, entry);
    } finally {
      unlimit();
      socket.off('message', hold);
      valve.release('sign-in');
      entry.stopWaiting();
    }
  }

  async function webLogin(request: IncomingMessage, { inbox, send }: Client, entry: Begun): Promise<Caller> {
    const token = await firstToken(inbox, stopping.signal);
    if (stopping.signal.aborted) throw new Refusal(CLOSE.restarting, STOPPING);
    try {
      if (token === null)
        throw new AppError('unauthorized', 'The first message must be {"type":"auth","token":…}');
      const principal = permitted(await credentials.token(token), request, entry);
      send({ type: 'auth_response', success: true });
      return { principal, check: () => credentials.token(token) };
    } catch (error) {
      send({ type: 'auth_response', success: false });
      if (!(error instanceof AppError) || error.retryable) throw error; // no fault of the credential
      throw new Refusal(CLOSE.policy, error.message);
    }
  }

  /** Sends while the peer reads; one that leaves too much unread is closed, and holds no more memory. */
  function sender(socket: WebSocket, entry: Begun): Send {
    return message => {
      entry.hasSent = true;
      unsent.send(socket, JSON.stringify(message));
    };
  }

  /** Pings (with text as well where nothing else was sent), and closes what is silent for too long. A socket that we paused ourselves cannot answer: it is left alone. */
  function watchPulse(socket: WebSocket, entry: Begun, idleMs: () => number) {
    let missed = 0;
    socket.on('pong', () => {
      missed = 0;
    });
    const ping: ServerEvent = { type: 'ping' };
    const timer = setInterval(() => {
      if (entry.life.state !== 'authenticating' && !entry.hasSent) unsent.send(socket, JSON.stringify(ping));
      entry.hasSent = false;
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
